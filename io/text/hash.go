package text

import (
	"encoding/binary"
	"math/bits"
)

// Hashing makes columns of names, which may be any text without spaces and #: words, or indices
// that are too large. Names may share a column. The hash is MurmurHash3 (32 bits, x86) of the name's bytes,
// as a signed number h; the column is |h| modulo the number of columns. FeatureHasher of
// scikit-learn computes the same columns with seed 0, and with Signed the same values.
type Hashing struct {
	Seed uint32
	// Signed multiplies values by the sign of h, so that names that share a column cancel out on
	// the average.
	Signed bool
}

// MostColumns is the largest number of columns of hashed features.
const MostColumns = 1 << 31

// Column returns the column of a name and the factor of its values.
func (h *Hashing) Column(name []byte, width int) (column int64, sign float32) {
	v := int64(int32(murmur(name, h.Seed)))
	sign = 1
	if v < 0 {
		v = -v
		if h.Signed {
			sign = -1
		}
	}
	return v % int64(width), sign
}

// murmur is MurmurHash3_x86_32 (Appleby 2008).
func murmur(b []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, len(b)
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * c1
		h ^= bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(b) > 0 {
		k := uint32(0)
		for i, c := range b {
			k |= uint32(c) << (8 * i)
		}
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
