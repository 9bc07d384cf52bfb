package graph

import (
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
	"gomx/op/prim"
)

// DropDropout removes dropout that drops in training only. An output keeps its own, because outputs
// are written where nothing else lives.
func DropDropout(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		if n.Op != nn.Dropout.Op || n.Params.(nn.DropoutParams).Mode != "training" ||
			r.outs[n.Entry(0)] || r.wanted(n) || len(n.After) > 0 {
			return op.Entry{}
		}
		return in[0]
	})
}

// FoldBatchNorm makes one convolution of a convolution and the batch norm that alone reads it.
func FoldBatchNorm(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, foldInto)
}

func foldInto(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if n.Op != nn.BatchNorm.Op || r.wanted(n) {
		return op.Entry{}
	}
	bn, conv := n.Params.(nn.BatchNormParams), in[0].Node
	if conv.Op != nn.Convolution.Op || !r.only(in[0]) || !together(conv, n) ||
		bn.Axis.Value() != 1 {
		return op.Entry{}
	}
	p := conv.Params.(nn.ConvolutionParams)
	fold := nn.FoldBatchNormParams{Eps: bn.Eps, NoFixGamma: bn.NoFixGamma, NoBias: p.NoBias}
	weights := slices.Clone(conv.In[1:])
	if fold.Narrow = r.narrowed(in[0], weights); !fold.Narrow && !r.exact(in[0]) {
		return op.Entry{}
	}
	from := append([]op.Entry{weights[0], in[1], in[2], in[3], in[4]}, weights[1:]...)
	w := r.joined(nn.FoldBatchNorm.Op, fold, n, conv, from...).Node
	w.After = nil
	q := nn.FusedConvolutionOf(p)
	q.NoBias = false
	return r.joined(nn.FusedConvolution.Op, q, conv, n, conv.In[0], w.Entry(0), w.Entry(1))
}

// narrowed reports whether the convolution that computes e does so in bfloat16 with parameters that
// are float32 but for a conversion; it replaces them by the parameters before the conversion.
func (r *rewriter) narrowed(e op.Entry, weights []op.Entry) bool {
	for k, w := range weights {
		if r.facts.Types[e] != dtype.BFloat16 || w.Node.Op != prim.KeptCast.Op ||
			r.facts.Types[w.Node.In[0]] != dtype.Float32 {
			return false
		}
		weights[k] = w.Node.In[0]
	}
	return len(weights) > 0
}

// exact reports whether parameters may be multiplied in the element type of e without losing
// accuracy that the operators had.
func (r *rewriter) exact(e op.Entry) bool {
	t, ok := r.facts.Types[e]
	return ok && (t == dtype.Float32 || t == dtype.Float64)
}

// FuseSum gives sums to the convolution that computes one of their terms.
func FuseSum(outs []op.Entry, f *Facts) ([]op.Entry, int) { return rewrite(outs, f, sumInto) }

func sumInto(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if !sums(n) {
		return op.Entry{}
	}
	for k, e := range in {
		other := in[1-k]
		p, ok := r.convolution(e, n)
		if !ok || p.ReLU || other == e || !r.facts.Shapes[e].Known() ||
			!r.facts.Shapes[e].Equal(r.facts.Shapes[other]) {
			continue
		}
		args := append([]op.Entry{e.Node.In[0], e.Node.In[1], other}, e.Node.In[2:]...)
		return r.joined(nn.FusedConvolutionAdd.Op, p, e.Node, n, args...)
	}
	return op.Entry{}
}

// convolution returns the parameters of the convolution, plain or fused but without a sum, that
// computes e for n alone.
func (r *rewriter) convolution(e op.Entry, n *op.Node) (p nn.FusedConvolutionParams, ok bool) {
	switch c := e.Node; {
	case !r.only(e) || !together(c, n):
		return p, false
	case c.Op == nn.Convolution.Op:
		return nn.FusedConvolutionOf(c.Params.(nn.ConvolutionParams)), true
	case c.Op == nn.FusedConvolution.Op:
		return c.Params.(nn.FusedConvolutionParams), true
	}
	return p, false
}

// FuseActivation gives rectifiers to the convolution or dense layer before them.
func FuseActivation(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, activationInto)
}

func activationInto(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if !rectifies(n) {
		return op.Entry{}
	}
	c := in[0].Node
	if p, ok := r.convolution(in[0], n); ok {
		p.ReLU = true
		return r.joined(nn.FusedConvolution.Op, p, c, n, c.In...)
	}
	if !r.only(in[0]) || !together(c, n) {
		return op.Entry{}
	}
	switch c.Op {
	case nn.FusedConvolutionAdd.Op:
		p := c.Params.(nn.FusedConvolutionParams)
		p.ReLU = true
		return r.joined(c.Op, p, c, n, c.In...)
	case nn.FullyConnected.Op:
		p := c.Params.(nn.FullyConnectedParams)
		return r.joined(nn.FusedFullyConnected.Op, nn.FusedFullyConnectedParams(p), c, n, c.In...)
	}
	return op.Entry{}
}

// sums reports whether n adds two arrays.
func sums(n *op.Node) bool { return n.Op == prim.ElemwiseAdd.Op || n.Op == prim.BroadcastAdd.Op }

// rectifies reports whether n sets negative values to zero.
func rectifies(n *op.Node) bool {
	if n.Op == nn.Activation.Op {
		return n.Params.(nn.ActivationParams).ActType == "relu"
	}
	return n.Op == prim.Relu.Op
}

// FuseNorm gives rectifiers, and the sums before them, to the batch norm that they alone read.
func FuseNorm(outs []op.Entry, f *Facts) ([]op.Entry, int) { return rewrite(outs, f, normInto) }

func normInto(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if !rectifies(n) {
		return op.Entry{}
	}
	if p, ok := r.norm(in[0], n); ok {
		bn := in[0].Node
		return r.joined(nn.FusedBatchNorm.Op, nn.FusedBatchNormOf(p, false), bn, n, bn.In...)
	}
	sum := in[0].Node
	if !sums(sum) || !r.only(in[0]) || !together(sum, n) {
		return op.Entry{}
	}
	for k, e := range sum.In {
		other := sum.In[1-k]
		p, ok := r.norm(e, sum)
		if !ok || other == e || !r.facts.Shapes[e].Known() ||
			!r.facts.Shapes[e].Equal(r.facts.Shapes[other]) {
			continue
		}
		return r.joined(nn.FusedBatchNorm.Op, nn.FusedBatchNormOf(p, true), e.Node, n,
			append(slices.Clone(e.Node.In), other)...)
	}
	return op.Entry{}
}

// norm returns the parameters of the batch norm on axis 1 that computes e for n alone.
func (r *rewriter) norm(e op.Entry, n *op.Node) (p nn.BatchNormParams, ok bool) {
	bn := e.Node
	if bn.Op != nn.BatchNorm.Op || !r.only(e) || !together(bn, n) || !r.exact(e) {
		return p, false
	}
	p = bn.Params.(nn.BatchNormParams)
	return p, p.Axis.Value() == 1
}

// FuseTrainedActivation gives rectifiers to the convolution before them. The sums that the
// convolution computes before the rectifier are not kept: no other node reads them.
func FuseTrainedActivation(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, func(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
		if !rectifies(n) {
			return op.Entry{}
		}
		p, ok := r.convolution(in[0], n)
		if !ok {
			return op.Entry{}
		}
		p.ReLU = true
		return r.joined(nn.FusedConvolution.Op, p, in[0].Node, n, in[0].Node.In...)
	})
}

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

// SpareBias takes the bias from layers that a batch norm by the statistics of the batch alone reads:
// the norm subtracts it with the mean. It changes the moving mean, and its gradient is zero.
func SpareBias(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, biasIntoNorm)
}

func biasIntoNorm(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if n.Op != nn.BatchNorm.Op || r.wanted(n) || r.facts.kind(n) != device.KindCUDA {
		return op.Entry{}
	}
	p, layer := n.Params.(nn.BatchNormParams), in[0].Node
	rank := len(r.facts.Shapes[in[0]])
	if p.UseGlobalStats || rank < 2 || p.Axis.Value() != 1 && p.Axis.Value() != 1-rank ||
		!r.only(in[0]) || !together(layer, n) {
		return op.Entry{}
	}
	bare, bias, ok := r.biasless(layer, rank)
	if bias = r.typed(bias, in[1]); !ok || !bias.Valid() {
		return op.Entry{}
	}
	r.facts.copy(bare.Entry(0), in[0])
	return r.joined(nn.BiasedBatchNorm.Op, p, n, n,
		append([]op.Entry{bare.Entry(0)}, append(slices.Clone(in[1:]), bias)...)...)
}

// biasless returns a layer, whose output has a number of axes, without its bias per channel, and the
// bias.
func (r *rewriter) biasless(layer *op.Node, rank int) (bare *op.Node, bias op.Entry, ok bool) {
	m := *layer
	switch p := layer.Params.(type) {
	case nn.ConvolutionParams:
		ok = layer.Op == nn.Convolution.Op && !p.NoBias
		p.NoBias = true
		m.Params = p
	case nn.FullyConnectedParams:
		ok = layer.Op == nn.FullyConnected.Op && !p.NoBias && rank == 2
		p.NoBias = true
		m.Params = p
	}
	if !ok {
		return nil, bias, false
	}
	m.In = layer.In[:2:2]
	return &m, layer.In[2], true
}

// typed returns the bias in the type of a parameter: the bias itself, or the array from which it is
// converted. It returns no entry if neither has that type.
func (r *rewriter) typed(bias, param op.Entry) op.Entry {
	if !bias.Valid() || r.facts.Types[bias] == r.facts.Types[param] {
		return bias
	}
	if c := bias.Node; !c.IsVar() && (prim.IsCast(c.Op) || c.Op == prim.KeptCast.Op) &&
		r.facts.Types[c.In[0]] == r.facts.Types[param] {
		return c.In[0]
	}
	return op.Entry{}
}

// FoldAffine makes one convolution of a convolution and the sums and products with a parameter per
// channel that alone read it.
func FoldAffine(outs []op.Entry, f *Facts) ([]op.Entry, int) { return rewrite(outs, f, affineInto) }

func affineInto(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	for k, e := range in {
		step, ok := affineStep(n, k)
		if !ok {
			continue
		}
		by, ok := r.perChannel(in[1-k], r.facts.Shapes[e])
		if !ok || !r.only(e) || !together(e.Node, n) || !r.exact(e) {
			continue
		}
		switch conv := e.Node; conv.Op {
		case nn.Convolution.Op:
			if variables(conv.In[1:]) {
				p := conv.Params.(nn.ConvolutionParams)
				fold := nn.FoldAffineParams{Steps: step, NoBias: p.NoBias}
				return r.affine(n, conv, nn.FusedConvolutionOf(p), fold,
					slices.Insert(slices.Clone(conv.In[1:]), 1, by))
			}
		case nn.FusedConvolution.Op:
			p, w := conv.Params.(nn.FusedConvolutionParams), conv.In[1].Node
			if !p.ReLU && w.Op == nn.FoldAffine.Op {
				fold := w.Params.(nn.FoldAffineParams)
				from := slices.Insert(slices.Clone(w.In), 1+len(fold.Steps), by)
				fold.Steps += step
				return r.affine(n, conv, p, fold, from)
			}
		}
	}
	return op.Entry{}
}

// affine makes the convolution that does the work of conv, whose parameters are p now, and of n;
// from are the inputs of the operator that folds its weight.
func (r *rewriter) affine(n, conv *op.Node, p nn.FusedConvolutionParams, fold nn.FoldAffineParams,
	from []op.Entry) op.Entry {
	w := r.joined(nn.FoldAffine.Op, fold, n, conv, from...).Node
	w.After = nil
	p.NoBias = false
	return r.joined(nn.FusedConvolution.Op, p, conv, n, conv.In[0], w.Entry(0), w.Entry(1))
}

// affineStep returns the sign of FoldAffine for the function that n is of its input k.
func affineStep(n *op.Node, k int) (string, bool) {
	switch n.Op {
	case prim.BroadcastAdd.Op:
		return "+", true
	case prim.BroadcastMul.Op:
		return "*", true
	case prim.BroadcastSub.Op:
		return []string{"-", "~"}[k], true
	case prim.BroadcastDiv.Op:
		return "/", k == 0
	}
	return "", false
}

// perChannel returns the variable that has the elements of e, if e has one element, or one for each
// channel of an array with a shape.
func (r *rewriter) perChannel(e op.Entry, shape dtype.Shape) (op.Entry, bool) {
	s, rank := r.facts.Shapes[e], len(shape)
	if !r.facts.Known(e) || !shape.Known() || rank < 2 || len(s) > rank {
		return e, false
	}
	for i, d := range s {
		if channel := i+rank-len(s) == 1; d != 1 && !(channel && d == shape[1]) {
			return e, false
		}
	}
	for !e.Node.IsVar() && e.Node.Op.Reshapes && len(e.Node.After) == 0 {
		e = e.Node.In[0]
	}
	return e, e.Node.IsVar() && r.exact(e)
}

func variables(list []op.Entry) bool {
	return !slices.ContainsFunc(list, func(e op.Entry) bool { return !e.Node.IsVar() })
}
