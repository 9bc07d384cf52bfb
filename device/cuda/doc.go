// Package cuda runs operators on NVIDIA GPUs, through gorgonia.org/cu, a binding of the driver. It
// is built with the cuda tag only, because it needs the headers of CUDA 12:
//
//	CPATH=/usr/local/cuda/include go build -tags cuda ./cmd/gomx
//
// Without the tag the package is empty, and an allocation on a device of kind device.KindCUDA
// returns an error that names the missing tag. With it, importing the package registers the kind,
// and Devices lists the driver's GPUs.
//
// # What is there at run time
//
// The program opens the driver and NVIDIA's libraries at run time, and starts without them. Without
// the driver (libcuda.so.1) there are no devices, and Missing returns the reason. Without NVRTC
// (version 11 to 13) no kernel can be compiled. Without cuBLAS (11 to 13) a kernel of this package
// computes products. Without cuBLASLt (11 to 13) kernels of this package add biases to products and
// sum up their gradients. Without cuDNN (8 and 9), or parts of it, convolutions are computed by products
// and other layers by kernels of this package. The driver's functions jump through a table (shim.S,
// shim.c) that is filled from libcuda.so.1, so one binary works with drivers of several versions,
// including CUDA 13.
//
// # Queues
//
// Every device has streams, each a device.Queue: one for kernels, one for copies in, one for copies
// out, and more for concurrent kernels. The lanes of an engine put work on them without waiting for
// it; events order work of different streams, and one goroutine watches events and completes
// operations (event.go). Copies from and to the host pass through pinned memory, piece by piece,
// while the device copies the previous piece.
//
// # Kernels
//
// Kernels are CUDA C, a file per family in kernels/, each compiled as a whole for one element type
// and the device's architecture at its first use, and then kept in the user's cache folder
// (SetCache). Every kernel has one parameter, a struct of fields of eight bytes, so that a launch
// neither allocates nor copies:
//
//	f := cuda.Func("random", "dropout", dtype.Float32)
//	err := cuda.LaunchWith(q, f, q.Each(n), &args)
//
// Families of kernels that rarely matter for speed take element types at run time (Any in gx.cuh)
// and compute in double. Operators attach kernels in op/<family>/<stem>_cuda.go with the helpers of
// op/attach. Results repeat bit for bit: sums have a fixed order; only counts use atomic additions.
//
// A Chain is a kernel generated at run time from the expressions of several pointwise functions. A
// Conv is a convolution in cuDNN with the fastest algorithm, measured at the first use of a shape
// and kept beside the compiled kernels. A Pool, Softmax, Norm or RNN is a layer in cuDNN; if the
// first three return ErrNotServed, kernels of this package compute the layer. Queue.Record records
// kernels as a graph of the driver, which launches them at once.
//
// # Without a GPU
//
// fake/ holds an imitated driver and compiler for tests. The host cannot read its device memory,
// its streams run asynchronously, and it compiles the same kernels for the processor. See
// docs/cuda.md.
//
// Functions may be called from any goroutine, but only one goroutine at a time may use a Queue.
package cuda
