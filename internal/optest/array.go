package optest

import (
	"fmt"
	"math/rand/v2"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Array makes an operand of any element type from values. A single value fills the whole operand.
func Array(t dtype.Type, shape []int, values ...float64) op.Tensor {
	x := New(t, shape...)
	if n := x.Shape.Size(); len(values) != n && len(values) != 1 {
		panic(fmt.Sprintf("optest: %d values for shape %v", len(values), x.Shape))
	}
	if len(values) == 1 {
		loop.Fill(x, values[0])
	} else {
		loop.Store(x, 0, values)
	}
	return x
}

// F makes a float32 operand.
func F(shape []int, values ...float64) op.Tensor { return Array(dtype.Float32, shape, values...) }

// Random makes a float32 operand of numbers between low and high that depend only on the seed.
func Random(seed uint64, low, high float64, shape ...int) op.Tensor {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := New(dtype.Float32, shape...)
	loop.Generate(x, func(int) float64 { return low + (high-low)*rng.Float64() })
	return x
}

// Range makes the float32 operand 0, 1, 2, … .
func Range(shape ...int) op.Tensor {
	x := New(dtype.Float32, shape...)
	loop.Generate(x, func(i int) float64 { return float64(i) })
	return x
}

// Ops turns operands into a slice, for Case.In and Case.Want.
func Ops(ts ...op.Tensor) []op.Tensor { return ts }
