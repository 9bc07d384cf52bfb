package prim

import (
	"unsafe"

	"gomx/dtype"
	"gomx/op"
)

// Shorthands for gradients.

var none = op.NoParams{}

func mul(a, b op.Entry) op.Entry { return ElemwiseMul.Apply(none, a, b) }
func div(a, b op.Entry) op.Entry { return ElemwiseDiv.Apply(none, a, b) }
func neg(a op.Entry) op.Entry    { return Negative.Apply(none, a) }

func scale(a op.Entry, s float64) op.Entry {
	return MulScalar.Apply(ScalarParams{Scalar: s}, a)
}

func plus(a op.Entry, s float64) op.Entry {
	return PlusScalar.Apply(ScalarParams{Scalar: s}, a)
}

// from computes s - a.
func from(s float64, a op.Entry) op.Entry {
	return RMinusScalar.Apply(ScalarParams{Scalar: s}, a)
}

// passGrad is the gradient of operators that pass the gradient of output 0 on to input 0.
func passGrad[P any](g *op.Grad, _ P) []op.Entry {
	in := make([]op.Entry, len(g.Node.In))
	in[0] = g.Head(0)
	return in
}

// ZeroGrad is the gradient of operators that are constant almost everywhere: none flows.
func ZeroGrad[P any](g *op.Grad, _ P) []op.Entry { return make([]op.Entry, len(g.Node.In)) }

// Axis returns axis counted from the front, or an error naming the argument.
func Axis(arg string, axis, rank int) (int, error) {
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return 0, op.Errorf(arg, "axis %d, want one of an array with %d axes", axis, rank)
	}
	return a, nil
}

// Inputs returns the Inputs function of operators with fixed Data inputs.
func Inputs[P any](names ...string) func(P) []op.Input {
	in := make([]op.Input, len(names))
	for i, n := range names {
		in[i].Name = n
	}
	return func(P) []op.Input { return in }
}

// unknown returns a shape of a known rank and unknown extents.
func unknown(rank int) dtype.Shape {
	s := make(dtype.Shape, rank)
	for i := range s {
		s[i] = -1
	}
	return s
}

// meet merges two descriptions of one extent; ok is false when they contradict.
func meet(a, b int) (int, bool) {
	switch {
	case a == -1:
		return b, true
	case b == -1 || a == b:
		return a, true
	}
	return a, false
}

// nth returns matrix i of an array whose last two axes are matrices.
func nth(t op.Tensor, i int) op.Tensor {
	s := t.Shape[len(t.Shape)-2:]
	n := s.Size() * t.DType.Size()
	return op.Tensor{Desc: op.Plain(t.DType, s), Data: unsafe.Add(t.Data, i*n)}
}
