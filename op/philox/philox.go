package philox

import "gomx/op"

// The constants of Philox 4x32-10.
const (
	mul0, mul1     = 0xD2511F53, 0xCD9E8D57
	weyl0, weyl1   = 0x9E3779B9, 0xBB67AE85
	rounds         = 10
	wordsPerBlock  = 4
	uniformDivisor = 1 << 24
)

// Block returns block number n of a stream: four independent 32-bit words. The counter of the
// cipher is (seed.Counter + n, stream), its key is seed.Key.
func Block(seed op.Seed, stream uint32, n uint64) [4]uint32 {
	at := seed.Counter + n
	c0, c1, c2, c3 := uint32(at), uint32(at>>32), stream, uint32(0)
	k0, k1 := uint32(seed.Key), uint32(seed.Key>>32)
	for range rounds {
		p0, p1 := uint64(mul0)*uint64(c0), uint64(mul1)*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0, k1 = k0+weyl0, k1+weyl1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// Blocks returns how many blocks n elements take.
func Blocks(n int) uint64 { return (uint64(n) + wordsPerBlock - 1) / wordsPerBlock }

// Unit turns a word into a number of [0, 1) that float32 represents exactly.
func Unit(word uint32) float64 { return float64(word>>8) / uniformDivisor }

// Uniform fills dst with numbers of [0, 1): element i is word i%4 of block i/4.
func Uniform[T float32 | float64](dst []T, seed op.Seed, stream uint32) {
	for i := 0; i < len(dst); i += wordsPerBlock {
		for j, w := range Block(seed, stream, uint64(i/wordsPerBlock)) {
			if i+j < len(dst) {
				dst[i+j] = T(Unit(w))
			}
		}
	}
}
