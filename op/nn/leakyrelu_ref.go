package nn

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// The constants of selu (Klambauer et al. 2017, Self-Normalizing Neural Networks).
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// leakyValue returns the function of one element for types without further operands.
func leakyValue(p LeakyReLUParams) func(x float64) float64 {
	slope := p.Slope.Value()
	switch p.ActType {
	case "gelu":
		return func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	case "selu":
		return func(x float64) float64 {
			if x > 0 {
				return seluScale * x
			}
			return seluScale * seluAlpha * math.Expm1(x)
		}
	case "elu":
		return func(x float64) float64 {
			if x > 0 {
				return x
			}
			return slope * math.Expm1(x)
		}
	case "rrelu":
		slope = (p.LowerBound.Value() + p.UpperBound.Value()) / 2
	}
	return func(x float64) float64 { return bend(x, slope) }
}

func bend(x, slope float64) float64 {
	if x > 0 {
		return x
	}
	return slope * x
}

func leakyRef(p LeakyReLUParams, c *op.Call) error {
	switch p.ActType {
	case "prelu":
		gamma := c.In[1]
		gamma.Shape = gammaShape(gamma.Shape, c.In[0].Shape)
		loop.Zip(loop.Func2{F: bend}, c.Out[0], c.In[0], gamma)
	case "rrelu":
		rrelu(p, c)
	default:
		loop.Map(loop.Func1{F: leakyValue(p)}, c.Out[0], c.In[0])
	}
	return nil
}

// rrelu stores the slope of every element as mask, one for positive elements.
func rrelu(p LeakyReLUParams, c *op.Call) {
	lo, hi := p.LowerBound.Value(), p.UpperBound.Value()
	x := loop.Floats(c.In[0])
	mask := make([]float64, len(x))
	if c.Train {
		philox.Uniform(mask, c.Seed, 0)
	}
	for i, v := range x {
		slope := (lo + hi) / 2
		if c.Train {
			slope = lo + (hi-lo)*mask[i]
		}
		x[i], mask[i] = bend(v, slope), step(v, slope)
	}
	store(c.Out[0], x)
	store(c.Out[1], mask)
}

// leakySlope returns the derivative in terms of the value of leakySaved.
func leakySlope(p LeakyReLUParams) func(v float64) float64 {
	slope := p.Slope.Value()
	switch p.ActType {
	case "rrelu":
		return func(mask float64) float64 { return mask }
	case "gelu":
		return func(x float64) float64 {
			return 0.5*(1+math.Erf(x/math.Sqrt2)) + x*math.Exp(-0.5*x*x)/math.Sqrt(2*math.Pi)
		}
	case "selu":
		return func(y float64) float64 {
			if y > 0 {
				return seluScale
			}
			// MXNet adds the scaled output, the derivative needs the unscaled one
			return seluScale * (seluAlpha + y)
		}
	case "elu":
		return func(v float64) float64 {
			switch {
			case v > 0:
				return 1
			case slope < 0:
				return slope * math.Exp(v)
			}
			return slope + v
		}
	}
	return func(v float64) float64 { return step(v, slope) }
}

// step is 1 for positive v, slope otherwise.
func step(v, slope float64) float64 {
	if v > 0 {
		return 1
	}
	return slope
}

func leakyGradRef(p LeakyReLUParams, c *op.Call) error {
	if p.ActType == "prelu" {
		preluGrad(c)
		return nil
	}
	slope := leakySlope(p)
	loop.Zip(loop.Func2{F: func(g, v float64) float64 { return g * slope(v) }}, c.Out[0], c.In[0],
		c.In[1])
	return nil
}

// preluGrad sums the gradient of a slope over all elements that it bends.
func preluGrad(c *op.Call) {
	dy, x, gamma := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	dgamma := make([]float64, len(gamma))
	shape := c.In[1].Shape
	along := loop.Broadcast(gammaShape(c.In[2].Shape, shape), shape)
	loop.Walk(shape, func(n int, off, by []int) {
		for i := range n {
			a, k := off[0]+i*by[0], off[1]+i*by[1]
			if x[a] <= 0 {
				dgamma[k] += dy[a] * x[a]
			}
			dy[a] *= step(x[a], gamma[k])
		}
	}, shape.Strides(), along)
	_ = storeWanted(c, dy, dgamma)
}
