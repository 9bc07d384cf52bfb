package nn

import (
	"math"

	"gomx/dtype"
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// SinusoidalPosition adds a code of its place to each step of a sequence (n, steps, size). Of step
// p, element 2i of the code is sin(p/w) and element 2i+1 is cos(p/w) for w = 10000^(2i/size)
// (Vaswani et al., Attention Is All You Need).
type SinusoidalPosition struct{}

// Forward adds the codes.
func (SinusoidalPosition) Forward(x *nd.Array) *nd.Array {
	if x.Rank() != 3 {
		panic(misuse("SinusoidalPosition", "input of shape %v, want (n, steps, size)", x.Shape()))
	}
	count := func(axis int) *nd.Array {
		return nd.ArangeLike(x.AsType(dtype.Float32), nd.ArangeLikeParams{Axis: nd.Some(axis)})
	}
	i := count(2)
	even := i.DivScalar(2).Floor().MulScalar(2)
	rate := even.MulScalar(-math.Log(10000) / float64(x.Shape()[2])).Exp()
	shift := i.Sub(even).MulScalar(math.Pi / 2) // cos(a) = sin(a + π/2)
	angle := count(1).ExpandDims(1).Mul(rate.ExpandDims(0)).Add(shift.ExpandDims(0))
	return x.Add(angle.Sin().ExpandDims(0).AsType(x.DType()))
}

// LearnedPosition adds a learned vector of its place to each step of a sequence (n, steps, size).
type LearnedPosition struct {
	gluon.Hooks
	Steps int // most steps of a sequence
	Units int // size of a step; 0: found by the first call

	WeightInit initializer.Initializer // nil: the network's

	Weight *gluon.Param
}

// Declare declares the parameter.
func (l *LearnedPosition) Declare() {
	l.Weight = gluon.Need(l.Weight, gluon.Spec{Shape: nd.Shape{l.Steps, l.Units},
		Init: l.WeightInit})
}

// Forward adds the vectors.
func (l *LearnedPosition) Forward(x *nd.Array) *nd.Array {
	if l.Weight == nil {
		l.Declare()
	}
	if x.Rank() != 3 || x.Shape()[1] > l.Steps {
		panic(misuse("LearnedPosition", "input of shape %v, want (n, steps, size) with at most %d "+
			"steps", x.Shape(), l.Steps))
	}
	call, shape := l.Enter(l, x), x.Shape()
	w := l.Weight.At(x, l.Steps, shape[2]).SliceAxis(0, 0, shape[1])
	return call.Leave(x.Add(w.ExpandDims(0)))
}
