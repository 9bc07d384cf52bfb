package graph

import (
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
)

// FuseLossGradient lets the gradient of a dense layer make the gradient of the softmax loss on its
// results, which then nobody else may read.
func FuseLossGradient(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	for _, n := range order {
		in := r.now(n.In)
		m := r.lossGradient(n, in)
		if m == nil {
			r.keep(n, in)
			continue
		}
		r.nodes[n] = m
		for i := range n.NumOutputs() {
			r.become(n.Entry(i), m.Entry(i))
		}
		r.changes++
		f.note(Change{Node: n.Name, Before: describe(n, in), After: describe(m, m.In)})
	}
	return r.now(outs), r.changes
}

// lossGradient returns the node that takes the place of n and of the loss before it, nil where
// there is none.
func (r *rewriter) lossGradient(n *op.Node, in []op.Entry) *op.Node {
	if n.Op != nn.FullyConnectedGrad.Op {
		return nil
	}
	g := in[0].Node
	if g.Op != loss.SoftmaxOutputGrad.Op || !r.only(in[0]) || !together(g, n) || !r.exact(in[0]) {
		return nil
	}
	y, label := g.In[0], g.In[1]
	layer := n.Params.(nn.FullyConnectedParams)
	p, ok := loss.DenseGradOf(g.Params.(loss.SoftmaxOutputParams), r.facts.Shapes[y],
		r.facts.Shapes[label], layer.NumHidden, layer.NoBias)
	if !ok {
		return nil
	}
	return r.joined(loss.DenseGrad.Op, p, g, n, y, label, in[1], in[2]).Node
}
