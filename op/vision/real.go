package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// float is a type that kernels compute in.
type float interface{ float32 | float64 }

// kernel is a reference kernel.
type kernel[P any] func(p P, c *op.Call) error

// inType makes a reference kernel of two instances of a generic one, in the order float32,
// float64: the type of the first input chooses, and half precision computes in float32.
func inType[P any](f32, f64 kernel[P]) kernel[P] {
	return func(p P, c *op.Call) error {
		if c.In[0].DType == dtype.Float64 {
			return f64(p, c)
		}
		return f32(p, c)
	}
}

// read returns the elements of t, without copying them when t holds values of type T.
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

// blank returns zeros to compute output t in; store puts them into its place.
func blank[T float](t op.Tensor) []T {
	if t.DType == op.TypeOf[T]() && t.Data != nil {
		s := op.Slice[T](t)
		clear(s)
		return s
	}
	return make([]T, t.Shape.Size())
}

// store writes what was computed in blank(t) to t. Nothing is left to do when blank returned the
// memory of t, or when nobody wants t.
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

// narrow is a parameter as MXNet keeps it: in float32, whatever the type of the operands.
func narrow[T float](v float64) T { return T(float32(v)) }

// floor and ceil round to whole numbers.
func floor[T float](v T) int { return whole(math.Floor(float64(v))) }
func ceil[T float](v T) int  { return whole(math.Ceil(float64(v))) }

// whole converts to an integer. What is no number or far outside of any array becomes a number
// far outside, with room for adding to it.
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
