package export

import (
	"math"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/quant"
)

// codedLayer is a product of integers with the operators that make real numbers of its sums, as
// package quantize composes them: sums·scale + offset, both by output channel.
type codedLayer struct {
	product       *op.Node
	scale, offset []float64
}

// codedLayer finds the layer that n ends; nil if n ends none.
func (ex *exporting) codedLayer(n *op.Node) *codedLayer {
	if n.Op != prim.BroadcastAdd.Op || n.In[0].Node.IsVar() ||
		n.In[0].Node.Op != prim.BroadcastMul.Op {
		return nil
	}
	mul := n.In[0].Node
	e := mul.In[0]
	if m := e.Node; !m.IsVar() && m.Op == prim.Clip.Op { // sums are inside of these limits anyway
		if p := m.Params.(prim.ClipParams); p.AMin > -1<<31 || p.AMax < 1<<31 {
			return nil
		}
		e = m.In[0]
	}
	if e.Node.IsVar() || e.Node.Op != prim.Cast.Op || ex.values[e].typ != dtype.Float32 {
		return nil
	}
	e = e.Node.In[0]
	if e.Index != 0 || e.Node.IsVar() || !noBias(e.Node) || ex.array(e.Node.In[1]) == nil {
		return nil
	}
	l := &codedLayer{product: e.Node, scale: ex.channels(mul.In[1], e),
		offset: ex.channels(n.In[1], e)}
	if _, ok := ex.codings[ex.values[e.Node.In[0]].name]; !ok || l.scale == nil ||
		l.offset == nil || slices.Min(l.scale) <= 0 {
		return nil
	}
	return l
}

// noBias reports whether n is a product of integers without a bias.
func noBias(n *op.Node) bool {
	switch p := n.Params.(type) {
	case nn.ConvolutionParams:
		return n.Op == quant.Convolution.Op && p.NoBias
	case nn.FullyConnectedParams:
		return n.Op == quant.FullyConnected.Op && p.NoBias
	}
	return false
}

// array is the value of a parameter, nil for other entries.
func (ex *exporting) array(e op.Entry) *nd.Array {
	if !e.Node.IsVar() {
		return nil
	}
	return ex.fixed[e.Node.Name]
}

// channels reads a parameter of one number for each output channel of sums; nil where it is not so.
func (ex *exporting) channels(e, sums op.Entry) []float64 {
	a, y := ex.array(e), ex.values[sums].shape
	axis := 1
	if p, ok := sums.Node.Params.(nn.FullyConnectedParams); ok && p.NoFlatten {
		axis = len(y) - 1
	}
	if a == nil || len(a.Shape()) > len(y) || a.Size() != y[axis] {
		return nil
	}
	if k := axis - len(y) + len(a.Shape()); k < 0 || a.Shape()[k] != y[axis] {
		return nil
	}
	list, err := nd.Values[float64](nd.Cast(a, nd.CastParams{DType: dtype.Float64}))
	if err != nil {
		return nil
	}
	return list
}

// export makes a float32 operator between DequantizeLinear of its operands. The offsets become
// biases of int32 in steps of the sums, as runtimes want them.
func (l *codedLayer) export(c *call) []value {
	q, d, pad := l.data(c)
	n := len(l.scale)
	steps := make([]float64, n)
	for k, v := range l.scale {
		steps[k] = v / d.scale
	}
	w := c.ex.values[l.product.In[1]]
	weight := realBy(c, w, steps)
	bias := bias(c, l.biases(c, d), l.scale)
	x := c.real(q, c.scalar(dtype.Float32, d.scale), d.zero)
	out := c.out(0)
	if p, ok := l.product.Params.(nn.ConvolutionParams); ok {
		return one(c.convolve("Conv", p, pad, out, x, weight, bias))
	}
	return dense(c, n, x, weight, bias)
}

// data returns the integers of the layer, their coding, and the padding of a convolution on both
// sides of each axis. Zeros that pad an image before it is quantized count as padding of the layer.
func (l *codedLayer) data(c *call) (q value, d coding, pad []int) {
	e := l.product.In[0]
	q = c.ex.values[e]
	d = c.ex.codings[q.name]
	p, isConv := l.product.Params.(nn.ConvolutionParams)
	if !isConv {
		dense := l.product.Params.(nn.FullyConnectedParams)
		return c.rowsOf(q, dense.NoFlatten), d, nil
	}
	pad = perAxis(p.Pad, len(p.Kernel), 0)
	if d.zero == 0 || e.Node.Op != quant.QuantizeV2.Op {
		return q, d, pad
	}
	around := e.Node.In[0].Node.In[0].Node // behind the sum with the zero point
	if around.IsVar() || around.Op != nn.Pad.Op {
		return q, d, pad
	}
	v := around.Params.(nn.PadParams)
	if v.Mode != "constant" || v.ConstantValue != 0 || slices.Max(v.PadWidth[:4]) > 0 {
		return q, d, pad
	}
	for i := range pad {
		if v.PadWidth[4+2*i] != v.PadWidth[5+2*i] || pad[i] != 0 {
			return q, d, make([]int, len(pad))
		}
		pad[i] = v.PadWidth[4+2*i]
	}
	x := c.ex.values[around.In[0]]
	return c.quantized(x, c.scalar(dtype.Float32, d.scale), d.zero, q.typ), d, pad
}

// biases are the offsets without the part of the zero point of the data.
func (l *codedLayer) biases(c *call, d coding) []float64 {
	list := slices.Clone(l.offset)
	if d.zero == 0 {
		return list
	}
	w, err := nd.Values[int8](c.ex.array(l.product.In[1]))
	if err != nil {
		c.fail("%v", err)
		return list
	}
	row := len(w) / len(list)
	for k := range list {
		sum := 0.0
		for _, v := range w[k*row : (k+1)*row] {
			sum += float64(v)
		}
		list[k] += d.zero * sum * l.scale[k]
	}
	return list
}

// realBy adds DequantizeLinear of weights of int8 with a step for each index of the first axis. ONNX
// Runtime wants zero points of each weight's own: it replaces them together with the weight.
func realBy(c *call, w value, steps []float64) value {
	n := dtype.Shape{len(steps)}
	zeros := c.initializer(value{w.name + "_zero", n, dtype.Int8}, make([]byte, len(steps)))
	return c.add("DequantizeLinear", w.shape, dtype.Float32, []value{w,
		c.constant(dtype.Float32, n, steps...), zeros}, num("axis", 0))
}

// bias rounds numbers to steps and adds DequantizeLinear of the integers; numbers of too many steps
// stay float32.
func bias(c *call, numbers, steps []float64) value {
	n := dtype.Shape{len(numbers)}
	list := make([]float64, len(numbers))
	for k, v := range numbers {
		if list[k] = math.RoundToEven(v / steps[k]); math.Abs(list[k]) >= 1<<31 {
			return c.constant(dtype.Float32, n, numbers...)
		}
	}
	return c.add("DequantizeLinear", n, dtype.Float32, []value{c.constant(dtype.Int32, n, list...),
		c.constant(dtype.Float32, n, steps...)}, num("axis", 0))
}

// weightOnly multiplies by weights that DequantizeLinear makes of integers of 8 bits; integers of 4
// bits become such.
func weightOnly(c *call, p quant.WeightOnlyParams) []value {
	w, scale := c.x(1), c.ex.array(c.node.In[2])
	codes := c.ex.array(c.node.In[1])
	if scale == nil || codes == nil {
		return c.fail("weights that are no parameters")
	}
	steps, err := nd.Values[float32](scale)
	if err != nil {
		return c.fail("%v", err)
	}
	if p.Bits == 4 {
		packed, err := nd.Values[uint8](codes)
		if err != nil {
			return c.fail("%v", err)
		}
		w = c.constant(dtype.Int8, dtype.Shape{p.NumHidden, 2 * w.shape[1]}, unpacked(packed)...)
	}
	shape := w.shape
	numbers := make([]float64, len(steps))
	for i, v := range steps {
		numbers[i] = float64(v)
	}
	w = c.reshape(w, dtype.Shape{len(steps), shape.Size() / max(1, len(steps))})
	w = c.reshape(realBy(c, w, numbers), shape)
	x := c.rowsOf(c.x(0), p.NoFlatten)
	in := []value{x, w}
	if !p.NoBias {
		in = append(in, c.reshape(c.x(3), dtype.Shape{p.NumHidden}))
	}
	return dense(c, p.NumHidden, in...)
}

// unpacked reads integers of 4 bits: each 16 bytes have 16 columns in their low bits, and then 16 in
// their high ones.
func unpacked(packed []uint8) []float64 {
	list := make([]float64, 0, 2*len(packed))
	signed := func(b uint8) float64 { return float64(int(b&15^8) - 8) }
	for part := range slices.Chunk(packed, quant.PackedColumns/2) {
		for _, b := range part {
			list = append(list, signed(b))
		}
		for _, b := range part {
			list = append(list, signed(b>>4))
		}
	}
	return list
}
