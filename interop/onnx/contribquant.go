package onnx

import (
	"math"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// contribQuantRows are quantized operators of the domain com.microsoft. They compute with the
// numbers that the integers stand for, and round the result.
var contribQuantRows = map[string]row{
	"com.microsoft:QLinearAdd": {4, qLinearPair(sym.BroadcastAdd)},
	"com.microsoft:QLinearMul": {4, qLinearPair(sym.BroadcastMul)},
	"com.microsoft:QLinearSigmoid": {2, qLinear(func(c *call) []*sym.Symbol {
		return out(sym.Sigmoid(c.x(0)))
	})},
	"com.microsoft:QLinearLeakyRelu": {2, qLinear(func(c *call) []*sym.Symbol {
		return out(sym.LeakyReLU(c.x(0), sym.LeakyReLUParams{ActType: "leaky",
			Slope: sym.Some(c.float("alpha", 0.01))}))
	})},
	"com.microsoft:QLinearAveragePool":       {2, qLinear(channelsSecond(averagePool))},
	"com.microsoft:QLinearGlobalAveragePool": {2, qLinear(channelsSecond(globalPool("avg")))},
	"com.microsoft:QLinearConcat":            {1, qLinearConcat},
	"com.microsoft:QGemm":                    {6, qGemm},
	"com.microsoft:DynamicQuantizeMatMul":    {3, dynamicMatMul},
	"com.microsoft:MatMulIntegerToFloat":     {4, matMulToFloat},
	"com.microsoft:DynamicQuantizeLSTM":      {3, dynamicLSTM},
}

// real32 is the array of numbers that an input of integers stands for. Its scale and its zero point
// are one number each at two inputs; the zero point may be absent.
func real32(c *call, i, scale, zero int) *sym.Symbol {
	x := cast(c.x(i), dtype.Float32)
	if c.has(zero) {
		x = sym.BroadcastSub(x, oneNumber(c, zero))
	}
	return sym.BroadcastMul(x, oneNumber(c, scale))
}

// oneNumber is an input of one element, as float32 of shape (1).
func oneNumber(c *call, i int) *sym.Symbol {
	if !c.has(i) || c.in[i].size() != 1 {
		c.fail("input %d is to be one number", i)
		return c.filled(dtype.Shape{1}, 1, dtype.Float32)
	}
	return c.reshape(cast(c.x(i), dtype.Float32), dtype.Shape{1})
}

// requantized rounds a result by the scale and the zero point at two inputs, to the type of the
// zero point, or of the first input without one.
func requantized(c *call, s *sym.Symbol, scale, zero int, t dtype.Type) []*sym.Symbol {
	var z *sym.Symbol
	if c.has(zero) {
		z, t = oneNumber(c, zero), c.in[zero].typ
	}
	return out(quantized(c, s, oneNumber(c, scale), z, t))
}

// qLinearPair makes an importer of a function of two arrays. The inputs are two arrays and the
// result, each with scale and zero point.
func qLinearPair(f func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol) importer {
	return func(c *call) []*sym.Symbol {
		c.elementwise()
		return requantized(c, f(real32(c, 0, 1, 2), real32(c, 3, 4, 5)), 6, 7, c.in[0].typ)
	}
}

// qLinear makes an importer of an operator of one array, whose scale and zero point follow, and
// those of the result.
func qLinear(f importer) importer {
	return func(c *call) []*sym.Symbol {
		v := *c.in[0]
		v.s, v.typ, v.fixed = real32(c, 0, 1, 2), dtype.Float32, nil
		d := derived(c, []*value{&v})
		outs := f(d)
		if d.err != nil || c.err != nil || len(outs) == 0 {
			return c.fail("%w", d.err)
		}
		return requantized(c, outs[0], 3, 4, c.in[0].typ)
	}
}

// channelsSecond refuses data with the channels on the last axis.
func channelsSecond(f importer) importer {
	return func(c *call) []*sym.Symbol {
		if c.num("channels_last", 0) != 0 {
			return c.fail("channels_last, want the channels on the second axis")
		}
		return f(c)
	}
}

// qLinearConcat has scale and zero point of the result, then arrays with theirs.
func qLinearConcat(c *call) []*sym.Symbol {
	if (len(c.in)-2)%3 != 0 || !c.has(2) {
		return c.fail("%d inputs, want 2 and a multiple of 3", len(c.in))
	}
	a := c.axis(c.num("axis", 0), c.in[2].rank())
	var parts []*sym.Symbol
	for i := 2; i < len(c.in); i += 3 {
		parts = append(parts, real32(c, i, i+1, i+2))
	}
	s := sym.Concat(parts, sym.ConcatParams{Dim: sym.Some(a)})
	return requantized(c, s, 0, 1, c.in[2].typ)
}

// qGemm has the inputs a, scale, zero point, b, scale, zero point, an offset of int32 in steps of the
// sums, and scale and zero point of the result, without which it is float32.
func qGemm(c *call) []*sym.Symbol {
	if c.in[0].rank() != 2 || c.in[3].rank() != 2 {
		return c.fail("shapes %v and %v, want matrices", c.in[0].shape, c.in[3].shape)
	}
	ta, tb := c.num("transA", 0) != 0, c.num("transB", 0) != 0
	if outs := linearGemm(c, ta, tb); outs != nil {
		return outs
	}
	s := sym.Dot(shifted(c, 0, 2, ta), shifted(c, 3, 5, !tb),
		sym.DotParams{TransposeA: ta, TransposeB: tb})
	if c.has(6) {
		s = sym.BroadcastAdd(s, cast(c.x(6), dtype.Float32))
	}
	step := c.reshape(cast(c.x(4), dtype.Float32), dtype.Shape{c.in[4].size()})
	s = times(sym.BroadcastMul(s, sym.BroadcastMul(oneNumber(c, 1), step)), c.float("alpha", 1))
	if !c.has(7) {
		return out(s)
	}
	return requantized(c, s, 7, 8, c.in[0].typ)
}

// linearGemm is qGemm with known scales and zero points by kernels of integers; nil where they do
// not take the operands.
func linearGemm(c *call, ta, tb bool) []*sym.Symbol {
	axis := 1
	if tb {
		axis = 0
	}
	d := linearCall(c, axis, 6)
	if d == nil || ta || c.float("alpha", 1) != 1 {
		return nil
	}
	y := codedRows(d, !tb)
	switch {
	case y == nil || d.err != nil:
		return nil
	case c.has(7):
		return linearOut(c, y, 7)
	}
	return out(y)
}

// integerProduct multiplies two arrays of integers less their zero points. The scale of the second
// one is a number, or one for each column.
func integerProduct(c *call, a, scaleA *sym.Symbol, b, scaleB, zeroB, bias int) []*sym.Symbol {
	s := c.matMul(a, c.in[0].shape, shifted(c, b, zeroB, true), c.in[b].shape)
	s = sym.BroadcastMul(sym.BroadcastMul(s, scaleA), cast(c.x(scaleB), dtype.Float32))
	if c.has(bias) {
		s = sym.BroadcastAdd(s, c.x(bias))
	}
	return out(s)
}

// dynamicMatMul rounds the first array to integers by its range. The inputs are a, b, scale and
// zero point of b, and a bias.
func dynamicMatMul(c *call) []*sym.Symbol {
	d := derived(c, c.in[:1])
	if dynamicQuantize(d); d.err != nil {
		return c.fail("%w", d.err)
	}
	y, scale, zero := d.direct[0].s, d.direct[1].s, d.direct[2].s
	a := sym.BroadcastSub(cast(y, dtype.Float32), cast(zero, dtype.Float32))
	return integerProduct(c, a, scale, 1, 2, 3, 4)
}

// matMulToFloat has the inputs a, b, their scales, their zero points, and a bias.
func matMulToFloat(c *call) []*sym.Symbol {
	return integerProduct(c, shifted(c, 0, 4, false), oneNumber(c, 2), 1, 3, 5, 6)
}

// dynamicLSTM is an LSTM with weights of integers, whose matrices are transposed and whose scales
// and zero points follow the inputs of LSTM. The inputs as a whole, and the states of each step,
// are rounded to 8 bits of their range before they are multiplied by weights, as ONNX Runtime does.
func dynamicLSTM(c *call) []*sym.Symbol {
	if !c.has(8) || !c.has(10) {
		return c.fail("no scales of the weights, want them as inputs 8 and 10")
	}
	in, weights := append([]*value(nil), c.in[:8]...), &known{}
	for i := 1; i <= 2; i++ {
		v := c.in[i]
		scale := c.in[6+2*i].shape
		if v.rank() != 3 || len(scale) < 1 || len(scale) > 2 || scale[0] != v.shape[0] {
			return c.fail("weights of shape %v with scales of shape %v, want (directions, inputs, "+
				"gates) and (directions) or (directions, gates)", v.shape, scale)
		}
		per := func(k int) *sym.Symbol {
			shape := dtype.Shape{scale[0], 1, 1}
			if len(scale) == 2 {
				shape[2] = scale[1]
			}
			return c.reshape(cast(c.x(k), dtype.Float32), shape)
		}
		w := cast(c.x(i), dtype.Float32)
		if c.has(7 + 2*i) {
			w = sym.BroadcastSub(w, per(7+2*i))
		}
		w = sym.BroadcastMul(w, per(6+2*i))
		in[i] = made(c, sym.SwapAxis(w, sym.SwapAxisParams{Dim1: 1, Dim2: 2}))
		weights.weights[i] = knownGates(c, i)
	}
	if c.err != nil {
		return nil
	}
	x := c.in[0].shape
	y, scale, zero := byRange(c.x(0))
	if len(x) == 3 {
		weights.rows = c.reshape(cast(y, dtype.Uint8), dtype.Shape{x[0] * x[1], x[2]})
	}
	one := dtype.Shape{1, 1}
	weights.scale, weights.zero = c.reshape(scale, one), c.reshape(zero, one)
	in[0] = made(c, sym.BroadcastMul(sym.BroadcastSub(y, zero), scale))
	d := derived(c, in)
	outs := recurrence("lstm", 4, lstmActivations, weights)(d)
	if d.err != nil {
		return c.fail("%w", d.err)
	}
	return outs
}

// knownGates are the weights of dynamicLSTM at an input, for each direction: integers where they fit
// into 8 bits. It is nil where they are computed when the graph runs.
func knownGates(c *call, i int) (list []*gates) {
	v, scale, zero := c.in[i], c.in[6+2*i], optional(c, 7+2*i)
	if v.fixed == nil || scale.fixed == nil || zero != nil && zero.fixed == nil ||
		zero != nil && !zero.shape.Equal(scale.shape) || 4*v.size() > c.im.budget {
		return nil
	}
	c.im.budget -= 4 * v.size()
	q, err := v.ints()
	if err != nil {
		c.fail("%w", err)
		return nil
	}
	steps, err := scale.floats()
	zeros := make([]int, len(steps))
	if err == nil && zero != nil {
		zeros, err = zero.ints()
	}
	if err != nil {
		c.fail("%w", err)
		return nil
	}
	rows, columns, per := v.shape[2], v.shape[1], len(steps)/v.shape[0]
	if per != 1 && per != rows {
		c.fail("%d scales of %d gates", per, rows)
		return nil
	}
	for d := range v.shape[0] {
		all, scales := make([]int, rows*columns), make([]float32, rows)
		for r := range rows {
			at := d*per + r%per
			scales[r] = float32(steps[at])
			for k := range columns {
				all[r*columns+k] = q[(d*columns+k)*rows+r] - zeros[at]
			}
		}
		list = append(list, gatesOf(c, all, scales, i))
	}
	return list
}

// gatesOf makes constants of integers (gates, inputs) with a scale for each gate. Those at input 1
// are multiplied by integers, and those at input 2 by states.
func gatesOf(c *call, all []int, scales []float32, i int) *gates {
	rows, columns := len(scales), len(all)/len(scales)
	if slices.Min(all) < math.MinInt8 || slices.Max(all) > math.MaxInt8 ||
		i == 1 && c.num("layout", 0) != 0 {
		real := make([]float32, len(all))
		for k, n := range all {
			real[k] = float32(n) * scales[k/columns]
		}
		return &gates{real: c.constant(nd.FromSlice(real, rows, columns))}
	}
	o := &operand{q: make([]int8, len(all)), shape: dtype.Shape{rows, columns},
		sums: make([]float64, rows)}
	steps := make([]float64, rows)
	for k, n := range all {
		o.q[k] = int8(n)
		o.sums[k/columns] += float64(n)
		steps[k/columns] = float64(scales[k/columns])
	}
	return &gates{whole: o, steps: steps}
}
