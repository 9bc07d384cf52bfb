package onnx

import (
	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	sym "gomx/symbol"
)

// quantRows compute with quantized numbers. Products with constant weights use gomx's quantized
// operators, all else is composed of floating-point operators; results are the same as long as sums
// are below 2^24.
var quantRows = map[string]row{
	"QuantizeLinear": {2, quantizeLinear}, "DequantizeLinear": {2, dequantizeLinear},
	"DynamicQuantizeLinear": {1, dynamicQuantize}, "MatMulInteger": {2, matMulInteger},
	"QLinearMatMul": {8, qLinearMatMul}, "ConvInteger": {2, convInteger},
	"QLinearConv": {8, qLinearConv},
}

// limits returns the range of an element type of 8 or 16 bits.
func limits(c *call, t dtype.Type) (low, high float64) {
	switch t {
	case dtype.Uint8:
		return 0, 255
	case dtype.Int8:
		return -128, 127
	case dtype.Uint16:
		return 0, 65535
	case dtype.Int16:
		return -32768, 32767
	}
	c.fail("quantized element type %v, want int8, uint8, int16 or uint16", t)
	return 0, 0
}

// halfEven rounds halves to even numbers.
func halfEven(x *sym.Symbol) *sym.Symbol {
	down := sym.Floor(plus(x, 0.5))
	tie := sym.EqualScalar(sym.BroadcastSub(down, x), sym.ScalarParams{Scalar: 0.5})
	odd := sym.NotEqualScalar(sym.BroadcastSub(down, times(sym.Floor(times(down, 0.5)), 2)),
		sym.ScalarParams{})
	return sym.BroadcastSub(down, sym.BroadcastMul(tie, odd))
}

// along gives scales and zero points the axis of the data that they belong to, or blocks of it.
func along(c *call, i int, data dtype.Shape, axis int) *sym.Symbol {
	v := c.in[i]
	s := cast(c.x(i), dtype.Float32)
	if v.size() == 1 {
		return c.reshape(s, dtype.Shape{1})
	}
	if block := c.num("block_size", 0); block > 0 && v.rank() == len(data) {
		a := c.axis(axis, len(data))
		if block > 1<<20 {
			c.fail("block_size %d is too large", block)
			return s
		}
		s = sym.Repeat(s, sym.RepeatParams{Repeats: block, Axis: sym.Some(a)})
		return cut(s, a, 0, data[a])
	}
	a := c.axis(axis, len(data))
	if v.rank() != 1 || c.err != nil || v.shape[0] != data[a] {
		c.fail("scale or zero point of shape %v for axis %d of %v", v.shape, axis, data)
		return s
	}
	shape := make(dtype.Shape, len(data))
	for k := range shape {
		shape[k] = 1
	}
	shape[a] = v.shape[0]
	return c.reshape(s, shape)
}

// quantized rounds x/scale + zero into the range of t.
func quantized(c *call, x, scale, zero *sym.Symbol, t dtype.Type) *sym.Symbol {
	low, high := limits(c, t)
	y := halfEven(sym.BroadcastDiv(x, scale))
	if zero != nil {
		y = sym.BroadcastAdd(y, zero)
	}
	return cast(atMost(atLeast(y, low), high), t)
}

func quantizeLinear(c *call) []*sym.Symbol {
	v, t := c.in[0], dtype.Uint8
	c.scalar = v.rank() == 0
	if code := c.num("output_dtype", 0); code != 0 {
		var err error
		if t, err = file.ElementType(int32(code)); err != nil {
			return c.fail("%w", err)
		}
		c.format = file.FormatOf(int32(code))
	}
	axis := c.num("axis", 1)
	if c.has(2) {
		t = c.in[2].typ
	}
	if s := quantizeByKernel(c, t); s != nil || c.direct != nil {
		return s
	}
	var zero *sym.Symbol
	if c.has(2) {
		t, zero = c.in[2].typ, along(c, 2, v.shape, axis)
		c.format = c.in[2].format
	}
	if f := c.format; f != nil {
		s := sym.BroadcastDiv(cast(c.x(0), dtype.Float32), along(c, 1, v.shape, axis))
		if zero != nil && f.Fraction == 0 {
			s = sym.BroadcastAdd(halfEven(s), zero)
		}
		return convert(c, s, f, t)
	}
	return out(quantized(c, cast(c.x(0), dtype.Float32), along(c, 1, v.shape, axis), zero, t))
}

func dequantizeLinear(c *call) []*sym.Symbol {
	v, axis := c.in[0], c.num("axis", 1)
	c.scalar = v.rank() == 0
	if s := dequantized(c); s != nil {
		return out(s)
	}
	x := cast(c.x(0), dtype.Float32)
	if c.has(2) {
		x = sym.BroadcastSub(x, along(c, 2, v.shape, axis))
	}
	return out(cast(sym.BroadcastMul(x, along(c, 1, v.shape, axis)), c.in[1].typ))
}

// dynamicQuantize finds scale and zero point from the range of the data, which includes zero.
func dynamicQuantize(c *call) []*sym.Symbol {
	y, scale, zero := byRange(c.x(0))
	values, err := c.valuesOf([]*sym.Symbol{cast(y, dtype.Uint8), scale, cast(zero, dtype.Uint8)})
	if err != nil {
		return c.fail("%w", err)
	}
	values[1].shape, values[2].shape = dtype.Shape{}, dtype.Shape{}
	c.direct = values
	return nil
}

// byRange rounds an array to whole numbers from 0 to 255, of which zero stands for 0: x is about
// scale·(y - zero). All are of float32; scale and zero have the shape (1).
func byRange(x *sym.Symbol) (y, scale, zero *sym.Symbol) {
	all := sym.ReduceParams{}
	low, high := atMost(sym.Min(x, all), 0), atLeast(sym.Max(x, all), 0)
	scale = sym.DivScalar(sym.BroadcastSub(high, low), sym.ScalarParams{Scalar: 255})
	scale = sym.BroadcastAdd(scale, sym.EqualScalar(scale, sym.ScalarParams{})) // 1 for zeros alone
	zero = atMost(atLeast(smallEven(sym.BroadcastDiv(sym.Negative(low), scale)), 0), 255)
	y = atMost(atLeast(sym.BroadcastAdd(smallEven(sym.BroadcastDiv(x, scale)), zero), 0), 255)
	return y, scale, zero
}

// wholeFrom is a number of float32 so large that sums with numbers below a third of it are whole.
const wholeFrom = 3 << 22

// smallEven is halfEven for float32 numbers from -1e6 to 1e6, in two steps.
func smallEven(x *sym.Symbol) *sym.Symbol { return plus(plus(x, wholeFrom), -wholeFrom) }

// rounded is an array with the numbers that 8 bits of its range stand for.
func rounded(x *sym.Symbol) *sym.Symbol {
	y, scale, zero := byRange(x)
	return sym.BroadcastMul(sym.BroadcastSub(y, zero), scale)
}

// shifted is an operand less its zero point, as float32. Vectors of zero points belong to rows of
// the first operand and to columns of the second one.
func shifted(c *call, i, zero int, column bool) *sym.Symbol {
	x := cast(c.x(i), dtype.Float32)
	if !c.has(zero) {
		return x
	}
	z := c.in[zero]
	s := cast(c.x(zero), dtype.Float32)
	if z.rank() == 1 && z.size() > 1 && !column {
		s = c.reshape(s, dtype.Shape{z.size(), 1})
	}
	return sym.BroadcastSub(x, s)
}

// whole32 makes int32 of sums of products of integers that are computed in float32. Algorithms for
// convolutions leave errors below one half, which a cast alone would cut to the next number below.
func whole32(s *sym.Symbol) *sym.Symbol { return cast(sym.Rint(s), dtype.Int32) }

func matMulInteger(c *call) []*sym.Symbol {
	s := integerMatMul(c, 0, 2, 1, 3)
	if c.err != nil {
		return nil
	}
	return out(whole32(s))
}

// integerMatMul multiplies the matrices at two inputs less their zero points.
func integerMatMul(c *call, i, zeroI, k, zeroK int) *sym.Symbol {
	if s := kernelMatMul(c, i, zeroI, k, zeroK); s != nil || c.err != nil {
		return s
	}
	return c.matMul(shifted(c, i, zeroI, false), c.in[i].shape, shifted(c, k, zeroK, true),
		c.in[k].shape)
}

// qLinearMatMul has the inputs a, scale, zero, b, scale, zero, scale and zero of the result. Scale and
// zero point of b may be one for each of its columns.
func qLinearMatMul(c *call) []*sym.Symbol {
	columns := c.in[3].shape[max(c.in[3].rank(), 1)-1:]
	for _, i := range []int{1, 2, 4, 5, 6, 7} {
		v := c.in[i]
		if v.size() != 1 && !((i == 4 || i == 5) && v.shape.Equal(columns)) {
			return c.fail("input %d of shape %v, want one number", i, v.shape)
		}
	}
	if d := linearCall(c, 1, len(c.in)); d != nil {
		if y := codedRows(d, true); y != nil && d.err == nil {
			if outs := linearOut(c, y, 6); outs != nil {
				return outs
			}
		}
	}
	one := func(i int) *sym.Symbol {
		return c.reshape(cast(c.x(i), dtype.Float32), dtype.Shape{c.in[i].size()})
	}
	s := integerMatMul(c, 0, 2, 3, 5)
	if c.err != nil {
		return nil
	}
	s = sym.BroadcastMul(s, sym.BroadcastMul(one(1), one(4)))
	return out(quantized(c, s, one(6), one(7), c.in[7].typ))
}

// integerConv convolves the data and weights at two inputs less their zero points.
func integerConv(c *call, i, zeroI, k, zeroK int) *sym.Symbol {
	data, weight := c.in[i].shape, c.in[k].shape
	if len(weight) != len(data) || len(data) < 3 {
		c.fail("data of shape %v and weights of shape %v", data, weight)
		return nil
	}
	w := window(c, data, weight[2:])
	if c.err != nil {
		return nil
	}
	auto(c, &w, data[2:])
	if s := kernelConv(c, i, zeroI, k, zeroK, w); s != nil || c.err != nil {
		return s
	}
	x, y := shifted(c, i, zeroI, true), cast(c.x(k), dtype.Float32)
	if c.has(zeroK) {
		z := c.reshape(cast(c.x(zeroK), dtype.Float32), dtype.Shape{c.in[zeroK].size()})
		if n := c.in[zeroK].size(); n > 1 {
			first := append(dtype.Shape{n}, make(dtype.Shape, len(weight)-1)...)
			for i := range first[1:] {
				first[1+i] = 1
			}
			z = c.reshape(z, first)
		}
		y = sym.BroadcastSub(y, z)
	}
	return sym.Convolution(padded(c, x, &w, 0), sym.ConvolutionParams{Kernel: w.kernel,
		Stride: w.stride, Dilate: w.dilation, Pad: w.before, NumFilter: weight[0],
		NumGroup: c.num("group", 1), NoBias: true}, sym.With("weight", y))
}

func convInteger(c *call) []*sym.Symbol {
	s := integerConv(c, 0, 2, 1, 3)
	if c.err != nil {
		return nil
	}
	return out(whole32(s))
}

// qLinearConv has the inputs x, scale, zero, w, scale, zero, scale and zero of the result, bias.
func qLinearConv(c *call) []*sym.Symbol {
	if outs := linearConv(c); outs != nil || c.err != nil {
		return outs
	}
	s := integerConv(c, 0, 2, 3, 5)
	if c.err != nil {
		return nil
	}
	rank := c.in[0].rank()
	per := func(i int) *sym.Symbol {
		return channels(c, cast(c.x(i), dtype.Float32), c.in[i].size(), rank)
	}
	if c.has(8) {
		s = sym.BroadcastAdd(s, per(8))
	}
	s = sym.BroadcastMul(s, sym.BroadcastMul(per(1), per(4)))
	return out(quantized(c, s, per(6), per(7), c.in[7].typ))
}

// linearConv is qLinearConv with known scales and zero points: kernels of integers compute up to the
// integers of the result. It is nil where they do not take the operands.
func linearConv(c *call) []*sym.Symbol {
	data, weight := c.in[0].shape, c.in[3].shape
	if len(weight) != len(data) || len(data) < 3 {
		return c.fail("data of shape %v and weights of shape %v", data, weight)
	}
	d := linearCall(c, 0, 8)
	if d == nil {
		return nil
	}
	w := window(c, data, weight[2:])
	if c.err != nil {
		return nil
	}
	auto(c, &w, data[2:])
	y := codedConv(d, w)
	if y == nil || d.err != nil {
		return nil
	}
	return linearOut(c, y, 6)
}
