// Package cpu is the processor as a device: its memory, and the kernels of tier c.
//
// Importing it registers the memory of device.CPU(). With cgo it also provides kernels:
// convolutions and most matrix products by oneDNN, everything else in our own C. Without cgo HasC
// is false, and package pure has the kernels that programs need.
//
// # Kernels
//
// A kernel is a small value that names an operation, a shape and a number of threads. Run
// methods take bare pointers, so that operands may lie in Go or C memory:
//
//	sum := cpu.Zip{Op: cpu.Add, Threads: 2}
//	sum.Run(d, a, b, n)                            // d[i] = a[i] + b[i]
//
//	k := cpu.NewReduce(cpu.Sum, shape, axes, 1, 2) // prepared once
//	k.Run(d, x, scratch)                           // scratch: k.Scratch() bytes, 64-byte aligned
//
// Elements are float32 unless a kernel says otherwise. Every Run is one call into C, allocates
// nothing on the Go heap and may be repeated by any number of goroutines at once, each with scratch
// memory of its own. Pointers are not kept.
//
// # Threads
//
// A kernel uses as many threads as its value says, set in the same call. They are OpenMP threads of
// the calling operating-system thread: callers that run kernels with several threads should lock
// their goroutine to its thread, or every thread of the Go runtime gets a crew of its own. Results
// do not depend on the number of threads for our kernels; oneDNN promises it for a fixed number
// only.
//
// # Sources
//
// elem.c and broadcast.c hold functions of elements, reduce.c and softmax.c sums along axes, move.c
// and cast.c copies and conversions, index.c lookups, pool.c and norm.c layers, update.c
// optimizers, random.c Philox, recurrent.c the cells of recurrent networks, attention.c attention in
// blocks. product.c hands matrix
// products to oneDNN or, where it is slower, to gemm.c. prog.c, conv.c and poolprog.c are all else
// that knows oneDNN: a program of primitives and reorders over operands in plain layouts, which
// works with 2.x and 3.x. Built with the tag nodnn a binary needs no oneDNN: plainprog.c,
// plainconv.c and plaingemm.c take their place, slower. Loops are compiled for three levels of x86
// by target_clones. Sums and updates use a fixed order and no fused operations, so that replicas on
// different processors agree.
package cpu
