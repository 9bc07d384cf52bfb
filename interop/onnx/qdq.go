package onnx

import (
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// coding says which numbers integers stand for: scale·(q - zero). A result of DequantizeLinear has
// one, and operators that gomx computes with integers read these instead. Only one scale and zero
// point for the whole array have a coding, or constants with one for each channel.
type coding struct {
	q     *value // the integers
	scale []float64
	zero  *value      // nil: zeros
	axis  int         // of several scales
	real  *sym.Symbol // the numbers that q was made of; nil: not known
}

// one reports whether the array has one scale, and one zero point, which it returns.
func (d *coding) one() (scale, zero float64, ok bool) {
	if d == nil || len(d.scale) != 1 || d.scale[0] <= 0 {
		return 0, 0, false
	}
	if d.zero == nil {
		return d.scale[0], 0, true
	}
	z, err := d.zero.floats()
	if err != nil || len(z) != 1 {
		return 0, 0, false
	}
	return d.scale[0], z[0], true
}

// codingOf returns the coding by the scale at input 1 and the zero point at input 2 for integers;
// nil where they are computed when the graph runs, or are not of 8 bits.
func codingOf(c *call, q *value) *coding {
	if q.typ != dtype.Int8 && q.typ != dtype.Uint8 || q.format != nil || c.in[1].fixed == nil ||
		c.in[1].typ != dtype.Float32 || c.num("block_size", 0) != 0 {
		return nil
	}
	scale, err := c.in[1].floats()
	if err != nil || c.has(2) && c.in[2].fixed == nil {
		return nil
	}
	return &coding{q: q, scale: scale, zero: optional(c, 2), axis: c.num("axis", 1)}
}

// rounds makes integers of a type of x: x/scale + zero, rounded halves to even and limited.
func rounds(x *sym.Symbol, scale, zero float64, t dtype.Type) *sym.Symbol {
	if zero != 0 {
		x = plus(x, zero*scale)
	}
	p := sym.QuantizeV2Params{OutType: "uint8", MinCalibRange: op.Some(0.0),
		MaxCalibRange: op.Some(255.5 * scale)}
	if t == dtype.Int8 {
		p = sym.QuantizeV2Params{OutType: "int8", MinCalibRange: op.Some(-127.5 * scale),
			MaxCalibRange: op.Some(127.5 * scale)}
	}
	return sym.ContribQuantizeV2(x, p)
}

// quantizeByKernel is QuantizeLinear of float32 with a known scale by gomx's operator; nil where
// that does not do.
func quantizeByKernel(c *call, t dtype.Type) []*sym.Symbol {
	v := c.in[0]
	d := codingOf(c, &value{typ: t})
	scale, zero, ok := d.one()
	if !ok || v.typ != dtype.Float32 || v.rank() == 0 || v.fixed != nil || v.size() == 0 {
		return nil
	}
	if have := v.coding; have != nil && have.q.typ == t {
		if s, z, ok := have.one(); ok && s == scale && z == zero {
			c.direct = []*value{have.q} // the numbers are steps of this scale already
			return nil
		}
	}
	c.before = v.s
	return out(rounds(v.s, scale, zero, t).At(0))
}

// dequantized notes the coding of the result of DequantizeLinear. The result is made of the three
// outputs of the quantizing operator where zero stands for 0.
func dequantized(c *call) *sym.Symbol {
	d := codingOf(c, c.in[0])
	if d == nil {
		return nil
	}
	d.real = c.in[0].real
	c.coding = d
	_, zero, ok := d.one()
	e := d.q.s.Entries()[0]
	if !ok || zero != 0 || e.Node.IsVar() || e.Node.NumOutputs() != 3 {
		return nil
	}
	return sym.ContribDequantize(d.q.s, sym.FromEntries(e.Node.Entry(1)),
		sym.FromEntries(e.Node.Entry(2)), sym.DequantizeParams{})
}

// bytes returns the integers as uint8, and their zero point.
func (d *coding) bytes() (x *sym.Symbol, scale, zero float64, ok bool) {
	if scale, zero, ok = d.one(); !ok {
		return nil, 0, 0, false
	}
	switch {
	case d.q.typ == dtype.Uint8:
		return d.q.s, scale, zero, true
	case d.real != nil:
		return rounds(d.real, scale, zero+128, dtype.Uint8).At(0), scale, zero + 128, true
	}
	return unsigned(d.q.s), scale, zero + 128, true
}

// codedInput is the value at an input of an operator of QLinear's kind, whose scale and zero point are
// the next two inputs; its scales by channel lie along an axis. The coding is nil where they are
// computed when the graph runs.
func codedInput(c *call, i, axis int) *value {
	v := *c.in[i]
	if v.coding = codingOf(derived(c, c.in[i:i+3]), c.in[i]); v.coding != nil {
		v.coding.real, v.coding.axis = v.real, axis
	}
	return &v
}

// linearCall has the operands of a product of QLinear's kind, x and w with scales and zero points,
// as DequantizeLinear would give them to a product of real numbers; nil where scales, zero points or
// the bias at an input are computed when the graph runs.
func linearCall(c *call, axis, bias int) *call {
	x, w := codedInput(c, 0, 1), codedInput(c, 3, axis)
	step, _, ok := x.coding.one()
	if !ok || w.coding == nil {
		return nil
	}
	in := []*value{x, w}
	if c.has(bias) {
		list, err := c.in[bias].ints()
		if err != nil {
			return nil
		}
		real := make([]float64, len(list))
		for k, v := range list {
			real[k] = float64(v) * step * w.coding.scale[k%len(w.coding.scale)]
		}
		in = append(in, &value{shape: dtype.Shape{len(list)}, typ: dtype.Float64,
			fixed: nd.FromSlice(real)})
	}
	return derived(c, in)
}

// linearOut rounds the result of a product of QLinear's kind by the scale at an input and the zero
// point at the next one, with gomx's operator; nil where these are computed when the graph runs.
func linearOut(c *call, y *sym.Symbol, at int) []*sym.Symbol {
	if !c.has(at + 1) {
		return nil
	}
	t := c.in[at+1].typ
	d := derived(c, []*value{{typ: t}, c.in[at], c.in[at+1]})
	scale, zero, ok := codingOf(d, d.in[0]).one()
	if !ok {
		return nil
	}
	c.before = y
	return out(rounds(y, scale, zero, t).At(0))
}

// coded has the operands of a product of dequantized data and dequantized constant weights.
type coded struct {
	x             *sym.Symbol
	zero          float64
	weight        *operand
	scale, offset []float64 // by output channel; the offset is the bias
}

// codedProduct finds the operands at inputs 0, 1 and 2, nil where kernels of integers do not take
// them. The weights have their output channels on an axis; columns: they are a matrix on the right.
// Data of a convolution become uint8.
func codedProduct(c *call, axis int, columns bool) *coded {
	d := c.in[1].coding
	if d == nil || c.in[0].coding == nil || c.in[0].size() == 0 {
		return nil
	}
	p := &coded{}
	var step float64
	var ok bool
	if c.in[1].rank() == 2 { // kernels of dense layers take int8
		p.x = c.in[0].coding.q.s
		step, p.zero, ok = c.in[0].coding.one()
	} else {
		p.x, step, p.zero, ok = c.in[0].coding.bytes()
	}
	if !ok {
		return nil
	}
	if len(d.scale) > 1 && c.axis(d.axis, c.in[1].rank()) != axis {
		return nil
	}
	if p.weight = operandOf(c, d.q, d.zero, columns); p.weight == nil || p.weight.rest != nil {
		return nil
	}
	n := p.weight.shape[0]
	if len(d.scale) != 1 && len(d.scale) != n {
		return nil
	}
	p.offset = slices.Repeat([]float64{0}, n)
	if c.has(2) {
		bias, err := c.in[2].floats()
		if err != nil || len(bias) != n {
			return nil
		}
		p.offset = bias
	}
	p.scale = slices.Repeat([]float64{step}, n)
	for k := range p.scale {
		p.scale[k] *= d.scale[k%len(d.scale)]
	}
	return p
}

// shifted takes the zero point of the data out of the offsets.
func (p *coded) shifted() {
	for k := range p.offset {
		p.offset[k] -= p.zero * p.scale[k] * p.weight.sums[k]
	}
}

// codedConv is a convolution of dequantized operands by kernels of integers; nil where they do not
// take them.
func codedConv(c *call, w win) *sym.Symbol {
	if r := c.in[0].rank(); r != 4 && r != 5 || c.in[0].coding == nil {
		return nil
	}
	p := codedProduct(c, 0, false)
	if p == nil {
		return nil
	}
	edges := p.zero != 0 && slices.Max(slices.Concat(w.before, w.after)) > 0
	var ones *sym.Symbol
	if edges {
		ones = onesOf(c, c.in[0], w)
	} else {
		p.shifted()
	}
	x := padded(c, p.x, &w, 0)
	conv := &sym.ConvolutionParams{Kernel: w.kernel, Stride: w.stride, Dilate: w.dilation,
		Pad: w.before, NumFilter: p.weight.shape[0], NumGroup: c.num("group", 1), NoBias: true}
	y := p.weight.product(c, x, conv, p.scale, p.offset)
	if !edges {
		return y
	}
	by := slices.Clone(p.scale)
	for k := range by {
		by[k] *= p.zero
	}
	return sym.BroadcastSub(y, folded(c, sym.BroadcastMul(p.weight.weightsIn(c, ones, conv),
		p.weight.perChannel(c, by))))
}

// codedRows is the product of dequantized rows and a dequantized constant matrix by kernels of
// integers; nil where they do not take them.
func codedRows(c *call, columns bool) *sym.Symbol {
	x, w := c.in[0], c.in[1]
	axis := 0
	if columns {
		axis = 1
	}
	if x.coding == nil || x.rank() < 2 || w.rank() != 2 ||
		x.shape[x.rank()-1] != w.shape[1-axis] {
		return nil
	}
	p := codedProduct(c, axis, columns)
	if p == nil {
		return nil
	}
	p.shifted()
	lead := x.shape[:x.rank()-1]
	y := p.weight.product(c, c.reshape(p.x, dtype.Shape{lead.Size(), w.shape[1-axis]}), nil, p.scale,
		p.offset)
	return c.reshape(y, append(lead.Clone(), w.shape[axis]))
}

// codedMaxPool selects among the integers of dequantized data; nil where gomx's pooling does not.
func codedMaxPool(c *call, w win) *sym.Symbol {
	d := c.in[0].coding
	if r := c.in[0].rank(); r != 4 && r != 5 || d == nil {
		return nil
	}
	scale, zero, ok := d.one()
	e := d.q.s.Entries()[0]
	if !ok || e.Node.IsVar() || e.Node.NumOutputs() != 3 {
		return nil
	}
	q := sym.ContribQuantizedPooling(d.q.s, sym.FromEntries(e.Node.Entry(1)),
		sym.FromEntries(e.Node.Entry(2)), w.params("max"))
	k := c.fact(q.At(0))
	if c.err != nil {
		return nil
	}
	c.coding = &coding{q: &value{name: c.node.GetName(), s: q.At(0), shape: k.shape, typ: k.typ},
		scale: d.scale, zero: d.zero}
	if zero == 0 {
		return sym.ContribDequantize(q.At(0), q.At(1), q.At(2), sym.DequantizeParams{})
	}
	return times(plus(cast(q.At(0), dtype.Float32), -zero), float64(float32(scale)))
}

// folded makes a constant of a symbol that only constants lead to, if it is small enough.
func folded(c *call, s *sym.Symbol) *sym.Symbol {
	if c.fact(s); c.err != nil {
		return s
	}
	arrays, err := c.im.fold(out(s))
	if err != nil {
		c.fail("%w", err)
	}
	if err != nil || arrays == nil {
		return s
	}
	return c.constant(arrays[0])
}
