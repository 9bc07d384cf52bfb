package nn

import (
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Activation applies a function to each element: "relu", "sigmoid", "tanh", "softrelu", "softsign",
// "log_sigmoid" or "mish".
//
// MXNet: gluon.nn.Activation.
type Activation string

// Forward applies the function.
func (a Activation) Forward(x *nd.Array) *nd.Array { return activate(x, string(a)) }

// activate applies an activation; an empty name is none.
func activate(x *nd.Array, name string) *nd.Array {
	if name == "" {
		return x
	}
	return nd.Activation(x, nd.ActivationParams{ActType: name})
}

// LeakyReLU multiplies negative elements by Alpha.
type LeakyReLU struct{ Alpha float64 }

// Forward returns x where it is positive, and Alpha·x elsewhere.
func (l LeakyReLU) Forward(x *nd.Array) *nd.Array {
	return nd.LeakyReLU(x, nd.LeakyReLUParams{ActType: "leaky", Slope: nd.Some(l.Alpha)})
}

// PReLU multiplies negative elements by a learned slope.
//
// MXNet: gluon.nn.PReLU.
type PReLU struct {
	gluon.Hooks
	Channels int                     // number of slopes, one per channel (axis 1); 0: one for all
	Init     initializer.Initializer // nil: 0.25

	Alpha *gluon.Param
}

// Declare declares the parameters.
func (p *PReLU) Declare() {
	init := p.Init
	if init == nil {
		init = initializer.Constant{Value: 0.25}
	}
	p.Alpha = gluon.Need(p.Alpha, gluon.Spec{Shape: nd.Shape{max(1, p.Channels)}, Init: init})
}

// Forward returns x where it is positive, and alpha·x elsewhere.
func (p *PReLU) Forward(x *nd.Array) *nd.Array {
	if p.Alpha == nil {
		p.Declare()
	}
	call := p.Enter(p, x)
	y := nd.LeakyReLU(x, nd.LeakyReLUParams{ActType: "prelu"}, nd.With("gamma", p.Alpha.At(x)))
	return call.Leave(y)
}

// ELU returns alpha·(exp(x) - 1) for negative elements. The zero value has alpha 1.
type ELU struct{ Alpha nd.Opt[float64] }

// Forward applies the function.
func (e ELU) Forward(x *nd.Array) *nd.Array {
	return nd.LeakyReLU(x, nd.LeakyReLUParams{ActType: "elu", Slope: nd.Some(e.Alpha.Or(1))})
}

// SELU is the scaled exponential unit of Klambauer et al., Self-Normalizing Neural Networks.
type SELU struct{}

// Forward applies the function.
func (SELU) Forward(x *nd.Array) *nd.Array {
	return nd.LeakyReLU(x, nd.LeakyReLUParams{ActType: "selu"})
}

// GELU is the Gaussian error linear unit, x·Φ(x).
type GELU struct{}

// Forward applies the function.
func (GELU) Forward(x *nd.Array) *nd.Array {
	return nd.LeakyReLU(x, nd.LeakyReLUParams{ActType: "gelu"})
}

// Swish returns x·sigmoid(beta·x). The zero value has beta 1.
type Swish struct{ Beta nd.Opt[float64] }

// Forward applies the function.
func (s Swish) Forward(x *nd.Array) *nd.Array {
	return x.Mul(x.MulScalar(s.Beta.Or(1)).Sigmoid())
}
