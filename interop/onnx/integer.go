package onnx

import (
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// operand is the constant operand of a product of integers, as gomx's quantized operators take it:
// the true weights of an output channel are q less the rest of the channel.
type operand struct {
	q     []int8
	shape dtype.Shape // output channels first
	rest  []float64   // by output channel; nil: zeros
	sums  []float64   // of the true weights of each output channel
}

// operandOf reads weights of int8 or uint8 with zero points: none, one, or one for each output
// channel. Matrices of a product on the right have their output channels on the second axis. The
// result is nil if the numbers are computed when the graph runs.
func operandOf(c *call, v, zero *value, columns bool) *operand {
	if v.fixed == nil || v.size() == 0 || v.typ != dtype.Int8 && v.typ != dtype.Uint8 ||
		zero != nil && zero.fixed == nil {
		return nil
	}
	w, err := v.ints()
	zeros := []int{0}
	if err == nil && zero != nil {
		zeros, err = zero.ints()
	}
	if err != nil {
		c.fail("%w", err)
		return nil
	}
	o := &operand{shape: v.shape.Clone()}
	if columns {
		o.shape = dtype.Shape{v.shape[1], v.shape[0]}
		w = transposed(w, v.shape[0], v.shape[1])
	}
	n := o.shape[0]
	if len(zeros) != 1 && len(zeros) != n {
		return nil
	}
	o.round(w, zeros, v.typ)
	return o
}

// transposed turns a matrix.
func transposed(w []int, rows, columns int) []int {
	t := make([]int, len(w))
	for i := range rows {
		for k := range columns {
			t[k*rows+i] = w[i*columns+k]
		}
	}
	return t
}

// round makes int8 numbers of weights of a type less their zero points. Where these do not fit, the
// rest stays beside them.
func (o *operand) round(w, zeros []int, t dtype.Type) {
	n, row := o.shape[0], len(w)/o.shape[0]
	zero := func(i int) int { return zeros[i/row%len(zeros)] }
	fits := true
	for i, v := range w {
		fits = fits && v-zero(i) >= -128 && v-zero(i) <= 127
	}
	shift := 0 // of uint8 to int8
	if t == dtype.Uint8 {
		shift = 128
	}
	o.q, o.sums = make([]int8, len(w)), make([]float64, n)
	for i, v := range w {
		o.sums[i/row] += float64(v - zero(i))
		if fits {
			shift = zero(i)
		}
		o.q[i] = int8(v - shift)
	}
	if !fits {
		o.rest = make([]float64, n)
		for k := range o.rest {
			o.rest[k] = float64(zero(k*row) - shift)
		}
	}
}

// real makes a constant of the true weights.
func (o *operand) real(c *call) *sym.Symbol {
	row := len(o.q) / o.shape[0]
	list := make([]float32, len(o.q))
	for i, v := range o.q {
		if list[i] = float32(v); o.rest != nil {
			list[i] -= float32(o.rest[i/row])
		}
	}
	return c.constant(nd.FromSlice(list, o.shape...))
}

// perChannel makes a constant of a number for each output channel, on axis 1.
func (o *operand) perChannel(c *call, list []float64) *sym.Symbol {
	shape := make([]int, max(2, len(o.shape)))
	for i := range shape {
		shape[i] = 1
	}
	shape[1] = len(list)
	return c.numbers(dtype.Float32, list, shape...)
}

// product is scale·sums + offset of uint8 data and q, as float32: a convolution, or without p a
// dense layer of rows. It has the form that package quantize makes, which executors run as one
// operator.
func (o *operand) product(c *call, x *sym.Symbol, p *sym.ConvolutionParams, scale,
	offset []float64) *sym.Symbol {
	n := len(o.q) / o.shape[1:].Size()
	weight := sym.With("weight", c.constant(nd.FromSlice(o.q, append([]int{n}, o.shape[1:]...)...)))
	low, high := c.numbers(dtype.Float32, []float64{-1}), c.numbers(dtype.Float32, []float64{1})
	var sums *sym.Symbol
	if p != nil {
		conv := *p
		conv.NumFilter, conv.NoBias = n, true
		sums = sym.ContribQuantizedConv(x, low, high, low, high, nil, nil, conv, weight)
	} else {
		sums = sym.ContribQuantizedFullyConnected(x, low, high, low, high, nil, nil,
			sym.FullyConnectedParams{NumHidden: n, NoBias: true}, weight)
	}
	y := sym.BroadcastMul(cast(sums.At(0), dtype.Float32), o.perChannel(c, scale))
	return sym.BroadcastAdd(y, o.perChannel(c, offset))
}

// total is the sums of products of uint8 data and the true weights, as float32. Where these do not
// fit in int8, a further channel sums the data.
func (o *operand) total(c *call, x *sym.Symbol, p *sym.ConvolutionParams) *sym.Symbol {
	n := o.shape[0]
	if o.rest == nil {
		return o.product(c, x, p, slices.Repeat([]float64{1}, n),
			slices.Repeat([]float64{0}, n))
	}
	wide := *o
	wide.q = slices.Concat(o.q, slices.Repeat([]int8{1}, len(o.q)/n))
	s := wide.product(c, x, p, slices.Repeat([]float64{1}, n+1),
		slices.Repeat([]float64{0}, n+1))
	return sym.BroadcastSub(cut(s, 1, 0, n), sym.BroadcastMul(cut(s, 1, n, n+1),
		o.perChannel(c, o.rest)))
}

// optional returns an input, nil if it is not given.
func optional(c *call, i int) *value {
	if !c.has(i) {
		return nil
	}
	return c.in[i]
}

// bytesProduct reports whether kernels of integers take the data at an input with a zero point.
func bytesProduct(c *call, i, zero int) bool {
	t := c.in[i].typ
	return (t == dtype.Uint8 || t == dtype.Int8) && (!c.has(zero) || c.in[zero].size() == 1) &&
		c.in[i].size() > 0
}

// zeroOf is the zero point at an input, of one element, as float32 with a number of axes; nil where
// it is not given.
func zeroOf(c *call, zero, rank int) *sym.Symbol {
	if !c.has(zero) {
		return nil
	}
	return c.reshape(cast(c.x(zero), dtype.Float32), dtype.Shape{1, 1, 1, 1, 1}[:rank])
}

// bytesOf is the data at an input as uint8, and their zero point as zeroOf gives it.
func bytesOf(c *call, i, zero int) (x, z *sym.Symbol) {
	x, z = c.x(i), zeroOf(c, zero, c.in[i].rank())
	if c.in[i].typ == dtype.Uint8 {
		return x, z
	}
	if z == nil {
		z = c.filled(dtype.Shape{1, 1, 1, 1, 1}[:c.in[i].rank()], 0, dtype.Float32)
	}
	return unsigned(x), plus(z, 128)
}

// unsigned turns int8 numbers q into uint8 numbers q + 128.
func unsigned(q *sym.Symbol) *sym.Symbol {
	return cast(plus(cast(q, dtype.Float32), 128), dtype.Uint8)
}

// kernelMatMul is the product of rows of bytes and a constant matrix at two inputs, less their zero
// points, by kernels of integers: sums as float32. It is nil where they do not take the operands.
func kernelMatMul(c *call, i, zeroI, k, zeroK int) *sym.Symbol {
	x, w := c.in[i], c.in[k]
	if !bytesProduct(c, i, zeroI) || x.rank() < 2 || w.rank() != 2 ||
		x.shape[x.rank()-1] != w.shape[0] {
		return nil
	}
	o := operandOf(c, w, optional(c, zeroK), true)
	if o == nil {
		return nil
	}
	lead := x.shape[:x.rank()-1]
	s := o.total(c, c.reshape(x.s, dtype.Shape{lead.Size(), w.shape[0]}), nil)
	if z := zeroOf(c, zeroI, 2); z != nil {
		s = sym.BroadcastSub(s, sym.BroadcastMul(o.perChannel(c, o.sums), z))
	}
	return c.reshape(s, append(lead.Clone(), w.shape[1]))
}

// kernelConv is integerConv of bytes and constant weights by kernels of integers. It is nil
// where they do not take the operands.
func kernelConv(c *call, i, zeroI, k, zeroK int, w win) *sym.Symbol {
	x, group := c.in[i], c.num("group", 1)
	if !bytesProduct(c, i, zeroI) || x.rank() != 4 && x.rank() != 5 {
		return nil
	}
	o := operandOf(c, c.in[k], optional(c, zeroK), false)
	if o == nil || o.rest != nil && group != 1 {
		return nil
	}
	ones := onesOf(c, x, w)
	data, zero := bytesOf(c, i, zeroI)
	s := padded(c, data, &w, 0)
	p := &sym.ConvolutionParams{Kernel: w.kernel, Stride: w.stride, Dilate: w.dilation,
		Pad: w.before, NumFilter: o.shape[0], NumGroup: group, NoBias: true}
	y := o.total(c, s, p)
	if zero == nil {
		return y
	}
	return sym.BroadcastSub(y, sym.BroadcastMul(o.weightsIn(c, ones, p), zero))
}

// onesOf is one output's data of a convolution with ones in their place, padded as windows w say.
func onesOf(c *call, data *value, w win) *sym.Symbol {
	return padded(c, c.filled(append(dtype.Shape{1}, data.shape[1:]...), 1, dtype.Float32),
		&win{before: slices.Clone(w.before), after: slices.Clone(w.after)}, 0)
}

// weightsIn sums the true weights of each output channel that meet data and not padding: a constant
// of the shape of one output.
func (o *operand) weightsIn(c *call, ones *sym.Symbol, p *sym.ConvolutionParams) *sym.Symbol {
	return folded(c, sym.Convolution(ones, *p, sym.With("weight", o.real(c))))
}
