//go:build !cgo

package cpu

// HasC reports whether this binary has the kernels of tier c.
const HasC = false
