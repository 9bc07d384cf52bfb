// Package engine runs operations asynchronously, in an order that respects the variables that they
// read and write.
//
// A program tags everything that operations share, such as the memory of an array, with a variable.
// It pushes operations; each names the variables it uses and how: Read, Overwrite or Update. Push
// returns at once, and the engine runs each operation as soon as all earlier ones that it conflicts
// with are complete: reads run together, everything else in the order of the pushes. A program sees
// the results that it would see if every Push ran its operation on the spot; it waits, with
// WaitRead, only where it looks at a result.
//
//	v := e.NewVar("v")
//	e.Push(&engine.Task{Name: "fill", Fn: fill, Arg: data, Uses: []engine.Use{{v, engine.Overwrite}}})
//	e.Push(&engine.Task{Name: "scale", Fn: scale, Arg: data, Uses: []engine.Use{{v, engine.Update}}})
//	err := e.WaitRead(ctx, v)
//
// # Errors
//
// An operation that returns an error or panics poisons the variables it writes. Operations that
// read or update a poisoned variable are skipped, and poison the variables they would have written;
// independent operations go on. Every wait for a poisoned variable returns the first cause, an
// *OpError with the name of the operation, its device, the text of Task.Describe, and, if
// Config.CallSites is on, the line of the push. A completed Overwrite cures a variable. A variable
// that only missed writes still holds an old value, which ClearError accepts.
//
// This differs from MXNet on purpose: there the first wait reports an error, and every other
// variable forgets it; here the error stays as long as the value is bad. WaitAll alone reports an
// error once, since nothing can cure it. And there a completed write does not cure a variable, here
// it does.
//
// # Where operations run
//
// Operations of the processor run on Config.Workers goroutines, each taking one core. A Wide
// operation uses several threads of its own; such operations run one at a time on a worker bound to
// its thread, with as many cores as they take, and no other operation starts when it is their turn:
// operations run by priority band, and within a band in the order of becoming ready. Each lane of another
// device has a goroutine of its own. There, an operation may be Queued: its body only puts work on
// the device's queue, and operations of the same device that depend on it follow at once, while the
// processor waits for the completion.
//
// A Cheap operation is run by Push itself when nothing pending uses its variables: no queue, no
// other goroutine, about fifty nanoseconds. A body must therefore not rely on running elsewhere,
// nor hold a lock that its pusher holds.
//
// Push waits when too much is pending (Config.MaxOps, Config.MaxBytes), except in bodies and for
// operations that free something.
//
// Stop ends the goroutines and leaves pending operations pending, until Start. Close waits for
// everything and is final.
//
// # Inside
//
// A pusher fills a pooled record and leaves it in an inbox. A goroutine with time, normally a
// worker between two operations, takes the scheduler's lock, hands the inbox to package core, which
// decides which operations are ready, completes the operations it has run and takes the next. The core is plain
// data: its tests drive it through random orders of events with an adversary in the place of
// workers and devices. A naive engine uses the same core and runs everything on the pushing
// goroutine.
//
// A body must not wait for the engine that runs it, and must not touch variables that it did not
// declare.
package engine
