package optimizer

import (
	"math"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

// start pushes an update operator whose first output replaces the weight. If the parameters equal
// the last step's, it reuses their interface value.
func start[P comparable](s *Step, h op.Handle[P], p P, w, g *nd.Array, state []*nd.Array) {
	if last, ok := s.last.params.(P); !ok || last != p {
		s.last.params = p
	}
	s.last.in = append(append(s.last.in[:0], w, g), state...)
	s.last.out[0] = w
	invoke := nd.InvokeInto
	if s.last.bulk != nil {
		invoke = s.last.bulk.InvokeInto
	}
	if err := invoke(h.Op, s.last.params, s.last.in, s.last.out[:]); err != nil {
		panic(err)
	}
}

// apply applies an operator and returns its first output.
func apply(o *op.Op, params any, in, out []*nd.Array) *nd.Array {
	results, err := nd.Invoke(o, params, in, out)
	if err != nil {
		panic(op.WithOp(err, o.Name, "", ""))
	}
	return results[0]
}

// zeros returns n dense arrays of zeros like w.
func zeros(w *nd.Array, n int) []*nd.Array { return zerosOf(nd.Dense, w, n) }

// zerosLike returns n arrays of zeros like w with its storage type. Those of a row_sparse weight
// get the rows that steps change.
func zerosLike(w *nd.Array, n int) []*nd.Array { return zerosOf(w.Storage(), w, n) }

// lazyZeros returns n arrays of zeros like w, with its storage type if updates are lazy.
func lazyZeros(w *nd.Array, n int, lazy bool) []*nd.Array {
	if lazy {
		return zerosLike(w, n)
	}
	return zeros(w, n)
}

// zerosOf returns n arrays of zeros of a storage type like w.
func zerosOf(s nd.Storage, w *nd.Array, n int) []*nd.Array {
	list := make([]*nd.Array, n)
	for i := range list {
		list[i] = nd.ZerosOf(s, w.Shape(), nd.As(w.DType()), nd.On(w.Device()),
			nd.Using(w.Engine()))
	}
	return list
}

// The functions below are the arithmetic of the optimizers that have no update operator. Results
// belong to the scope of their operands.

func add(a, b *nd.Array) *nd.Array     { return nd.Apply(prim.ElemwiseAdd, op.NoParams{}, a, b) }
func sub(a, b *nd.Array) *nd.Array     { return nd.Apply(prim.ElemwiseSub, op.NoParams{}, a, b) }
func mul(a, b *nd.Array) *nd.Array     { return nd.Apply(prim.ElemwiseMul, op.NoParams{}, a, b) }
func div(a, b *nd.Array) *nd.Array     { return nd.Apply(prim.ElemwiseDiv, op.NoParams{}, a, b) }
func maximum(a, b *nd.Array) *nd.Array { return nd.Apply(prim.Maximum, op.NoParams{}, a, b) }
func sqrt(a *nd.Array) *nd.Array       { return nd.Apply(prim.Sqrt, op.NoParams{}, a) }
func square(a *nd.Array) *nd.Array     { return nd.Apply(prim.Square, op.NoParams{}, a) }
func abs(a *nd.Array) *nd.Array        { return nd.Apply(prim.Abs, op.NoParams{}, a) }

func scale(a *nd.Array, v float64) *nd.Array {
	return nd.Apply(prim.MulScalar, prim.ScalarParams{Scalar: v}, a)
}

func plus(a *nd.Array, v float64) *nd.Array {
	return nd.Apply(prim.PlusScalar, prim.ScalarParams{Scalar: v}, a)
}

// clip limits elements to [-limit, limit]; a negative limit means no limit.
func clip(a *nd.Array, limit float64) *nd.Array {
	if limit < 0 {
		return a
	}
	return nd.Apply(prim.Clip, prim.ClipParams{AMin: -limit, AMax: limit}, a)
}

// sumSquares returns the sum of squares of a as an array of shape (1,).
func sumSquares(a *nd.Array) *nd.Array {
	return nd.Apply(prim.Sum, prim.ReduceParams{}, square(a)).Reshape(1)
}

// norm returns the root of sumSquares.
func norm(a *nd.Array) *nd.Array { return sqrt(sumSquares(a)) }

// weightNorm returns the norm of a weight for MXNet's layer-wise rates: the norm of the float16
// weight if there is one, with squares in float16.
func (s *Step) weightNorm(sc *nd.Scoped, w *nd.Array) *nd.Array {
	if s.half == nil {
		return norm(w)
	}
	squares := square(sc.Enter(s.half))
	return sqrt(nd.Apply(prim.Sum, prim.ReduceParams{},
		sc.Own(squares.AsType(dtype.Float32))).Reshape(1))
}

// bias returns 1 - beta^t, the factor by which a running mean of t values is too small.
func bias(beta float64, t int) float64 { return 1 - math.Pow(beta, float64(t)) }
