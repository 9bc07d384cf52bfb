// Package pure holds CPU kernels in pure Go: tier go, which binaries without cgo use and with which
// tests compare the kernels in C.
//
// Kernels work on slices of float32 with the layouts of package op (row-major, channels first).
// They split their work over a number of goroutines that the caller sets, along bounds that depend
// on nothing else, so results repeat bit for bit. gonum computes the products; a convolution is a
// product with the columns of its windows, image by image.
//
//	g := pure.Gemm{M: 2, N: 3, K: 4, TransB: true, Alpha: 1}
//	g.Run(c, a, b) // c = a·bᵀ
//
//	k := pure.NewConv(pure.ConvSpec{Batch: 8, InChannels: 3, OutChannels: 16, Groups: 1, ...})
//	k.Run(y, x, w, bias, make([]float32, k.Scratch()))
//
// The caller guarantees the lengths of slices; the functions check them only as far as slicing
// does.
package pure
