// Package engine runs operations asynchronously, in an order that respects what they read and write.
//
// A program tags everything that operations share, such as the memory of an array, with a variable. It pushes operations; each names the
// variables it uses and how: Read, Overwrite or Update. Push returns at once, and the engine runs each operation as soon as all earlier ones that it
// conflicts with are complete: reads run together, everything else in the order of the pushes. A program sees the results that it would see if every Push ran
// its operation on the spot; it waits, with WaitRead, only where it looks at a result.
//
//	v := e.NewVar("v")
//	e.Push(&engine.Task{Name: "fill", Fn: fill, Arg: data, Uses: []engine.Use{{v, engine.Overwrite}}})
//	e.Push(&engine.Task{Name: "scale", Fn: scale, Arg: data, Uses: []engine.Use{{v, engine.Update}}})
//	err := e.WaitRead(ctx, v)
//
// # Errors
//
// An operation that returns an error or panics poisons the variables it writes. Operations that read or update a poisoned variable are skipped, and poison what
// they would have written; everything else goes on. Every wait for a poisoned variable returns the first cause, an *OpError that names the operation, its device, what
// Task.Describe says, and the line of the push if Config.CallSites is on. A variable is cured by
// a completed Overwrite. One that only missed writes still holds an old value, which ClearError accepts.
//
// This differs from MXNet on purpose: there an error is reported once, by whoever waits first, and forgotten everywhere; here it stays as long as the value is bad.
// WaitAll alone reports an error once, since nothing can cure it. And there a completed write does not cure a variable, here it does.
//
// # Where operations run
//
// Operations of the processor run on Config.Workers goroutines, each taking one core. A Wide operation uses several threads of its own; such operations run one at a time on a worker
// bound to its thread, with as many cores as they take, and no other operation starts when it is their turn: the order is that of priority bands, and of becoming ready within a band.
// Each lane of another device has a goroutine of its own. There, an operation may be Queued: its body only puts work on the device's queue, and operations of the same device
// that depend on it follow at once, while the processor waits for the completion.
//
// A Cheap operation is run by Push itself when nothing pending uses its variables: no queue, no other goroutine, about fifty nanoseconds. A body must therefore not
// rely on running elsewhere, nor hold what its pusher holds.
//
// Push waits when too much is pending (Config.MaxOps, Config.MaxBytes), except in bodies and for operations that free something.
//
// Stop ends the goroutines and leaves what is pending pending, until Start. Close waits for everything and is final.
//
// # Inside
//
// Those who push fill a pooled record and leave it in an inbox. Whoever has time, normally a worker between two operations, takes the scheduler's lock, hands what is
// in the inbox to the scheduling core, completes what it has run and takes the next. The core, package core, is plain data: the tests drive it
// through random orders of events with an adversary in the place of workers and devices. A naive engine uses the same core and runs everything on the pushing goroutine.
//
// A body must not wait for the engine that runs it, and must not touch variables that it did not declare.
package engine
