//go:build !cgo

package cpu

// HasC reports whether this binary has the kernels of tier c.
const HasC = false

// HasBlocks reports whether kernels prefer channels in blocks of 16.
func HasBlocks() bool { return false }

// Rates returns zeros: there are no kernels in C to measure.
func Rates(int) (fma, amx float64) { return 0, 0 }
