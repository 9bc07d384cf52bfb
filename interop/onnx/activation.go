package onnx

import (
	"math"

	"gomx/dtype"
	sym "gomx/symbol"
)

// activationRows are activation functions.
var activationRows = map[string]row{
	"Relu": unary(sym.Relu), "Sigmoid": unary(sym.Sigmoid), "Softsign": unary(sym.Softsign),
	"Softplus": activation(func(_ *call, x *sym.Symbol) *sym.Symbol { return softplus(x) }),
	"Elu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: "elu",
			Slope: sym.Some(c.float("alpha", 1))})
	}),
	"LeakyRelu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: "leaky",
			Slope: sym.Some(c.float("alpha", 0.01))})
	}),
	"Selu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return times(elu(x, c.float("alpha", 1.67326319217681884765625)),
			c.float("gamma", 1.05070102214813232421875))
	}),
	"Celu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		a := c.float("alpha", 1)
		return sym.BroadcastAdd(atLeast(x, 0), times(sym.Expm1(times(atMost(x, 0), 1/a)), a))
	}),
	"ThresholdedRelu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return sym.BroadcastMul(x, sym.GreaterScalar(x,
			sym.ScalarParams{Scalar: c.float("alpha", 1)}))
	}),
	"HardSigmoid": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return hardSigmoid(x, c.float("alpha", 0.2), c.float("beta", 0.5))
	}),
	"HardSwish": activation(func(_ *call, x *sym.Symbol) *sym.Symbol {
		return sym.BroadcastMul(x, hardSigmoid(x, 1.0/6, 0.5))
	}),
	"Mish": activation(func(_ *call, x *sym.Symbol) *sym.Symbol {
		return sym.BroadcastMul(x, sym.Tanh(softplus(x)))
	}),
	"Swish": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return sym.BroadcastMul(x, sym.Sigmoid(times(x, c.float("alpha", 1))))
	}),
	"Gelu":               activation(gelu),
	"com.microsoft:Gelu": activation(gelu),
	"Shrink":             activation(shrink),
	"PRelu":              {2, prelu},
	"Clip":               {1, clip},
}

// activation makes a row of a function of elements with attributes.
func activation(f func(c *call, x *sym.Symbol) *sym.Symbol) row {
	return row{1, func(c *call) []*sym.Symbol {
		c.elementwise()
		return out(f(c, c.x(0)))
	}}
}

func softplus(x *sym.Symbol) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: "softrelu"})
}

func elu(x *sym.Symbol, alpha float64) *sym.Symbol {
	return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: "elu", Slope: sym.Some(alpha)})
}

func hardSigmoid(x *sym.Symbol, alpha, beta float64) *sym.Symbol {
	return sym.HardSigmoid(x, sym.HardSigmoidParams{Alpha: sym.Some(alpha), Beta: sym.Some(beta)})
}

// gelu is x·Φ(x), or its approximation by tanh.
func gelu(c *call, x *sym.Symbol) *sym.Symbol {
	if c.text("approximate", "none") == "tanh" {
		inner := times(sym.BroadcastMul(x, plus(times(sym.Square(x), 0.044715), 1)),
			math.Sqrt(2/math.Pi))
		return times(sym.BroadcastMul(x, plus(sym.Tanh(inner), 1)), 0.5)
	}
	return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: "gelu"})
}

// shrink moves values beyond lambd towards zero by bias, and makes others zero.
func shrink(c *call, x *sym.Symbol) *sym.Symbol {
	lambd, bias := c.float("lambd", 0.5), c.float("bias", 0)
	low := sym.LesserScalar(x, sym.ScalarParams{Scalar: -lambd})
	high := sym.GreaterScalar(x, sym.ScalarParams{Scalar: lambd})
	return sym.BroadcastAdd(sym.BroadcastMul(low, plus(x, bias)),
		sym.BroadcastMul(high, plus(x, -bias)))
}

// prelu has a slope array that broadcasts to the data.
func prelu(c *call) []*sym.Symbol {
	c.elementwise()
	x := c.x(0)
	return out(sym.BroadcastAdd(atLeast(x, 0), sym.BroadcastMul(c.x(1), atMost(x, 0))))
}

// clip has bounds as attributes before opset 11, then as inputs.
func clip(c *call) []*sym.Symbol {
	c.scalar = c.in[0].rank() == 0
	x := c.x(0)
	if c.version < 11 {
		return out(sym.Clip(x, sym.ClipParams{AMin: c.float("min", -math.MaxFloat32),
			AMax: c.float("max", math.MaxFloat32)}))
	}
	t := c.in[0].typ
	if t == dtype.Float32 && c.has(1) && c.has(2) && c.in[1].fixed != nil && c.in[2].fixed != nil &&
		c.in[1].size() == 1 && c.in[2].size() == 1 {
		low, high := c.reals(1), c.reals(2)
		if c.err == nil && low[0] <= high[0] {
			return out(sym.Clip(x, sym.ClipParams{AMin: low[0], AMax: high[0]}))
		}
	}
	if c.has(1) {
		x = sym.BroadcastMaximum(x, c.x(1))
	}
	if c.has(2) {
		x = sym.BroadcastMinimum(x, c.x(2))
	}
	return out(sym.Identity(x))
}
