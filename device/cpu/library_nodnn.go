//go:build cgo && nodnn

package cpu

// Library says that this binary has been built without oneDNN: convolutions and matrix products are
// our own.
func Library() string { return "no library, our own kernels" }

// HasBFloat16 is false: the library is missing that multiplies bfloat16 numbers.
func HasBFloat16() bool { return false }

// Instructions is empty: no kernel uses instructions for bfloat16.
func Instructions() string { return "" }
