package graph

import (
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
)

// biasRows is the number of rows from which on a product without bias saves more time than the
// softmax with bias costs: with fewer rows the product adds the bias to sums in registers.
const biasRows = 128

// MoveBias lets a softmax loss add the bias of the dense layer below it.
func MoveBias(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, biasIntoSoftmax)
}

func biasIntoSoftmax(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if n.Op != loss.SoftmaxOutput.Op || !r.only(in[0]) || !r.exact(in[0]) {
		return op.Entry{}
	}
	layer, shape := in[0].Node, r.facts.Shapes[in[0]]
	if layer.Op != nn.FullyConnected.Op || !together(layer, n) ||
		!n.Params.(loss.SoftmaxOutputParams).AlongLast(shape) {
		return op.Entry{}
	}
	p := layer.Params.(nn.FullyConnectedParams)
	if p.NoBias || shape.Size() < biasRows*shape[len(shape)-1] {
		return op.Entry{}
	}
	p.NoBias = true
	m := *layer
	m.Params, m.In = p, layer.In[:2:2]
	r.facts.copy(m.Entry(0), in[0])
	return r.joined(loss.BiasSoftmax.Op, op.NoParams{}, layer, n, m.Entry(0), layer.In[2])
}
