package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// float is an arithmetic type of kernels.
type float interface{ float32 | float64 }

// kernel is a reference kernel.
type kernel[P any] func(p P, c *op.Call) error

// inType returns a reference kernel made of the instances of a generic one for float32 and float64.
// The type of the first input selects the instance; half precision computes in float32.
func inType[P any](f32, f64 kernel[P]) kernel[P] {
	return func(p P, c *op.Call) error {
		if c.In[0].DType == dtype.Float64 {
			return f64(p, c)
		}
		return f32(p, c)
	}
}

// read returns the elements of t converted to T, without a copy if t has type T.
func read[T float](t op.Tensor) []T {
	if t.DType == op.TypeOf[T]() {
		return op.Slice[T](t)
	}
	s := make([]T, t.Shape.Size())
	for i, v := range loop.Floats(t) {
		s[i] = T(v)
	}
	return s
}

// blank returns zeros for the computation of output t; store converts the result to t.
func blank[T float](t op.Tensor) []T {
	if t.DType == op.TypeOf[T]() && t.Data != nil {
		s := op.Slice[T](t)
		clear(s)
		return s
	}
	return make([]T, t.Shape.Size())
}

// store writes a result computed in blank(t) to t. It does nothing if blank returned the memory of
// t, or if t is not requested.
func store[T float](t op.Tensor, s []T) {
	if t.DType == op.TypeOf[T]() || t.Data == nil {
		return
	}
	var buf [loop.Block]float64
	for i := 0; i < len(s); i += loop.Block {
		n := min(loop.Block, len(s)-i)
		for k, v := range s[i : i+n] {
			buf[k] = float64(v)
		}
		loop.Store(t, i, buf[:n])
	}
}

// narrow rounds a parameter to float32 as MXNet does, for operands of any type.
func narrow[T float](v float64) T { return T(float32(v)) }

// floor and ceil round to integers.
func floor[T float](v T) int { return whole(math.Floor(float64(v))) }
func ceil[T float](v T) int  { return whole(math.Ceil(float64(v))) }

// whole converts to an integer. NaN and numbers far outside any array become an integer outside any
// array, to which small integers can be added without overflow.
func whole(v float64) int {
	const far = 1 << 40
	switch {
	case v >= far:
		return far
	case v > -far:
		return int(v)
	}
	return -far
}
