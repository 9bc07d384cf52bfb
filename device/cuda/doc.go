// Package cuda puts the work of operators on NVIDIA's GPUs, through gorgonia.org/cu, the driver's
// binding. It is built with the cuda tag only, because it needs the headers of CUDA 12:
//
//	CPATH=/usr/local/cuda/include go build -tags cuda ./cmd/gomx
//
// Without the tag the package is empty and devices of kind device.KindCUDA have no memory: asking
// for some is an error that says so. With it, importing the package registers the kind, and Devices
// lists the GPUs that the driver offers.
//
// # What is there at run time
//
// The driver and NVIDIA's libraries are opened when the program runs. It starts without any of
// them: without the driver (libcuda.so.1) there are no devices, and Missing says why; without NVRTC
// (version 11 to 13) no kernel can be compiled; without cuBLAS (11 to 13) our own kernel computes
// products, without cuDNN (8 and 9), or parts of it, convolutions are made of products and other
// layers run in kernels of our own. The driver's functions jump through a table (shim.S, shim.c)
// that is filled in from libcuda.so.1, so one binary serves drivers of several versions, CUDA 13's
// included.
//
// # Queues
//
// Every device has streams, each a device.Queue: one for kernels, one for copies in, one for copies
// out, and further ones for kernels that run beside the first. The lanes of an engine put work on
// them and go on; events order the streams among each other, and one goroutine watches events and
// completes operations (event.go). Copies from and to the host pass through pinned memory, piece by
// piece, while the device copies the piece before.
//
// # Kernels
//
// Kernels are CUDA C, a file per family in kernels/, each compiled as a whole for one element type
// and the device's architecture when it is used first, and then kept in the user's cache folder
// (SetCache). All take one parameter, a struct of fields of eight bytes, so that a launch neither
// allocates nor copies:
//
//	f := cuda.Func("pointwise", "square", dtype.Float32)
//	err := cuda.LaunchWith(q, f, q.Each(n), &args)
//
// Families of kernels that are seldom the bulk of the work learn element types at run time (Any in
// gx.cuh) and compute in double. Operators attach them in op/<family>/<stem>_cuda.go with the
// helpers of op/attach. Results repeat bit for bit: sums have a fixed order, and none is made of
// atomic additions; only counts are.
//
// A Chain is a kernel made at run time of the expressions of several pointwise functions. A Conv is
// a convolution in cuDNN with the algorithm that was the fastest when its shape was met first; the
// choice is kept beside the translated kernels. A Pool, Softmax, Norm or RNN is a layer in cuDNN;
// ErrNotServed leaves the first three to our own kernels. Queue.Record remembers kernels as a graph
// of the driver, to be launched at once.
//
// # Without a GPU
//
// fake/ holds an imitated driver and compiler for tests. Its device memory cannot be read by the
// host, its streams run behind the host's back, and its kernels are the same text, translated for
// the processor. See docs/cuda.md.
//
// Functions may be called from any goroutine, but for those of a Queue, which serves one at a time.
package cuda
