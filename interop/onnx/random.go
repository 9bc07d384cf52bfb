package onnx

import (
	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	sym "gomx/symbol"
)

// randomRows draw numbers. Their attribute seed has no effect: the numbers come from gomx's streams.
var randomRows = map[string]row{
	"RandomNormal": {0, randomNormal}, "RandomUniform": {0, randomUniform},
	"RandomNormalLike": {1, randomNormal}, "RandomUniformLike": {1, randomUniform},
	"Bernoulli": {1, bernoulli}, "Multinomial": {1, multinomial},
}

// drawn returns the shape and the element type of random numbers: from the attributes, or from the
// first input.
func drawn(c *call) (shape dtype.Shape, t dtype.Type) {
	shape, t = dtype.Shape(c.nums("shape")), dtype.Float32
	if c.has(0) {
		shape, t = c.in[0].shape, c.in[0].typ
	}
	if code := c.num("dtype", 0); code != 0 {
		var err error
		if t, err = file.ElementType(int32(code)); err != nil {
			c.fail("%w", err)
		}
	}
	c.scalar = len(shape) == 0
	if c.err == nil {
		c.possible(shape)
	}
	return file.Stored(shape), t
}

func randomNormal(c *call) []*sym.Symbol {
	shape, t := drawn(c)
	scale := c.float("scale", 1)
	if c.err != nil {
		return nil
	}
	s := sym.RandomNormal(sym.NormalParams{Shape: shape})
	return out(cast(plus(times(s, scale), c.float("mean", 0)), t))
}

func randomUniform(c *call) []*sym.Symbol {
	shape, t := drawn(c)
	low, high := c.float("low", 0), c.float("high", 1)
	if c.err != nil {
		return nil
	}
	return out(cast(plus(times(sym.RandomUniform(sym.UniformParams{Shape: shape}), high-low), low),
		t))
}

// bernoulli draws 1 with the probabilities of its input, and 0.
func bernoulli(c *call) []*sym.Symbol {
	shape, t := drawn(c)
	if c.err != nil {
		return nil
	}
	s := sym.RandomUniform(sym.UniformParams{Shape: shape})
	return out(cast(sym.Lesser(s, cast(c.x(0), dtype.Float32)), t))
}

// multinomial draws classes for each row of logarithms of probabilities.
func multinomial(c *call) []*sym.Symbol {
	v, n, t := c.in[0], c.num("sample_size", 1), dtype.Int32
	if v.rank() != 2 || n < 1 || n > 1<<24 || !v.typ.IsFloat() {
		return c.fail("data of shape %v and type %v and sample_size %d, want (rows, classes) of "+
			"floats and a number from 1", v.shape, v.typ, n)
	}
	if code := c.num("dtype", 0); code != 0 {
		var err error
		if t, err = file.ElementType(int32(code)); err != nil {
			return c.fail("%w", err)
		}
	}
	p := sym.Softmax(c.x(0), sym.SoftmaxParams{Axis: sym.Some(1)})
	return out(cast(sym.SampleMultinomial(p, sym.MultinomialParams{Shape: []int{n}}), t))
}

// dropping drops elements with a probability and divides the others by the rest, in every run of
// the graph: training_mode says so. The second output is the mask of elements that are kept.
func dropping(c *call, ratio float64) []*sym.Symbol {
	if !(ratio >= 0 && ratio < 1) || !c.in[0].typ.IsFloat() {
		return c.fail("ratio %g of data of type %v, want one from 0 to below 1 of floats", ratio,
			c.in[0].typ)
	}
	c.scalar = c.in[0].rank() == 0
	u := sym.RandomUniform(sym.UniformParams{Shape: file.Stored(c.in[0].shape)})
	keep := sym.GreaterEqualScalar(u, sym.ScalarParams{Scalar: ratio})
	y := sym.ElemwiseMul(times(c.x(0), 1/(1-ratio)), cast(keep, c.in[0].typ))
	return []*sym.Symbol{y, cast(keep, dtype.Bool)}
}
