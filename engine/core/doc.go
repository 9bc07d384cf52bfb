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
//	list := c.Retired()                                      // operations finished with
//	for w := c.Woken(); w != nil; w = c.Woken() { ... }      // w has its writes
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
//     operation that it depends on. It is retired as soon as it is finished and clear.
//  2. A use is clear if and only if no conflicting use of its variable before it is live.
//  3. A variable counts its clear reads, or knows its clear write; its queue holds the other live
//     uses in the order of submission. So the first use in a queue conflicts with a clear one.
//  4. An operation counts its uses that are not clear, and, if it is queued, its uses with a
//     conflicting use before them that has not passed.
//  5. The front of an issue order is the first live write that has not passed. No use behind it
//     has, and the uses before it that have not passed are reads, which the order counts.
//  6. The stamps of an issue order are of live operations that have been issued: the last write,
//     and one read of each lane.
//
// With the build tag invariants a core recomputes all of this from its live uses after each
// transition, and panics at the first difference. That takes time in proportion to the number of
// live uses of a variable.
//
// Only this package writes the state of operations, variables and waiters; a driver sets the
// variable and mode of a use before Submit, and the number of a waiter before Await. The source of
// the two disciplines is MXNet's ThreadedVar, extended by issue order.
package core
