package quant

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The greatest magnitudes of quantized numbers with which MXNet scales. The halves let the
// outermost numbers stand for an interval as large as the others.
const (
	int8Range  float32 = 127.5
	uint8Range float32 = 255.5
	int32Range float32 = 1 << 31
)

// noGrad is the reason for having no gradient.
const noGrad = "quantized numbers have none"

// RangeOf returns the number of steps that the magnitude of a range of integers of a type has.
func RangeOf(t dtype.Type) float32 {
	switch t {
	case dtype.Int8:
		return int8Range
	case dtype.Uint8:
		return uint8Range
	}
	return int32Range
}

// limits returns the least and the greatest number of an integer type.
func limits(t dtype.Type) (low, high float32) {
	switch t {
	case dtype.Int8:
		return math.MinInt8, math.MaxInt8
	case dtype.Uint8:
		return 0, math.MaxUint8
	}
	return math.MinInt32, 2147483520 // the greatest float32 below 2³¹
}

// nearest rounds to the nearest integer, halves to even, and limits it to a type. NaN becomes the
// least number.
func nearest(v float32, t dtype.Type) int64 {
	low, high := limits(t)
	if !(v > low) {
		return int64(low)
	}
	return int64(math.RoundToEven(float64(min(v, high))))
}

// number reads an operand of one number.
func number(t op.Tensor) float32 { return op.Slice[float32](t)[0] }

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

// magnitude is the greater absolute value of the ends of a range.
func magnitude(low, high float32) float32 { return max(abs(low), abs(high)) }

// magnitudeOf reads a range from two operands.
func magnitudeOf(in []op.Tensor) float32 { return magnitude(number(in[0]), number(in[1])) }

// storeRange writes the range of an output where it is wanted.
func storeRange(out []op.Tensor, low, high float32) {
	for i, v := range []float32{low, high} {
		if out[i].Data != nil {
			op.Slice[float32](out[i])[0] = v
		}
	}
}

// rescale writes the elements of x, multiplied by scale and rounded, to out.
func rescale(out, x op.Tensor, scale float32) {
	if out.Data == nil {
		return
	}
	t := out.DType
	apply(out, x, func(v float32) int64 { return nearest(v*scale, t) })
}

// apply writes f of every element of x to out.
func apply(out, x op.Tensor, f func(v float32) int64) {
	in, y := loop.Floats(x), make([]int64, out.Shape.Size())
	for i, v := range in {
		y[i] = f(float32(v))
	}
	loop.StoreInt(out, 0, y)
}

// extremes returns the least and the greatest element, and for none the limits of float32 that any
// element would replace.
func extremes(x op.Tensor) (low, high float32) {
	low, high = math.MaxFloat32, -math.MaxFloat32
	for _, v := range loop.Floats(x) {
		low, high = min(low, float32(v)), max(high, float32(v))
	}
	return low, high
}

// calibration is the range of an output that an operator was given.
type calibration struct {
	low, high float32
	known     bool
}

func calibrated(low, high op.Opt[float64]) calibration {
	return calibration{float32(low.Value()), float32(high.Value()), low.IsSet() && high.IsSet()}
}

// inputs names inputs: data before ranges.
func inputs[P any](names ...string) func(P) []op.Input {
	list := make([]op.Input, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return func(P) []op.Input { return list }
}

// ranged names an output and the ends of its range.
func ranged[P any](P) []string { return []string{"output", "min_output", "max_output"} }

// numbered names the same three outputs as MXNet does where it has no names.
func numbered[P any](P) []string { return []string{"output0", "output1", "output2"} }

// single infers that operands hold one number each.
func single(what string, shapes []dtype.Shape) error {
	for i := range shapes {
		if err := op.Require(what, &shapes[i], dtype.Shape{1}); err != nil {
			return err
		}
	}
	return nil
}

// typed infers the element types of a list of operands; Unknown leaves a type as it is.
func typed(what string, list []dtype.Type, want ...dtype.Type) error {
	for i := range list {
		t := want[min(i, len(want)-1)]
		if t == dtype.Unknown {
			continue
		}
		if list[i] != dtype.Unknown && list[i] != t {
			return op.Errorf(what, "element type %v of %s %d, want %v", list[i], what, i, t)
		}
		list[i] = t
	}
	return nil
}

// byte8 reports an element type that is neither int8 nor uint8.
func byte8(what string, t dtype.Type) error {
	switch t {
	case dtype.Unknown, dtype.Int8, dtype.Uint8:
		return nil
	}
	return op.Errorf(what, "element type %v, want int8 or uint8", t)
}

// rangedTypes infers the types of an operator from one quantized operand and its range to others.
func rangedTypes(in, out []dtype.Type, result dtype.Type) error {
	if err := byte8("data", in[0]); err != nil {
		return err
	}
	if err := typed("input", in, dtype.Unknown, dtype.Float32); err != nil {
		return err
	}
	return typed("output", out, result, dtype.Float32)
}

// sameRanged infers that data and output have one shape, and all others hold one number.
func sameRanged[P any](_ P, in, out []dtype.Shape) error {
	if err := single("range", in[1:]); err != nil {
		return err
	}
	if err := single("range", out[1:]); err != nil {
		return err
	}
	return op.SameShape(op.NoParams{}, in[:1], out[:1])
}
