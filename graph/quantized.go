package graph

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/quant"
)

// FuseQuantized makes one operator of a product of integers and of all that follows up to the next
// integers: the product, the factors and offsets of its channels, a sum with integers, a rectifier
// and the quantization. Quantized operators between products that have known ranges become
// operators on bytes.
func FuseQuantized(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	q := &quantizer{rewriter: r, ranges: map[op.Entry]extent{}}
	for _, n := range order {
		in := r.now(n.In)
		switch {
		case n.IsVar():
			r.keep(n, in)
		case q.ranged(n, in):
		default:
			r.visit(n, q.rule)
		}
	}
	return r.now(outs), r.changes
}

// extent is the range that integers stand for.
type extent struct{ low, high float32 }

func (x extent) magnitude() float32 { return max(x.high, -x.low) }

// quantizer is the state of FuseQuantized.
type quantizer struct {
	*rewriter
	ranges map[op.Entry]extent // ranges of new entries of integers, where they are known
}

// ranged rewrites an operator of three outputs whose range is known: its readers get constants in
// the place of the ends of the range.
func (q *quantizer) ranged(n *op.Node, in []op.Entry) bool {
	var x extent
	var e op.Entry
	switch n.Op {
	case quant.QuantizeV2.Op:
		p := n.Params.(quant.QuantizeV2Params)
		if !p.MinCalibRange.IsSet() || !p.MaxCalibRange.IsSet() ||
			q.facts.Types[n.In[0]] != dtype.Float32 {
			return false
		}
		x = extent{float32(p.MinCalibRange.Value()), float32(p.MaxCalibRange.Value())}
		t := q.facts.Types[n.Entry(0)]
		if t == dtype.Int8 {
			x = extent{-x.magnitude(), x.magnitude()}
		}
		e = q.quantize(n, in[0], t, x)
	case quant.Pooling.Op, quant.Flatten.Op, quant.Concat.Op:
		var ok bool
		if x, ok = q.ranges[in[0]]; !ok {
			return false
		}
		if e = q.move(n, in, x); !e.Valid() {
			return false
		}
	default:
		return false
	}
	q.changes++
	q.facts.note(Change{Node: n.Name, Before: describe(n, in), After: describeEntry(e)})
	q.become(n.Entry(0), e)
	q.nodes[n] = e.Node
	q.ranges[e] = x
	for i, v := range []float32{x.low, x.high} {
		c := prim.Full.Node(prim.FullParams{Shape: []int{1}, DType: dtype.Float32,
			Value: float64(v)})
		c.Name = n.Name + []string{"_min", "_max"}[i]
		q.become(n.Entry(i+1), c.Entry(0))
	}
	return true
}

// move makes the operator on bytes that does the same as n.
func (q *quantizer) move(n *op.Node, in []op.Entry, x extent) op.Entry {
	var m *op.Node
	switch n.Op {
	case quant.Pooling.Op:
		m = q.copied(n, in)
	case quant.Flatten.Op:
		m = prim.Flatten.Node(op.NoParams{}, in[0])
	default:
		p := n.Params.(quant.QuantizedConcatParams)
		for k := range p.NumArgs {
			if y, ok := q.ranges[in[k]]; !ok || y != x || y.low > 0 || y.high < 0 ||
				q.facts.Types[n.In[k]] != q.facts.Types[n.Entry(0)] {
				return op.Entry{}
			}
		}
		m = prim.Concat.Node(prim.ConcatParams{NumArgs: p.NumArgs, Dim: p.Dim}, in[:p.NumArgs]...)
	}
	if m.Name == "" {
		m.Name, m.Attrs, m.Site = n.Name, n.Attrs, n.Site
	}
	return m.Entry(0)
}

// quantize makes integers of e: by the product that computes e, if n alone reads it.
func (q *quantizer) quantize(n *op.Node, e op.Entry, t dtype.Type, x extent) op.Entry {
	p, product, sum := q.behind(n, e)
	if product == nil {
		return q.shifted(n, e, t, x)
	}
	p.OutType, p.Scale = t.String(), op.Some(float64(quant.RangeOf(t)/x.magnitude()))
	in := product.In
	if p.Sum {
		in = append(in[:len(in):len(in)], sum)
	}
	return q.joined(quant.FusedProduct.Op, p, product, n, in...)
}

// shifted makes integers of e together with the zeros around the image and the shift behind them,
// if e is made so.
func (q *quantizer) shifted(n *op.Node, e op.Entry, t dtype.Type, x extent) op.Entry {
	shift := e.Node
	if shift.Op != prim.PlusScalar.Op || !q.only(e) || !together(shift, n) {
		return q.copied(n, []op.Entry{e}).Entry(0)
	}
	p := quant.FusedQuantizeParams{OutType: t.String(),
		Scale: op.Some(float64(quant.RangeOf(t) / x.magnitude())),
		Shift: shift.Params.(prim.ScalarParams).Scalar}
	in := shift.In[0]
	if pad := in.Node; pad.Op == nn.Pad.Op && q.only(in) && together(pad, n) {
		if v := pad.Params.(nn.PadParams); v.Mode == "constant" && v.ConstantValue == 0 {
			p.PadWidth, in = v.PadWidth, pad.In[0]
		}
	}
	return q.joined(quant.FusedQuantize.Op, p, shift, n, in)
}

// behind finds the product that computes e for n alone, perhaps with a sum with integers and a
// rectifier behind it.
func (q *quantizer) behind(n *op.Node, e op.Entry) (p quant.FusedProductParams, product *op.Node,
	sum op.Entry) {
	if p, ok := q.product(e, n); ok {
		return p, e.Node, sum
	}
	add, relu := e, false
	if q.only(e) && together(e.Node, n) && rectifies(e.Node) {
		add, relu = e.Node.In[0], true
	}
	if !q.only(add) || add.Node.Op != prim.ElemwiseAdd.Op || !together(add.Node, n) {
		return p, nil, sum
	}
	for k, one := range add.Node.In {
		other := add.Node.In[1-k].Node
		p, ok := q.product(one, n)
		if !ok || p.ReLU || other.Op != quant.Dequantize.Op {
			continue
		}
		x, known := q.ranges[other.In[0]]
		t, typed := q.facts.Types[other.In[0]]
		if !known || !typed {
			continue
		}
		p.Sum, p.ReLU = true, relu
		p.SumStep = op.Some(float64(x.magnitude() / quant.RangeOf(t)))
		return p, one.Node, other.In[0]
	}
	return p, nil, sum
}

// product returns the parameters of the fused product of float32 outputs that computes e for n
// alone.
func (q *quantizer) product(e op.Entry, n *op.Node) (p quant.FusedProductParams, ok bool) {
	if e.Node.Op != quant.FusedProduct.Op || !q.only(e) || !together(e.Node, n) {
		return p, false
	}
	p = e.Node.Params.(quant.FusedProductParams)
	return p, p.OutType == "float32"
}

// rule begins fused products at the sum with the offsets, and gives them rectifiers.
func (q *quantizer) rule(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if rectifies(n) {
		if p, ok := q.product(in[0], n); ok {
			p.ReLU = true
			return r.joined(quant.FusedProduct.Op, p, in[0].Node, n, in[0].Node.In...)
		}
	}
	if n.Op == prim.PlusScalar.Op {
		return q.moved(n, in[0])
	}
	if n.Op != prim.BroadcastAdd.Op || !r.only(in[0]) || in[0].Node.Op != prim.BroadcastMul.Op ||
		!together(in[0].Node, n) {
		return op.Entry{}
	}
	mul := in[0].Node
	sums, ok := q.sums(mul.In[0], n)
	if !ok || !q.perChannel(mul.In[1], sums) || !q.perChannel(in[1], sums) {
		return op.Entry{}
	}
	product := sums.Node
	p := quant.FusedProductParams{OutType: "float32", NumGroup: 1}
	switch c := product.Params.(type) {
	case nn.ConvolutionParams:
		if !c.NoBias || len(c.Kernel) < 2 {
			return op.Entry{}
		}
		p.NumGroup = c.NumGroup
		p.Kernel, p.Stride, p.Dilate, p.Pad = c.Kernel, c.Stride, c.Dilate, c.Pad
		p.NumFilter = c.NumFilter
	case nn.FullyConnectedParams:
		if !c.NoBias || c.NoFlatten {
			return op.Entry{}
		}
		p.NumFilter = c.NumHidden
	}
	return r.joined(quant.FusedProduct.Op, p, product, n, product.In[0], product.In[1], mul.In[1],
		in[1])
}

// moved adds a number to the offsets of a fused product that n alone reads, as it stands before a
// quantization with a zero point.
func (q *quantizer) moved(n *op.Node, e op.Entry) op.Entry {
	p, ok := q.product(e, n)
	if !ok || p.ReLU {
		return op.Entry{}
	}
	in := slices.Clone(e.Node.In)
	last := len(in) - 1
	m := prim.PlusScalar.Node(n.Params.(prim.ScalarParams), in[last])
	m.Name = n.Name + "_offset"
	q.facts.copy(m.Entry(0), in[last])
	in[last] = m.Entry(0)
	return q.joined(quant.FusedProduct.Op, p, e.Node, n, in...)
}

// sums finds the product whose sums e has as float32, for n alone.
func (q *quantizer) sums(e op.Entry, n *op.Node) (op.Entry, bool) {
	const limit = 1 << 31
	if e.Node.Op == prim.Clip.Op && q.only(e) { // sums are inside of these limits anyway
		if c := e.Node.Params.(prim.ClipParams); c.AMin > -limit || c.AMax < limit {
			return e, false
		}
		e = e.Node.In[0]
	}
	if e.Node.Op != prim.Cast.Op || !q.only(e) ||
		e.Node.Params.(prim.CastParams).DType != dtype.Float32 {
		return e, false
	}
	e = e.Node.In[0]
	o := e.Node.Op
	return e, (o == quant.Convolution.Op || o == quant.FullyConnected.Op) && e.Index == 0 &&
		q.only(e) && together(e.Node, n)
}

// perChannel reports whether e has one float32 number for each channel of sums, on axis 1.
func (q *quantizer) perChannel(e, sums op.Entry) bool {
	s, y := q.facts.Shapes[e], q.facts.Shapes[sums]
	return len(s) == len(y) && len(s) > 1 && s.Known() && y.Known() && s.Size() == y[1] &&
		s[1] == y[1] && q.facts.Types[e] == dtype.Float32
}
