package prim

import (
	"gomx/op"
	"gomx/op/loop"
)

// storeBinary gives the functions of two operands their rules and kernels for sparse operands.
//
//	row_sparse, row_sparse → row_sparse    +, -, ·, max, min, hypot
//	csr, csr → csr                         +, -, ·, max, min, hypot
//	sparse, default → default              +, -, either way round, broadcasting too
//	sparse, default → sparse               ·, either way round
//	csr, default → csr                     · and /, broadcasting
func (b binary) storeBinary(s *op.Spec[op.NoParams], broadcast bool) {
	var both, mixed, gives bool // kernels for two sparse operands, for one; the latter's output is sparse
	switch b.elem {
	case ElemwiseAdd, ElemwiseSub:
		both, mixed = !broadcast, true
		s.GradStorage = op.GradLikeHead[op.NoParams]
	case ElemwiseMul:
		both, mixed, gives = !broadcast, true, true
	case ElemwiseDiv:
		mixed, gives = broadcast, true
	case Maximum, Minimum, Hypot:
		both = !broadcast
	}
	if broadcast {
		s.GradStorage = nil
	}
	if !both && !mixed {
		return
	}
	s.Storage = func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
		x, y := in[0], in[1]
		switch {
		case x == y:
			return in[:1], x == op.Dense || both
		case !mixed || x != op.Dense && y != op.Dense:
			return nil, false
		case broadcast && x != op.CSR:
			return nil, false
		case gives:
			return []op.Storage{max(x, y)}, true
		}
		return []op.Storage{op.Dense}, true
	}
	s.Sparse = func(_ op.NoParams, c *op.Call) error {
		switch {
		case c.In[0].Storage == c.In[1].Storage && c.In[0].Storage == op.RowSparse &&
			b.elem == ElemwiseAdd:
			return loop.AddStored(c)
		case c.In[0].Storage == c.In[1].Storage:
			return loop.ZipStored(b.f, b.elem == ElemwiseMul, c)
		case gives:
			return loop.ZipAt(b.f, c)
		}
		return loop.ZipDense(b.f, c)
	}
}

// storeUnary gives the functions of one operand that keep zeros zero their rule and kernel.
func (u unary) storeUnary(s *op.Spec[op.NoParams]) {
	switch u.op {
	case Cos, Cosh:
		s.GradStorage = gradLikeBoth
		return
	case Abs, Sign, Negative, Square, Sqrt, Cbrt, Expm1, Log1p, Relu, Round, Rint, Ceil, Floor,
		Trunc, Fix, Sin, Tan, Arcsin, Arctan, Sinh, Tanh, Arcsinh, Arctanh, Degrees, Radians:
	default:
		return
	}
	s.Storage = op.StoreLike[op.NoParams]
	s.Sparse = func(_ op.NoParams, c *op.Call) error { return loop.MapStored(u.f, c) }
	switch u.op {
	case Abs, Sign, Negative, Square, Relu, Round, Rint, Ceil, Floor, Trunc, Fix:
		s.GradStorage = op.GradLikeHead[op.NoParams]
	}
}

// gradLikeBoth is a rule of Spec.GradStorage for functions of one operand whose slope is zero at zero:
// the gradient has the storage type of the operand and of the gradient that flows in, if they agree.
func gradLikeBoth(_ op.NoParams, in, heads []op.Storage) []op.Storage {
	if in[0] == heads[0] {
		return in[:1]
	}
	return []op.Storage{op.Dense}
}

// signGrad is the gradient of Sign, which is zero. Of a sparse array it has stored zeros, as in
// MXNet: in the rows of data and of the gradient of the output.
func signGrad(g *op.Grad, _ op.NoParams) []op.Entry {
	if g.Stored(0) == op.Dense {
		return []op.Entry{{}}
	}
	return []op.Entry{mul(g.Head(0), scale(g.In(0), 0))}
}

// storeScalar gives the functions of an array and a number that keep zeros zero their rule and
// kernel.
func (r scalar) storeScalar(s *op.Spec[ScalarParams]) {
	keeps := func(p ScalarParams) bool { return p.Scalar == 0 }
	switch r.op {
	case PlusScalar, MinusScalar:
	case MulScalar, DivScalar:
		keeps = op.Always[ScalarParams]
	case EqualScalar, NotEqualScalar, GreaterScalar, GreaterEqualScalar, LesserScalar,
		LesserEqualScalar:
		keeps = r.falseAtZero
	default:
		return
	}
	s.Storage = func(p ScalarParams, in []op.Storage) ([]op.Storage, bool) {
		return in[:1], keeps(p) || in[0] == op.Dense
	}
	s.Sparse = r.mapStored
	if r.grad != nil {
		s.GradStorage = op.GradLikeHead[ScalarParams]
	}
}

// mapStored computes the function of the stored values. Where the number is rounded to zero, so that
// zeros give another number, it computes that of all values.
func (r scalar) mapStored(p ScalarParams, c *op.Call) error {
	f := r.function(p, c.In[0].DType)
	zero := op.TensorOf([]float32{0})
	if loop.Map(f, zero, zero); op.Slice[float32](zero)[0] == 0 {
		return loop.MapStored(f, c)
	}
	dense := loop.DenseOf(c.In[0], c.Threads)
	loop.Map(f, dense, dense)
	return castStorage(CastStorageParams{}, &op.Call{In: []op.Tensor{dense}, Out: c.Out,
		Threads: c.Threads})
}

// falseAtZero reports whether a comparison with a number is false for zero. The number counts as it
// is given, before it is rounded to the element type.
func (r scalar) falseAtZero(p ScalarParams) bool { return r.f.F(0, p.Scalar) == 0 }
