package graph

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
	"gomx/op/prim"
)

// rowLoss is a dense layer of one output below a regression head, with the gradients of both.
type rowLoss struct {
	layer, head, headGrad, layerGrad *op.Node
	params                           loss.RowLossParams
	// made is the node that does the work of all four; nil before joinRowLoss.
	made *op.Node
}

// FuseRowLoss lets the forward part compute the gradients of a dense layer of one output together
// with the regression head above it. The backward part only multiplies them by the head's factor.
func FuseRowLoss(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	found := map[*op.Node]*rowLoss{}
	for _, n := range order {
		if m := r.rowLoss(n); m != nil {
			found[m.head], found[m.layerGrad] = m, m
		}
	}
	for _, n := range order {
		switch m := found[n]; {
		case m == nil:
			r.keep(n, r.now(n.In))
		case n == m.head:
			r.joinRowLoss(m)
		default:
			r.scaleRowLoss(m)
		}
	}
	return r.now(outs), r.changes
}

// rowLoss returns the rowLoss whose layerGrad is n, or nil if n is not the gradient of such a
// layer.
func (r *rewriter) rowLoss(n *op.Node) *rowLoss {
	if n.Op != nn.FullyConnectedGrad.Op || r.uses[n.Entry(0)] > 0 {
		return nil
	}
	m := &rowLoss{layerGrad: n, headGrad: n.In[0].Node}
	if m.headGrad.IsVar() || len(m.headGrad.In) != 3 || r.uses[n.In[0]] != 1 {
		return nil
	}
	m.head = m.headGrad.In[0].Node
	var ok bool
	m.params, ok = loss.RowLossOf(m.head.Op, m.headGrad.Op,
		n.Params.(nn.FullyConnectedParams).NoBias)
	if !ok || m.head.In[1] != m.headGrad.In[1] {
		return nil
	}
	m.layer = m.head.In[0].Node
	if m.layer.Op != nn.FullyConnected.Op || r.uses[m.head.In[0]] != 1 ||
		m.layer.In[0] != n.In[1] || m.layer.In[1] != n.In[2] {
		return nil
	}
	for _, b := range []*op.Node{m.head, m.headGrad, n} {
		if !together(m.layer, b) {
			return nil
		}
	}
	if !r.oneOutput(m) {
		return nil
	}
	return m
}

// oneOutput reports whether the layer has rows of one output each, of a type in which rounding
// matters little.
func (r *rewriter) oneOutput(m *rowLoss) bool {
	y := m.head.Entry(0)
	x, w, t := r.facts.Shapes[m.layer.In[0]], r.facts.Shapes[m.layer.In[1]], r.facts.Types[y]
	shape := r.facts.Shapes[m.head.In[0]]
	return t == dtype.Float32 && x.Known() && w.Known() && len(x) > 0 &&
		shape.Equal(dtype.Shape{x[0], 1}) && w[0] == 1 && x.Size() == x[0]*w[1]
}

// joinRowLoss puts one node in the place of layer and head.
func (r *rewriter) joinRowLoss(m *rowLoss) {
	l := r.now(m.layer.In)
	in := append([]op.Entry{l[0], l[1], r.made[m.head.In[1]]}, l[2:]...)
	m.made = r.joined(loss.RowLoss.Op, m.params, m.layer, m.head, in...).Node
	r.nodes[m.head] = m.made
	r.become(m.head.Entry(0), m.made.Entry(0))
	for i, e := range m.layer.In[1:] { // gradients are like weight and bias
		r.facts.copy(m.made.Entry(1+i), e)
	}
	r.changes++
	r.facts.note(Change{Node: m.head.Name, Before: describe(m.head, r.now(m.head.In[1:])),
		After: describe(m.made, in)})
}

// scaleRowLoss takes the gradients from the node that was made.
func (r *rewriter) scaleRowLoss(m *rowLoss) {
	p := prim.ScalarParams{Scalar: m.headGrad.Params.(loss.RegressionParams).GradScale.Value()}
	for i := 1; i < m.layerGrad.NumOutputs(); i++ {
		n := prim.MulScalar.Node(p, m.made.Entry(i))
		n.Name, n.Attrs, n.Site = m.layerGrad.Name, m.layerGrad.Attrs, m.layerGrad.Site
		r.nodes[m.layerGrad] = n
		r.become(m.layerGrad.Entry(i), n.Entry(0))
	}
}

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
