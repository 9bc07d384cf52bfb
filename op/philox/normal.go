package philox

import (
	"math"

	"gomx/op"
)

// Normal fills dst with standard normal numbers by the method of Box and Muller: words 0 and 1 of
// a block make elements 0 and 1, words 2 and 3 make elements 2 and 3.
func Normal[T float32 | float64](dst []T, seed op.Seed, stream uint32) {
	for i := 0; i < len(dst); i += wordsPerBlock {
		w := Block(seed, stream, uint64(i/wordsPerBlock))
		for j := 0; j < wordsPerBlock && i+j < len(dst); j += 2 {
			even, odd := NormalPair(w[j], w[j+1])
			dst[i+j] = T(even)
			if i+j+1 < len(dst) {
				dst[i+j+1] = T(odd)
			}
		}
	}
}

// NormalPair turns two words into two independent standard normal numbers.
func NormalPair(a, b uint32) (x, y float64) {
	radius := math.Sqrt(-2 * math.Log((float64(a)+1)/(1<<32)))
	sin, cos := math.Sincos(2 * math.Pi * float64(b) / (1 << 32))
	return radius * cos, radius * sin
}
