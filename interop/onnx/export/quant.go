package export

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/quant"
)

// quantRules are operators on integers of 8 bits. Integers come from QuantizeLinear and become real
// numbers by DequantizeLinear; layers of package quantize are float32 operators between these.
var quantRules = rules{
	quant.QuantizeV2.Op: on(quantizeV2), quant.Dequantize.Op: dequantize,
	quant.Convolution.Op: on(integerConv), quant.FullyConnected.Op: on(integerRows),
	quant.Pooling.Op: on(integerPool), quant.Flatten.Op: func(c *call) []value {
		return []value{kept(c, c.reshape(c.x(0), c.out(0).shape), c.x(0)), c.x(1), c.x(2)}
	},
	quant.Concat.Op: on(integerConcat), quant.Add.Op: on(integerAdd),
	quant.Activation.Op: integerRelu, quant.Embedding.Op: on(integerEmbedding),
	quant.WeightOnlyFullyConnected.Op: on(weightOnly),
}

// coding says which numbers integers stand for: scale·(q - zero).
type coding struct{ scale, zero float64 }

// number returns the number of a constant or parameter of one element of float32.
func (ex *exporting) number(v value) (float64, bool) {
	k, ok := ex.numbers[v.name]
	return k, ok
}

// kept gives integers the coding of others that they were moved or chosen from.
func kept(c *call, q, of value) value {
	if d, ok := c.ex.codings[of.name]; ok {
		c.ex.codings[q.name] = d
	}
	return q
}

// greater is the greater absolute value of the ends of a range: a constant where they are.
func greater(c *call, low, high value) value {
	a, known := c.ex.number(low)
	b, also := c.ex.number(high)
	if known && also {
		return c.constant(dtype.Float32, dtype.Shape{1}, max(math.Abs(a), math.Abs(b)))
	}
	return c.binary("Max", c.unary("Abs", low), c.unary("Abs", high))
}

// by multiplies a number of shape (1) by k: a constant where it is.
func by(c *call, x value, k float64) value {
	if v, ok := c.ex.number(x); ok {
		return c.constant(x.typ, x.shape, v*k)
	}
	return c.scaled(x, k)
}

// step is the real number of one step of integers of a type whose range has a magnitude, of rank
// zero.
func step(c *call, magnitude value, t dtype.Type) value {
	s := by(c, magnitude, 1/float64(quant.RangeOf(t)))
	if v, ok := c.ex.number(s); ok {
		return c.scalar(dtype.Float32, v)
	}
	return c.reshape(s, dtype.Shape{})
}

// stepOf is the step of the integers t whose range is at inputs i and i + 1.
func stepOf(c *call, i int, t dtype.Type) value {
	return step(c, greater(c, c.x(i), c.x(i+1)), t)
}

// quantized adds QuantizeLinear with a step of rank zero.
func (c *call) quantized(x, step value, zero float64, t dtype.Type) value {
	q := c.add("QuantizeLinear", x.shape, t, []value{x, step, c.scalar(t, zero)})
	if s, ok := c.ex.number(step); ok {
		c.ex.codings[q.name] = coding{s, zero}
	}
	return q
}

// real adds DequantizeLinear with a step of rank zero.
func (c *call) real(q, step value, zero float64) value {
	return c.add("DequantizeLinear", q.shape, dtype.Float32,
		[]value{q, step, c.scalar(q.typ, zero)})
}

// quantizeV2 takes the range that it is given, or that of the data.
func quantizeV2(c *call, p quant.QuantizeV2Params) []value {
	x, t := c.x(0), c.out(0).typ
	vector := func(v float64) value { return c.constant(dtype.Float32, dtype.Shape{1}, v) }
	var low, high value
	switch {
	case p.MinCalibRange.IsSet() && p.MaxCalibRange.IsSet():
		low, high = vector(p.MinCalibRange.Value()), vector(p.MaxCalibRange.Value())
	case x.typ != dtype.Float32:
		r := float64(quant.RangeOf(x.typ))
		if low, high = vector(0), vector(r); x.typ == dtype.Int8 {
			low = vector(-r)
		}
	default:
		ends := func(kind string) value {
			return c.reshape(c.reduce(kind, x, upTo(0, len(x.shape)), false), dtype.Shape{1})
		}
		low, high = ends("ReduceMin"), ends("ReduceMax")
	}
	if x.typ != dtype.Float32 {
		return []value{c.cast(x, t), low, high}
	}
	m := greater(c, low, high)
	step := step(c, m, t)
	x, zero := unshifted(c, c.node.In[0], step, t)
	if t == dtype.Int8 {
		low, high = by(c, m, -1), m
	}
	return []value{c.quantized(x, step, zero, t), low, high}
}

// unshifted undoes the addition of a whole number of steps: it returns the other operand, and the
// number of steps, which is a zero point. For other values it returns e itself and zero.
func unshifted(c *call, e op.Entry, step value, t dtype.Type) (x value, zero float64) {
	x = c.ex.values[e]
	s, known := c.ex.number(step)
	if n := e.Node; known && !n.IsVar() && n.Op == prim.PlusScalar.Op {
		shift := n.Params.(prim.ScalarParams).Scalar
		zero = math.RoundToEven(shift / s)
		low, high := limits(t, zero, zero)
		if low == zero && high == zero && math.Abs(zero*s-shift) <= 1e-4*s {
			return c.ex.values[n.In[0]], zero
		}
	}
	return x, 0
}

func dequantize(c *call) []value {
	q := c.x(0)
	return one(c.real(q, stepOf(c, 1, q.typ), 0))
}

// sums makes the outputs of a product of its sums, the magnitudes of its operands from input i on,
// and the numbers of steps of each.
func sums(c *call, y value, i int, data, weight float64) []value {
	a, b := greater(c, c.x(i), c.x(i+1)), greater(c, c.x(i+2), c.x(i+3))
	high := value{}
	k := (1 << 31) / (data * weight)
	if v, ok := c.ex.number(a); ok {
		high = by(c, b, k*v)
	} else {
		high = c.times(by(c, a, k), b)
	}
	return []value{y, by(c, high, -1), high}
}

// integerConv is ConvInteger: the sums of a layer that is not exported as a whole.
func integerConv(c *call, p nn.ConvolutionParams) []value {
	n := len(p.Kernel)
	pad := perAxis(p.Pad, n, 0)
	y := c.convolve("ConvInteger", p, pad, value{shape: c.out(0).shape, typ: dtype.Int32},
		c.x(0), c.x(1))
	if p.NoBias {
		return sums(c, y, 2, 127, 127)
	}
	bias := c.perChannel(c.cast(c.x(2), dtype.Int32), 1, n+2)
	return sums(c, c.plus(y, bias), 3, 127, 127)
}

// rowsOf sees data as the rows that a dense layer multiplies.
func (c *call) rowsOf(x value, noFlatten bool) value {
	last := len(x.shape) - 1
	if noFlatten {
		return c.reshape(x, dtype.Shape{x.shape[:last].Size(), x.shape[last]})
	}
	return c.reshape(x, dtype.Shape{x.shape[0], x.shape[1:].Size()})
}

// integerRows is MatMulInteger: the sums of a layer that is not exported as a whole.
func integerRows(c *call, p nn.FullyConnectedParams) []value {
	q := c.x(0)
	rows := c.rowsOf(q, p.NoFlatten)
	y := c.add("MatMulInteger", dtype.Shape{rows.shape[0], p.NumHidden}, dtype.Int32,
		[]value{rows, c.swapLast(c.x(1))})
	at, steps := 2, 127.0
	if q.typ == dtype.Uint8 {
		steps = 255
	}
	if !p.NoBias {
		at = 3
		// the bias in steps of the sums, without its fraction
		sums := c.times(stepOf(c, 3, q.typ), stepOf(c, 5, dtype.Int8))
		bias := c.times(c.cast(c.x(2), dtype.Float32), c.over(stepOf(c, 7, dtype.Int8), sums))
		y = c.plus(y, c.cast(c.reshape(bias, dtype.Shape{p.NumHidden}), dtype.Int32))
	}
	return sums(c, c.reshape(y, c.out(0).shape), at, 127, steps)
}

// integerPool pools real numbers of the same step: runtimes pool the integers.
func integerPool(c *call, p nn.PoolingParams) []value {
	q := c.x(0)
	step := stepOf(c, 1, q.typ)
	if p.PoolType == "avg" && !p.GlobalPool && p.CountIncludePad.Or(true) {
		p.PoolType = "sum" // averages divide by the window's extent at all places
	}
	y := c.pooling(c.real(q, step, 0), p)
	if p.PoolType == "sum" {
		y = c.scaled(y, 1/float64(dtype.Shape(p.Kernel).Size()))
	}
	return []value{kept(c, c.quantized(y, step, 0, q.typ), q), c.x(1), c.x(2)}
}

// integerConcat joins integers of one range as they are, and others with the range of all.
func integerConcat(c *call, p quant.QuantizedConcatParams) []value {
	n, t := p.NumArgs, c.out(0).typ
	zero := c.constant(dtype.Float32, dtype.Shape{1}, 0)
	low, high := zero, zero
	a, b, known := 0.0, 0.0, true
	for i := range n {
		x, ok := c.ex.number(c.x(n + 2*i))
		y, also := c.ex.number(c.x(n + 2*i + 1))
		a, b, known = min(a, x), max(b, y), known && ok && also
		low, high = c.binary("Min", low, c.x(n+2*i)), c.binary("Max", high, c.x(n+2*i+1))
	}
	if known {
		low = c.constant(dtype.Float32, dtype.Shape{1}, a)
		high = c.constant(dtype.Float32, dtype.Shape{1}, b)
	}
	step := step(c, greater(c, low, high), t)
	list := c.all()[:n]
	for i, q := range list {
		own := stepOf(c, n+2*i, q.typ)
		if q.typ != t || !known || own.name != step.name {
			list[i] = c.quantized(c.real(q, own, 0), step, 0, t)
		}
	}
	q := c.concat(axis(p.Dim.Value(), len(list[0].shape)), list...)
	return []value{kept(c, q, list[0]), low, high}
}

// integerAdd adds real numbers.
func integerAdd(c *call, p quant.QuantizedAddParams) []value {
	x, y, t := c.x(0), c.x(1), c.out(0).typ
	if t == dtype.Int32 || x.typ != y.typ {
		return c.fail("a sum of integers of %v and %v to %v, want one type of 8 bits", x.typ, y.typ,
			t)
	}
	low := c.constant(dtype.Float32, dtype.Shape{1}, p.MinCalibRange.Value())
	high := c.constant(dtype.Float32, dtype.Shape{1}, p.MaxCalibRange.Value())
	sum := c.plus(c.real(x, stepOf(c, 2, x.typ), 0), c.real(y, stepOf(c, 4, y.typ), 0))
	return []value{c.quantized(sum, step(c, greater(c, low, high), t), 0, t), low, high}
}

// integerRelu keeps the bits of uint8.
func integerRelu(c *call) []value {
	y := c.cast(c.x(0), dtype.Int8)
	if c.x(0).typ == dtype.Int8 {
		y = kept(c, c.cast(c.unary("Relu", c.cast(y, dtype.Int32)), dtype.Int8), c.x(0))
	}
	return []value{y, c.x(1), c.x(2)}
}

func integerEmbedding(c *call, p index.EmbeddingParams) []value {
	ids := c.cast(c.x(0), dtype.Int64)
	ids = c.binary("Min", c.binary("Max", ids, c.like(ids, 0)), c.like(ids, float64(p.InputDim-1)))
	return []value{kept(c, c.gather(c.x(1), ids, 0), c.x(1)), c.x(2), c.x(3)}
}
