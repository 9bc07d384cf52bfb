package dtype

import "math"

// Half is an IEEE 754 binary16 number.
type Half uint16

// BF16 is a bfloat16 number: the upper half of a float32.
type BF16 uint16

// HalfOf rounds f to the nearest Half, ties to even; overflow gives infinity.
func HalfOf(f float32) Half {
	b := math.Float32bits(f)
	sign := Half(b >> 16 & 0x8000)
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN keeps a quiet bit
		return sign | 0x7e00
	case abs >= 0x47800000: // 65536 and above, infinity included
		return sign | 0x7c00
	case abs < 0x38800000: // subnormal: units of 2^-24
		v := math.Float32frombits(abs) * (1 << 24)
		return sign | Half(math.RoundToEven(float64(v)))
	}
	abs += 0xfff + abs>>13&1 // round to even; may carry into infinity
	return sign | Half((abs-0x38000000)>>13)
}

// Float32 returns the exact value of h.
func (h Half) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		v := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// BF16Of rounds f to the nearest BF16, ties to even.
func BF16Of(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16) | 0x40
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the exact value of b.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
