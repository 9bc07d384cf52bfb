package file

import (
	"fmt"
	"math"
	"os"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// Format is an element type of ONNX that gomx lacks. Arrays hold its values in a wider type.
type Format struct {
	Name   string     // as ONNX spells it
	Bits   int        // of an element in a file: 4 or 8
	Stored dtype.Type // element type of arrays
	// The range of its numbers.
	Low, High float64
	// Of floating-point numbers: the number of bits of the fraction, the exponent of the smallest
	// normal number, and the result of a conversion that exceeds the range and does not saturate.
	// Fraction is 0 for integers.
	Fraction, Least int
	Beyond          float64
	zero            bool // NaN has the bits of minus zero
}

// formats maps the element types of ONNX that are held in wider types.
var formats = map[onnxpb.TensorProto_DataType]*Format{
	onnxpb.TensorProto_INT4: {Name: "INT4", Bits: 4, Stored: dtype.Int8, Low: -8, High: 7},
	onnxpb.TensorProto_UINT4: {Name: "UINT4", Bits: 4, Stored: dtype.Uint8, Low: 0,
		High: 15},
	onnxpb.TensorProto_FLOAT8E4M3FN: {Name: "FLOAT8E4M3FN", Bits: 8, Stored: dtype.Float32,
		Low: -448, High: 448, Fraction: 3, Least: -6, Beyond: math.NaN()},
	onnxpb.TensorProto_FLOAT8E4M3FNUZ: {Name: "FLOAT8E4M3FNUZ", Bits: 8, Stored: dtype.Float32,
		Low: -240, High: 240, Fraction: 3, Least: -7, Beyond: math.NaN(), zero: true},
	onnxpb.TensorProto_FLOAT8E5M2: {Name: "FLOAT8E5M2", Bits: 8, Stored: dtype.Float32,
		Low: -57344, High: 57344, Fraction: 2, Least: -14, Beyond: math.Inf(1)},
	onnxpb.TensorProto_FLOAT8E5M2FNUZ: {Name: "FLOAT8E5M2FNUZ", Bits: 8, Stored: dtype.Float32,
		Low: -57344, High: 57344, Fraction: 2, Least: -15, Beyond: math.NaN(), zero: true},
}

// FormatOf returns the format that an ONNX code stands for; nil: gomx has the type itself.
func FormatOf(code int32) *Format { return formats[onnxpb.TensorProto_DataType(code)] }

// Decode returns the number that the bits of an element stand for.
func (f *Format) Decode(bits byte) float64 {
	switch {
	case f.Fraction == 0 && f.Low < 0:
		return float64(int8(bits<<4) >> 4)
	case f.Fraction == 0:
		return float64(bits & 15)
	case f.zero && bits == 0x80:
		return math.NaN()
	}
	sign, exponent := 1.0, int(bits&0x7f)>>f.Fraction
	if bits >= 0x80 {
		sign = -1
	}
	fraction := float64(int(bits) & (1<<f.Fraction - 1))
	whole := math.Ldexp(1, f.Fraction)
	x := sign * math.Ldexp(fraction/whole, f.Least)
	if exponent > 0 {
		x = sign * math.Ldexp(1+fraction/whole, f.Least+exponent-1)
	}
	if math.Abs(x) <= f.High {
		return x
	}
	if fraction == 0 && math.IsInf(f.Beyond, 0) {
		return sign * f.Beyond
	}
	return math.NaN()
}

// array makes an array of a tensor whose elements have the format. In int32_data each number has
// the bits of one byte.
func (f *Format) array(t *onnxpb.TensorProto, shape dtype.Shape, size int,
	root *os.Root) (*nd.Array, error) {
	want := (size*f.Bits + 7) / 8
	var raw []byte
	var err error
	switch {
	case t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL:
		if raw, err = external(t, want, root); err != nil {
			return nil, err
		}
	case t.RawData != nil:
		raw = t.RawData
	default:
		for _, v := range t.Int32Data {
			raw = append(raw, byte(v))
		}
	}
	if len(raw) != want {
		return nil, fmt.Errorf("%d bytes of data, want %d", len(raw), want)
	}
	list := make([]float32, size)
	for i := range list {
		bits := raw[i*f.Bits/8]
		if f.Bits == 4 && i%2 == 1 {
			bits >>= 4
		}
		list[i] = float32(f.Decode(bits))
	}
	a := nd.FromSlice(list, Stored(shape)...)
	if f.Stored == dtype.Float32 {
		return a, nil
	}
	return nd.Cast(a, nd.CastParams{DType: f.Stored}), nil
}
