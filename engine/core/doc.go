// Package core decides which operation waits for which other. It is pure: plain data without
// goroutines, locks, clocks, channels and atomics, driven by package engine, by a naive engine, and
// by tests that play every order of events.
//
// A driver tells a [Core] three facts, one at a time, and after each takes the results:
//
//	c.Submit(o)          // o was pushed after all operations submitted before
//	c.Issued(o, event)   // the work of o is on its device's queue; event marks its end
//	c.Done(o, failure)   // the body of o is complete
//
//	for o := c.Ready(); o != nil; o = c.Ready() { ... }      // run the body of o
//	for o := c.Retired(); o != nil; o = c.Retired() { ... }  // o is finished with
//	for w := c.Woken(); w != nil; w = c.Woken() { ... }      // the writes that w awaits are complete
//
// # Completion
//
// Each variable has a queue of uses in the order of submission. A use is clear when no conflicting
// use before it is live; two reads never conflict. An operation of the host becomes ready when all
// its uses are clear: its inputs are complete and their errors known, so it runs or is skipped.
// Operations are retired in an order in which a serial program could have run them.
//
// # Issue
//
// A device works off a queue in order, and queues wait for events of each other. So an operation
// with the rule [Queued] becomes ready earlier, as soon as the conflicting uses before it have been
// issued; its lane waits for the events that [Core.Waits] lists. It is retired only when it is done
// and clear, like every other operation.
//
// # Poison
//
// A failed operation poisons the variables that it writes. An operation that reads or updates a
// poisoned variable is skipped, and poisons its own with the first cause. A completed [Overwrite]
// cures. [Var.Poison] is the state after all operations retired so far.
//
// # Invariants
//
//  1. An operation is handed out by Ready at most once and by Retired exactly once, after every
//     operation that it depends on.
//  2. A variable has a clear live write only while it has no clear live read.
//  3. The first use in a queue conflicts with a clear live use of that variable.
//  4. Every use before the front of an issue order has passed or is a counted read.
//
// Nobody outside of this package writes the state of an operation or a variable after Submit. The
// source of the two disciplines is MXNet's ThreadedVar, extended by issue order.
package core
