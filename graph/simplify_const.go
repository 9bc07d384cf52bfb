package graph

import (
	"gomx/op"
	"gomx/op/prim"
)

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
