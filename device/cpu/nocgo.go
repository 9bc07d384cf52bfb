//go:build !cgo

package cpu

// HasC reports whether this binary has the kernels of tier c.
const HasC = false

// HasBlocks reports whether kernels prefer channels in blocks of 16.
func HasBlocks() bool { return false }
