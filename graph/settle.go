package graph

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// SettleShapes writes shapes that were inferred into the operators that make arrays of a shape of
// which parts follow from its use, such as the first states of unrolled recurrent networks: later
// passes may take that use away.
func SettleShapes(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, _ []op.Entry) op.Entry {
		e := n.Entry(0)
		if !f.Known(e) || f.Shapes[e].Size() == 0 {
			return op.Entry{}
		}
		params := n.Params
		switch p := params.(type) {
		case prim.InitParams:
			if p.Wanted().Known() {
				return op.Entry{}
			}
			p.Shape = settled(f.Shapes[e])
			params = p
		case prim.FullParams:
			if p.Wanted().Known() {
				return op.Entry{}
			}
			p.Shape = settled(f.Shapes[e])
			params = p
		default:
			return op.Entry{}
		}
		return changed(n, n.Op, params, nil)
	})
}

// settled copies a shape that belongs to the facts.
func settled(s dtype.Shape) []int { return slices.Clone([]int(s)) }
