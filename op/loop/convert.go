package loop

import (
	"math"

	"gomx/dtype"
	"gomx/op"
)

// number is an element type that Go converts itself.
type number interface {
	float32 | float64 | uint8 | int8 | int16 | uint16 | int32 | uint32 | int64 | uint64
}

// Load reads len(dst) elements of t, from offset off on, stride apart, as float64.
func Load(dst []float64, t op.Tensor, off, stride int) {
	switch t.DType {
	case dtype.Float32:
		load(dst, op.Slice[float32](t), off, stride)
	case dtype.Float64:
		load(dst, op.Slice[float64](t), off, stride)
	case dtype.Float16:
		for i, s := 0, op.Slice[dtype.Half](t); i < len(dst); i++ {
			dst[i] = float64(s[off+i*stride].Float32())
		}
	case dtype.BFloat16:
		for i, s := 0, op.Slice[dtype.BF16](t); i < len(dst); i++ {
			dst[i] = float64(s[off+i*stride].Float32())
		}
	case dtype.Uint64:
		load(dst, op.Slice[uint64](t), off, stride)
	default:
		valid(t)
		var buf [Block]int64
		for i := 0; i < len(dst); i += Block {
			n := min(Block, len(dst)-i)
			LoadInt(buf[:n], t, off+i*stride, stride)
			for k, v := range buf[:n] {
				dst[i+k] = float64(v)
			}
		}
	}
}

func load[D, T number](dst []D, src []T, off, stride int) {
	for i := range dst {
		dst[i] = D(src[off])
		off += stride
	}
}

// LoadInt is Load for integers and booleans, exact for all of them; uint64 keeps its bits.
// Floating-point elements are cut off.
func LoadInt(dst []int64, t op.Tensor, off, stride int) {
	switch t.DType {
	case dtype.Uint8:
		load(dst, op.Slice[uint8](t), off, stride)
	case dtype.Int8:
		load(dst, op.Slice[int8](t), off, stride)
	case dtype.Int16:
		load(dst, op.Slice[int16](t), off, stride)
	case dtype.Uint16:
		load(dst, op.Slice[uint16](t), off, stride)
	case dtype.Int32:
		load(dst, op.Slice[int32](t), off, stride)
	case dtype.Uint32:
		load(dst, op.Slice[uint32](t), off, stride)
	case dtype.Int64:
		load(dst, op.Slice[int64](t), off, stride)
	case dtype.Uint64:
		load(dst, op.Slice[uint64](t), off, stride)
	case dtype.Bool:
		for i, s := 0, op.Slice[bool](t); i < len(dst); i++ {
			if dst[i] = 0; s[off+i*stride] {
				dst[i] = 1
			}
		}
	default:
		valid(t)
		var buf [Block]float64
		for i := 0; i < len(dst); i += Block {
			n := min(Block, len(dst)-i)
			Load(buf[:n], t, off+i*stride, stride)
			for k, v := range buf[:n] {
				dst[i+k] = toInt64(v)
			}
		}
	}
}

// Store rounds src to the element type of t and writes it from offset off on, without gaps.
func Store(t op.Tensor, off int, src []float64) {
	switch t.DType {
	case dtype.Float32:
		store(op.Slice[float32](t)[off:], src)
	case dtype.Float64:
		store(op.Slice[float64](t)[off:], src)
	case dtype.Float16:
		s := op.Slice[dtype.Half](t)[off:]
		for i, v := range src {
			s[i] = dtype.HalfOf(float32(v))
		}
	case dtype.BFloat16:
		s := op.Slice[dtype.BF16](t)[off:]
		for i, v := range src {
			s[i] = dtype.BF16Of(float32(v))
		}
	case dtype.Bool:
		s := op.Slice[bool](t)[off:]
		for i, v := range src {
			s[i] = v != 0
		}
	default:
		valid(t)
		convert := toInt64
		switch t.DType {
		case dtype.Uint64:
			convert = toUint64
		case dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int32:
			convert = toInt32
		}
		var buf [Block]int64
		for i := 0; i < len(src); i += Block {
			n := min(Block, len(src)-i)
			for k, v := range src[i : i+n] {
				buf[k] = convert(v)
			}
			StoreInt(t, off+i, buf[:n])
		}
	}
}

func store[T, S number](dst []T, src []S) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// StoreInt is Store for integers: narrow types keep the low bits.
func StoreInt(t op.Tensor, off int, src []int64) {
	switch t.DType {
	case dtype.Uint8:
		store(op.Slice[uint8](t)[off:], src)
	case dtype.Int8:
		store(op.Slice[int8](t)[off:], src)
	case dtype.Int16:
		store(op.Slice[int16](t)[off:], src)
	case dtype.Uint16:
		store(op.Slice[uint16](t)[off:], src)
	case dtype.Int32:
		store(op.Slice[int32](t)[off:], src)
	case dtype.Uint32:
		store(op.Slice[uint32](t)[off:], src)
	case dtype.Int64:
		copy(op.Slice[int64](t)[off:], src)
	case dtype.Uint64:
		store(op.Slice[uint64](t)[off:], src)
	default:
		valid(t)
		var buf [Block]float64
		for i := 0; i < len(src); i += Block {
			n := min(Block, len(src)-i)
			for k, v := range src[i : i+n] {
				buf[k] = float64(v)
			}
			Store(t, off+i, buf[:n])
		}
	}
}

// valid panics with *op.Error unless t has an element type: the functions above call each other for
// types that they do not name.
func valid(t op.Tensor) {
	if !t.DType.Valid() {
		panic(op.Errorf("", "%v is not an element type", t.DType))
	}
}

func toInt64(v float64) int64 {
	if v >= -(1<<63) && v < 1<<63 {
		return int64(v)
	}
	return math.MinInt64
}

func toInt32(v float64) int64 {
	if v > -(1<<31)-1 && v < 1<<31 {
		return int64(v)
	}
	return math.MinInt32
}

func toUint64(v float64) int64 {
	if v >= 1<<63 && v < 1<<64 {
		return int64(v-1<<63) ^ math.MinInt64
	}
	return toInt64(v)
}

// Floats returns all elements of t as float64.
func Floats(t op.Tensor) []float64 {
	s := make([]float64, t.Shape.Size())
	Load(s, t, 0, 1)
	return s
}

// Ints returns all elements of t as int64.
func Ints(t op.Tensor) []int64 {
	s := make([]int64, t.Shape.Size())
	LoadInt(s, t, 0, 1)
	return s
}

// Exact reports whether t is computed with as int64: an integer type or bool.
func Exact(t dtype.Type) bool { return t.IsInt() || t == dtype.Bool }
