package graph

import (
	"math"

	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// SimplifyComposed removes operators without effect from a graph without gradient. Operators whose
// gradient is not the derivative of their result, such as losses, stay.
func SimplifyComposed(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		return simplify(r, n, in, false)
	})
}

// SimplifyCompiled removes operators without effect from a graph that has its gradient.
func SimplifyCompiled(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		return simplify(r, n, in, true)
	})
}

// simplify returns an entry that is equal to output 0 of n and takes less work, or the zero Entry
// if it knows none.
func simplify(r *rewriter, n *op.Node, in []op.Entry, compiled bool) op.Entry {
	if len(in) == 0 || len(n.After) > 0 || n.NumOutputs() > 1 && r.wanted(n) ||
		!r.facts.Known(n.Entry(0)) {
		return op.Entry{}
	}
	s := &simplifier{rewriter: r, n: n, in: in, compiled: compiled}
	for _, e := range in {
		if !r.facts.Known(e) {
			return op.Entry{}
		}
	}
	for _, rule := range []func() op.Entry{s.neutral, s.casts, s.nested, s.signs, s.constants,
		s.moved, s.reshaped} {
		if e := rule(); e.Valid() {
			if r.outs[n.Entry(0)] && (e.Node.IsVar() || r.was[e] != (op.Entry{})) {
				return op.Entry{} // an output keeps a node of its own
			}
			return e
		}
	}
	return op.Entry{}
}

// simplifier looks at one node whose inputs have been rewritten to in.
type simplifier struct {
	*rewriter
	n        *op.Node   // the old node
	in       []op.Entry // new entries
	compiled bool       // the graph has its gradient
}

// like reports whether entry e has the shape and type of the node's output.
func (s *simplifier) like(e op.Entry) bool {
	out := s.n.Entry(0)
	return s.facts.Types[e] == s.facts.Types[out] && s.facts.Shapes[e].Equal(s.facts.Shapes[out])
}

// make makes a node in the place of the one looked at.
func (s *simplifier) make(o *op.Op, params any, in ...op.Entry) op.Entry {
	return changed(s.n, o, params, in)
}

// scalar returns the number of an operator of an array and a number.
func scalarOf(n *op.Node) (float64, bool) {
	p, ok := n.Params.(prim.ScalarParams)
	return p.Scalar, ok
}

// neutral finds operators that leave their first input as it is.
func (s *simplifier) neutral() op.Entry {
	x := s.in[0]
	if !s.like(x) {
		return op.Entry{}
	}
	identity := s.n.Op.Identity && len(s.n.Op.Changes(s.n.Params)) == 0
	return when(s.n.Op.Neutral(s.n.Params) || s.compiled && identity, x)
}

// casts makes conversions to the type of another array conversions to a known type, so that they
// need not wait for that array.
func (s *simplifier) casts() op.Entry {
	x := s.in[0]
	switch {
	case !s.compiled || s.n.Op != prim.CastLike.Op:
		return op.Entry{}
	case s.like(x):
		return x
	}
	return s.make(prim.Cast.Op, prim.CastParams{DType: s.facts.Types[s.n.Entry(0)]}, x)
}

func when(ok bool, e op.Entry) op.Entry {
	if ok {
		return e
	}
	return op.Entry{}
}

// nested finds functions that have no effect on the result of the function below them.
func (s *simplifier) nested() op.Entry {
	x := s.in[0]
	inner := x.Node
	if inner.IsVar() || len(inner.In) == 0 || len(inner.After) > 0 ||
		s.facts.Types[inner.In[0]] != s.facts.Types[x] {
		return op.Entry{}
	}
	switch s.n.Op {
	case prim.Negative.Op:
		return when(inner.Op == prim.Negative.Op, inner.In[0])
	case prim.Abs.Op, prim.Square.Op:
		if inner.Op == prim.Negative.Op || inner.Op == prim.Abs.Op && s.n.Op == prim.Square.Op {
			return s.make(s.n.Op, s.n.Params, inner.In[0])
		}
	case prim.Relu.Op, nn.Activation.Op:
		return when(rectifies(s.n) && rectifies(inner), x)
	case prim.MaximumScalar.Op, prim.MinimumScalar.Op:
		a, _ := scalarOf(s.n)
		b, ok := scalarOf(inner)
		if !ok || inner.Op != s.n.Op || a != a || b != b {
			return op.Entry{}
		}
		if v := math.Max(a, b); s.n.Op == prim.MaximumScalar.Op {
			a = v
		} else {
			a = math.Min(a, b)
		}
		return s.make(s.n.Op, prim.ScalarParams{Scalar: a}, inner.In[0])
	}
	return when(s.n.Op.Idempotent && inner.Op == s.n.Op, x)
}

// negated returns x if e is -x.
func (s *simplifier) negated(e op.Entry) (op.Entry, bool) {
	if e.Node.IsVar() || e.Node.Op != prim.Negative.Op || len(e.Node.After) > 0 {
		return op.Entry{}, false
	}
	return e.Node.In[0], true
}

// signs moves negations into sums, differences and factors.
func (s *simplifier) signs() op.Entry {
	if s.n.Op == prim.Negative.Op && !s.in[0].Node.IsVar() &&
		s.in[0].Node.Op == prim.MulScalar.Op && s.facts.Types[s.n.Entry(0)].IsFloat() {
		v, _ := scalarOf(s.in[0].Node)
		return s.make(prim.MulScalar.Op, prim.ScalarParams{Scalar: -v}, s.in[0].Node.In[0])
	}
	if s.n.Op == prim.MulScalar.Op && s.facts.Types[s.n.Entry(0)].IsFloat() {
		if x, ok := s.negated(s.in[0]); ok {
			v, _ := scalarOf(s.n)
			return s.make(prim.MulScalar.Op, prim.ScalarParams{Scalar: -v}, x)
		}
	}
	if len(s.in) != 2 {
		return op.Entry{}
	}
	a, b := s.in[0], s.in[1]
	switch s.n.Op {
	case prim.ElemwiseSub.Op:
		if x, ok := s.negated(b); ok {
			return s.make(prim.ElemwiseAdd.Op, nil, a, x)
		}
	case prim.BroadcastSub.Op:
		if x, ok := s.negated(b); ok {
			return s.make(prim.BroadcastAdd.Op, nil, a, x)
		}
	case prim.ElemwiseAdd.Op, prim.BroadcastAdd.Op, prim.AddN.Op, prim.GradAdd.Op:
		minus := prim.ElemwiseSub.Op
		if s.n.Op == prim.BroadcastAdd.Op {
			minus = prim.BroadcastSub.Op
		}
		if x, ok := s.negated(b); ok {
			return s.make(minus, nil, a, x)
		}
		if x, ok := s.negated(a); ok {
			return s.make(minus, nil, b, x)
		}
	}
	return op.Entry{}
}

// constants turns operators of an array and a constant into operators of an array and a number, and
// drops zeros from sums.
func (s *simplifier) constants() op.Entry {
	if !s.facts.Types[s.n.Entry(0)].IsFloat() {
		return op.Entry{}
	}
	if s.n.Op == prim.AddN.Op {
		return s.dropZeros()
	}
	if len(s.in) != 2 {
		return op.Entry{}
	}
	for k, e := range s.in {
		form := s.n.Op.Scalar[1-k]
		v, ok := constantValue(e)
		if other := s.in[1-k]; form != nil && ok && v == v && s.like(other) {
			return s.withNumber(form, other, v)
		}
	}
	return op.Entry{}
}

// withNumber applies o to x and v, unless v is neutral.
func (s *simplifier) withNumber(o *op.Op, x op.Entry, v float64) op.Entry {
	p := prim.ScalarParams{Scalar: v}
	if o.Neutral(p) {
		return x
	}
	return s.make(o, p, x)
}

func (s *simplifier) dropZeros() op.Entry {
	var rest []op.Entry
	for _, e := range s.in {
		if v, ok := constantValue(e); !ok || v != 0 {
			rest = append(rest, e)
		}
	}
	switch len(rest) {
	case 0, len(s.in):
		return op.Entry{}
	case 1:
		return rest[0]
	}
	return s.make(prim.AddN.Op, nil, rest...)
}

// constantValue returns the number that all elements of e are known to be.
func constantValue(e op.Entry) (float64, bool) {
	if e.Node.IsVar() {
		return 0, false
	}
	return e.Node.Op.Fill(e.Node.Params)
}

// maxScale bounds factors that are joined: their product neither overflows nor vanishes.
const maxScale = 1e15

// ScaleOnce joins factors and divisors that follow each other.
func ScaleOnce(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		a, ok := factor(n)
		if !ok || len(n.After) > 0 || in[0].Node.IsVar() || len(in[0].Node.After) > 0 ||
			!r.facts.Types[n.Entry(0)].IsFloat() {
			return op.Entry{}
		}
		b, ok := factor(in[0].Node)
		if !ok || r.facts.Types[in[0]] != r.facts.Types[n.Entry(0)] {
			return op.Entry{}
		}
		return changed(n, prim.MulScalar.Op, prim.ScalarParams{Scalar: a * b},
			[]op.Entry{in[0].Node.In[0]})
	})
}

// factor returns the number that n multiplies its input by.
func factor(n *op.Node) (float64, bool) {
	v, ok := scalarOf(n)
	if ok && n.Op == prim.DivScalar.Op {
		v = 1 / v
	} else if n.Op != prim.MulScalar.Op {
		return 0, false
	}
	abs := max(v, -v)
	return v, ok && abs < maxScale && abs > 1/maxScale
}
