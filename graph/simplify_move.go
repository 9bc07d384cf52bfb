package graph

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// moved joins transpositions that follow each other, and drops those that move nothing.
func (s *simplifier) moved() op.Entry {
	x := s.in[0]
	perm, ok := permutation(s.n, s.facts.Shapes[x])
	if !ok {
		return op.Entry{}
	}
	first, x2 := x, x
	joined := false
	if inner := x.Node; !inner.IsVar() && len(inner.In) > 0 && len(inner.After) == 0 {
		if before, ok := permutation(inner, s.facts.Shapes[inner.In[0]]); ok &&
			s.facts.Known(inner.In[0]) {
			perm, x2, joined = composed(before, perm), inner.In[0], true
		}
	}
	switch shape := s.facts.Shapes[x2]; {
	case isSorted(perm):
		return x2
	case sorted(perm, func(a int) bool { return shape[a] != 1 }):
		return s.reshape(x2)
	case joined && x2 != first:
		return s.make(prim.Transpose.Op, prim.TransposeParams{Axes: perm}, x2)
	}
	return op.Entry{}
}

// permutation returns the axis of the input that each axis of n's output is.
func permutation(n *op.Node, in dtype.Shape) ([]int, bool) {
	perm := make([]int, len(in))
	for i := range perm {
		perm[i] = i
	}
	switch p := n.Params.(type) {
	case prim.TransposeParams:
		if len(p.Axes) == 0 {
			slices.Reverse(perm)
			return perm, true
		}
		for i, a := range p.Axes {
			if a < 0 {
				a += len(in)
			}
			perm[i] = a
		}
		return perm, n.Op == prim.Transpose.Op
	case prim.SwapAxisParams:
		a, b := (p.Dim1+len(in))%len(in), (p.Dim2+len(in))%len(in)
		perm[a], perm[b] = b, a
		return perm, n.Op == prim.SwapAxis.Op
	}
	return nil, false
}

// sorted reports whether the axes that matter stay in their order.
func sorted(perm []int, matters func(axis int) bool) bool {
	last := -1
	for _, a := range perm {
		if matters(a) {
			if a < last {
				return false
			}
			last = a
		}
	}
	return true
}

// reshaped joins changes of shape that follow each other.
func (s *simplifier) reshaped() op.Entry {
	if !s.n.Op.Reshapes || s.in[0].Node.IsVar() || !s.in[0].Node.Op.Reshapes ||
		len(s.in[0].Node.After) > 0 {
		return op.Entry{}
	}
	x := s.in[0].Node.In[0]
	if s.like(x) {
		return x
	}
	return s.reshape(x)
}

// reshape gives x the shape of the node's output.
func (s *simplifier) reshape(x op.Entry) op.Entry {
	shape := s.facts.Shapes[s.n.Entry(0)]
	if len(shape) == 0 || slices.Contains(shape, 0) ||
		s.facts.Types[x] != s.facts.Types[s.n.Entry(0)] {
		return op.Entry{}
	}
	return s.make(prim.Reshape.Op, prim.ReshapeParams{Shape: shape.Clone()}, x)
}

// TransposedProducts lets products of matrices transpose their operands themselves.
func TransposedProducts(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		p, ok := n.Params.(prim.DotParams)
		if !ok || n.Op != prim.Dot.Op && n.Op != prim.BatchDot.Op || len(n.After) > 0 {
			return op.Entry{}
		}
		a, ta := lastSwapped(r.facts, in[0], n.Op == prim.Dot.Op)
		b, tb := lastSwapped(r.facts, in[1], n.Op == prim.Dot.Op)
		if !ta && !tb {
			return op.Entry{}
		}
		p.TransposeA, p.TransposeB = p.TransposeA != ta, p.TransposeB != tb
		return changed(n, n.Op, p, []op.Entry{a, b})
	})
}

// lastSwapped returns x and true if e is x with its last two axes swapped, else e and false. If
// matrix is set, x must have exactly two axes.
func lastSwapped(f *Facts, e op.Entry, matrix bool) (op.Entry, bool) {
	n := e.Node
	if n.IsVar() || len(n.In) == 0 || len(n.After) > 0 || !f.Known(n.In[0]) {
		return e, false
	}
	shape := f.Shapes[n.In[0]]
	perm, ok := permutation(n, shape)
	last := len(perm) - 1
	if !ok || last < 1 || matrix && last != 1 || perm[last] != last-1 || perm[last-1] != last ||
		!isSorted(perm[:last-1]) {
		return e, false
	}
	return n.In[0], true
}
