package device

import "math/bits"

// Size classes: multiples of 64 up to 512, then eight per power of two up to 16 TiB.
const (
	classStep    = 64
	smallClasses = 8
	maxExponent  = 44
	numClasses   = smallClasses + (maxExponent-9)*8
)

// classOf returns the smallest class whose blocks hold bytes bytes; ok is false if there is none.
func classOf(bytes int) (class int, ok bool) {
	switch {
	case bytes < 0 || bytes > 1<<maxExponent:
		return 0, false
	case bytes == 0:
		return 0, true
	case bytes <= classStep*smallClasses:
		return (bytes - 1) / classStep, true
	}
	n := uint(bytes - 1)
	e := bits.Len(n) - 1 // at least 9
	return smallClasses + (e-9)*8 + int(n>>(e-3)&7), true
}

// classSize returns the bytes of a block of the class.
func classSize(class int) int {
	if class < smallClasses {
		return (class + 1) * classStep
	}
	c := class - smallClasses
	return (9 + c%8) << (6 + c/8)
}
