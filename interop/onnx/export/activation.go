package export

import (
	"math"

	"gomx/dtype"
	"gomx/op/contrib"
	"gomx/op/loss"
	"gomx/op/nn"
	"gomx/op/tensor"
)

// activationRules are the functions between layers.
var activationRules = rules{
	nn.Activation.Op: on(activation), nn.LeakyReLU.Op: on(leakyReLU),
	nn.SoftmaxActivation.Op: on(softmaxActivation), nn.Dropout.Op: on(dropout),
	nn.SwiGLU.Op: on(swiGLU), tensor.HardSigmoid.Op: on(hardSigmoid),
	loss.SmoothL1.Op: on(smoothL1), contrib.Quadratic.Op: on(quadratic),
	contrib.DivSqrtDim.Op: func(c *call) []value {
		x := c.x(0)
		return one(c.scaled(x, 1/math.Sqrt(float64(x.shape[len(x.shape)-1]))))
	},
	contrib.GradientMultiplier.Op: identity, contrib.RoundSTE.Op: whole(roundHalf),
	contrib.SignSTE.Op: signed("Sign"),
}

// activations are ONNX's names of the kinds of Activation.
var activations = map[string]string{"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh",
	"softrelu": "Softplus", "softsign": "Softsign"}

func activation(c *call, p nn.ActivationParams) []value {
	return one(c.unary(activations[p.ActType], c.x(0)))
}

func leakyReLU(c *call, p nn.LeakyReLUParams) []value {
	x := c.x(0)
	switch p.ActType {
	case "prelu":
		slope := c.x(1)
		if slope.shape.Size() > 1 {
			slope = c.perChannel(slope, 1, len(x.shape))
		}
		return one(c.add("PRelu", x.shape, x.typ, []value{x, slope}))
	case "elu":
		return one(c.unary("Elu", x, float("alpha", p.Slope.Value())))
	case "selu":
		return one(c.unary("Selu", x))
	case "gelu":
		phi := c.plus(c.unary("Erf", c.scaled(x, 1/math.Sqrt2)), c.like(x, 1))
		return one(c.times(c.scaled(x, 0.5), phi))
	case "rrelu":
		if c.ex.config.training {
			return c.fail("ONNX has no random slopes")
		}
		middle := (p.LowerBound.Value() + p.UpperBound.Value()) / 2
		return one(c.unary("LeakyRelu", x, float("alpha", middle)))
	}
	return one(c.unary("LeakyRelu", x, float("alpha", p.Slope.Value())))
}

func softmaxActivation(c *call, p nn.SoftmaxActivationParams) []value {
	a := -1
	if p.Mode == "channel" {
		a = 1
	}
	return one(c.unary("Softmax", c.x(0), num("axis", a)))
}

// dropout drops in the training form. Along axes that share their fate the mask is dropped from an
// array of ones.
func dropout(c *call, p nn.DropoutParams) []value {
	x := c.x(0)
	ratio := p.P.Value()
	if !c.ex.config.training && p.Mode != "always" || ratio == 0 {
		return one(x)
	}
	if ratio == 1 {
		return one(c.filled(x.typ, x.shape, 0))
	}
	drop := func(x value) value {
		return c.add("Dropout", x.shape, x.typ, []value{x, c.scalar(dtype.Float32, ratio),
			c.scalar(dtype.Bool, 1)})
	}
	if len(p.Axes) == 0 {
		return one(drop(x))
	}
	shape := x.shape.Clone()
	for _, a := range p.Axes {
		shape[axis(a, len(shape))] = 1
	}
	return one(c.times(x, drop(c.filled(x.typ, shape, 1))))
}

func swiGLU(c *call, p nn.SwiGLUParams) []value {
	a := c.x(0)
	var b value
	if p.Separate {
		b = c.x(1)
	} else {
		last := len(a.shape) - 1
		halves := c.split(a, last, a.shape[last]/2, a.shape[last]/2)
		a, b = halves[0], halves[1]
	}
	return one(c.times(c.times(a, c.unary("Sigmoid", a)), b))
}

func hardSigmoid(c *call, p tensor.HardSigmoidParams) []value {
	return one(c.unary("HardSigmoid", c.x(0), float("alpha", p.Alpha.Value()),
		float("beta", p.Beta.Value())))
}

// smoothL1 is σ²x²/2 within 1/σ² of zero, and |x| - 1/(2σ²) elsewhere.
func smoothL1(c *call, p loss.SmoothL1Params) []value {
	x := c.x(0)
	square := p.Scalar.Value() * p.Scalar.Value()
	size := c.unary("Abs", x)
	inner := c.scaled(c.times(x, x), square/2)
	outer := c.minus(size, c.like(x, 0.5/square))
	return one(c.where(c.test("Less", size, c.like(x, 1/square)), inner, outer))
}

func quadratic(c *call, p contrib.QuadraticParams) []value {
	x := c.x(0)
	t := x.typ
	x = c.cast(x, wide(t))
	slope := c.plus(c.scaled(x, p.A), c.like(x, p.B))
	return one(c.cast(c.plus(c.times(slope, x), c.like(x, p.C)), t))
}

// roundHalf rounds halves away from zero, which ONNX's Round rounds to even numbers.
func roundHalf(c *call, x value) value {
	return c.times(c.unary("Sign", x), nearest(c, c.unary("Abs", x), "GreaterOrEqual"))
}
