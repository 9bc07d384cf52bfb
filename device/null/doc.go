// Package null makes null devices available: devices with memory of their own numbers and usage, on
// which no operator needs to have a kernel. Programs and tests that are about scheduling, placement
// or memory run on them anywhere, as if there were several accelerators.
//
// Importing the package registers the kind:
//
//	import _ "gomx/device/null"
//
//	b, err := device.Alloc(device.Null(2), 1<<20, device.PurposeArray)
//
// There are Devices of them. Their memory is the host's, so values can be looked at, but it is
// accounted per device and a limit set by device.Pool.SetLimit makes a small device of it.
//
// A Stream stands for a queue of such a device: what is put on it takes the time that it is told,
// fails when it is told, waits for events of other streams and marks its own end with one.
// Operations whose body is Enqueue exercise everything that an engine does for an accelerator:
//
//	s := null.NewStream()
//	e.Push(&engine.Task{Name: "gemm", Lane: engine.Lane{Device: device.Null(0)}, Queued: true,
//		Async: null.Enqueue, Arg: &null.Work{Stream: s, Takes: time.Millisecond}})
package null
