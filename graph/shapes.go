package graph

import (
	"fmt"
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

// CutShapes gives operators that read only the shape of an input an array of that shape which is
// never computed.
func CutShapes(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	c := &cutter{made: map[string]*op.Node{}}
	return rewrite(outs, f, c.visit)
}

// cutter makes one array of zeros for every shape, element type and group; made holds them by key.
type cutter struct{ made map[string]*op.Node }

func (c *cutter) visit(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if len(n.Op.Ignores) == 0 || n.NumOutputs() != 1 && r.wanted(n) {
		return op.Entry{}
	}
	cut := slices.Clone(in)
	for k, e := range in {
		if slices.Contains(n.Op.Ignores, k) && !e.Node.IsVar() && e.Node.Op != prim.Zeros.Op {
			if z := c.shape(r.facts, e, n.Attrs[GroupAttr]); z.Valid() {
				cut[k] = z
			}
		}
	}
	if slices.Equal(cut, in) {
		return op.Entry{}
	}
	m := *n
	m.In = cut
	m.After = make([]*op.Node, len(n.After))
	for i, a := range n.After {
		m.After[i] = r.nodes[a]
	}
	return m.Entry(0)
}

// shape returns an array like e.
func (c *cutter) shape(f *Facts, e op.Entry, group string) op.Entry {
	s, t := f.Shapes[e], f.Types[e]
	if !f.Known(e) || len(s) == 0 || s.Size() == 0 {
		return op.Entry{}
	}
	key := fmt.Sprint(s, t, group)
	z := c.made[key]
	if z == nil {
		z = prim.Zeros.Node(prim.InitParams{Shape: s, DType: t}, nil...)
		z.Name = fmt.Sprintf("shape%v", s)
		if group != "" {
			z.Attrs = map[string]string{GroupAttr: group}
		}
		c.made[key] = z
	}
	f.Shapes[z.Entry(0)], f.Types[z.Entry(0)] = s, t
	return z.Entry(0)
}
