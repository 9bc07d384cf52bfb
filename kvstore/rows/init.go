package rows

import (
	"encoding/binary"
	"fmt"
	"math"

	"gomx/dtype"
)

// Kind says how rows begin.
type Kind uint8

// Kinds of first values. Their numbers are part of formats.
const (
	KindConstant Kind = iota // all elements are Init.Scale
	KindUniform              // uniform from -Init.Scale to Init.Scale
	KindNormal               // normal with standard deviation Init.Scale
	lastKind     = KindNormal
)

// Init makes the first values of rows. Element j of row r of a key depends on Seed, the key, r and
// j alone. The zero Init makes zeros.
type Init struct {
	Kind  Kind
	Scale float64
	Seed  uint64
}

// InitSize is the length of an encoded Init.
const InitSize = 24

// Append appends the encoded Init.
func (in Init) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, uint64(in.Kind))
	dst = le.AppendUint64(dst, math.Float64bits(in.Scale))
	return le.AppendUint64(dst, in.Seed)
}

// DecodeInit reads InitSize bytes.
func DecodeInit(b []byte) (Init, error) {
	if len(b) < InitSize {
		return Init{}, fmt.Errorf("rows: initializer of %d bytes, want %d", len(b), InitSize)
	}
	le := binary.LittleEndian
	k := le.Uint64(b)
	if k > uint64(lastKind) {
		return Init{}, fmt.Errorf("rows: initializer of kind %d, want at most %d", k, lastKind)
	}
	return Init{Kind(k), math.Float64frombits(le.Uint64(b[8:])), le.Uint64(b[16:])}, nil
}

// ForKey returns the Init that gives the rows of a key the values that in gives the rows of key 0.
func (in Init) ForKey(key uint32) Init {
	in.Seed ^= mix(1) ^ mix(uint64(key)+1)
	return in
}

// Fill writes the first values of a row.
func (in Init) Fill(dst []byte, t dtype.Type, key uint32, row uint64) {
	if in.Scale == 0 {
		clear(dst)
		return
	}
	state := mix(in.Seed^mix(uint64(key)+1)) ^ mix(row+0x9E3779B97F4A7C15)
	n := len(dst) / t.Size()
	for j := range n {
		put(dst, j, t, in.element(mix(state+uint64(j)*0x9E3779B97F4A7C15)))
	}
}

// element makes an element of 64 random bits.
func (in Init) element(bits uint64) float64 {
	switch in.Kind {
	case KindUniform:
		return in.Scale * (float64(bits>>11)/(1<<52) - 1)
	case KindNormal:
		// Box and Muller: one of the two numbers. 1-u is above 0.
		u := 1 - float64(bits>>32)/(1<<32)
		v := float64(bits&(1<<32-1)) / (1 << 32)
		return in.Scale * math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
	}
	return in.Scale
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// put writes element i of a type.
func put(dst []byte, i int, t dtype.Type, v float64) {
	le := binary.LittleEndian
	switch t {
	case dtype.Float32:
		le.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
	case dtype.Float64:
		le.PutUint64(dst[8*i:], math.Float64bits(v))
	case dtype.Float16:
		le.PutUint16(dst[2*i:], uint16(dtype.HalfOf(float32(v))))
	case dtype.BFloat16:
		le.PutUint16(dst[2*i:], uint16(dtype.BF16Of(float32(v))))
	default:
		n := uint64(int64(v))
		for k := range t.Size() {
			dst[t.Size()*i+k] = byte(n >> (8 * k))
		}
	}
}
