// Package null provides null devices: simulated devices, which have separate memory accounts and
// compute nothing, so that operators need no kernels for them. With them, tests of scheduling,
// placement and memory run on any machine as if it had several accelerators.
//
// Importing the package registers the kind:
//
//	import _ "gomx/device/null"
//
//	b, err := device.Alloc(device.Null(2), 1<<20, device.PurposeArray)
//
// There are [Devices] null devices. They use host memory, so a program can read the values, but
// each has its own pool and usage, and device.Pool.SetLimit sets the size of its memory.
//
// A [Stream] simulates a queue of such a device: its work takes a given time, ends with a given
// error, waits for events of other streams and signals an event at its end. Operations whose body
// is [Enqueue] use all functions of an engine that accelerators need:
//
//	s := null.NewStream()
//	e.Push(&engine.Task{Name: "gemm", Lane: engine.Lane{Device: device.Null(0)}, Queued: true,
//		Async: null.Enqueue, Arg: &null.Work{Stream: s, Takes: time.Millisecond}})
package null
