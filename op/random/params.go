package random

import (
	"gomx/dtype"
	"gomx/op"
)

// UniformParams are the parameters of RandomUniform.
type UniformParams struct {
	Low   float64            `op:"low" doc:"lower bound, included"`
	High  op.Opt[float64]    `op:"high" default:"1" doc:"upper bound, left out"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// NormalParams are the parameters of RandomNormal.
type NormalParams struct {
	Loc   float64            `op:"loc" doc:"mean"`
	Scale op.Opt[float64]    `op:"scale" default:"1" doc:"standard deviation"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// RateParams are the parameters of RandomExponential and RandomPoisson.
type RateParams struct {
	Lam   op.Opt[float64]    `op:"lam" default:"1" doc:"rate of the exponential, mean of the Poisson distribution"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// GammaParams are the parameters of RandomGamma.
type GammaParams struct {
	Alpha op.Opt[float64]    `op:"alpha" default:"1" doc:"shape of the distribution"`
	Beta  op.Opt[float64]    `op:"beta" default:"1" doc:"scale of the distribution"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// NegativeBinomialParams are the parameters of RandomNegativeBinomial.
type NegativeBinomialParams struct {
	K     op.Opt[int]        `op:"k" default:"1" doc:"number of failures to wait for"`
	P     op.Opt[float64]    `op:"p" default:"1" doc:"probability of a failure"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// DispersedParams are the parameters of RandomGeneralizedNegativeBinomial.
type DispersedParams struct {
	Mu    op.Opt[float64]    `op:"mu" default:"1" doc:"mean"`
	Alpha op.Opt[float64]    `op:"alpha" default:"1" doc:"dispersion; zero: the Poisson distribution"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}

// UniformLikeParams are the parameters of RandomUniformLike.
type UniformLikeParams struct {
	Low  float64         `op:"low" doc:"lower bound, included"`
	High op.Opt[float64] `op:"high" default:"1" doc:"upper bound, left out"`
}

// NormalLikeParams are the parameters of RandomNormalLike.
type NormalLikeParams struct {
	Loc   float64         `op:"loc" doc:"mean"`
	Scale op.Opt[float64] `op:"scale" default:"1" doc:"standard deviation"`
}

// RateLikeParams are the parameters of RandomExponentialLike and RandomPoissonLike.
type RateLikeParams struct {
	Lam op.Opt[float64] `op:"lam" default:"1" doc:"rate of the exponential, mean of the Poisson distribution"`
}

// GammaLikeParams are the parameters of RandomGammaLike.
type GammaLikeParams struct {
	Alpha op.Opt[float64] `op:"alpha" default:"1" doc:"shape of the distribution"`
	Beta  op.Opt[float64] `op:"beta" default:"1" doc:"scale of the distribution"`
}

// NegativeBinomialLikeParams are the parameters of RandomNegativeBinomialLike.
type NegativeBinomialLikeParams struct {
	K op.Opt[int]     `op:"k" default:"1" doc:"number of failures to wait for"`
	P op.Opt[float64] `op:"p" default:"1" doc:"probability of a failure"`
}

// DispersedLikeParams are the parameters of RandomGeneralizedNegativeBinomialLike.
type DispersedLikeParams struct {
	Mu    op.Opt[float64] `op:"mu" default:"1" doc:"mean"`
	Alpha op.Opt[float64] `op:"alpha" default:"1" doc:"dispersion; zero: the Poisson distribution"`
}

// SampleParams are the parameters of operators whose distributions' parameters are arrays.
type SampleParams struct {
	Shape []int              `op:"shape" doc:"shape of the numbers that each element of the parameters draws"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: float32"`
}
