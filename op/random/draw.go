package random

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// The operators that draw from one distribution.
var (
	Uniform          = op.Declare[UniformParams]("_random_uniform")
	Normal           = op.Declare[NormalParams]("_random_normal")
	Exponential      = op.Declare[RateParams]("_random_exponential")
	Poisson          = op.Declare[RateParams]("_random_poisson")
	Gamma            = op.Declare[GammaParams]("_random_gamma")
	NegativeBinomial = op.Declare[NegativeBinomialParams]("_random_negative_binomial")
	Dispersed        = op.Declare[DispersedParams]("_random_generalized_negative_binomial")
)

// The operators that draw in the shape of their input.
var (
	UniformLike          = op.Declare[UniformLikeParams]("_random_uniform_like")
	NormalLike           = op.Declare[NormalLikeParams]("_random_normal_like")
	ExponentialLike      = op.Declare[RateLikeParams]("_random_exponential_like")
	PoissonLike          = op.Declare[RateLikeParams]("_random_poisson_like")
	GammaLike            = op.Declare[GammaLikeParams]("_random_gamma_like")
	NegativeBinomialLike = op.Declare[NegativeBinomialLikeParams]("_random_negative_binomial_like")
	DispersedLike        = op.Declare[DispersedLikeParams](
		"_random_generalized_negative_binomial_like")
)

// fill writes random numbers with one or two parameters.
type fill func(out op.Tensor, seed op.Seed, a, b float64)

// one makes a fill from a function that draws a single number.
func one(f func(s *source, a, b float64) float64) fill {
	return func(out op.Tensor, seed op.Seed, a, b float64) {
		draw(out, seed, func(s *source) float64 { return f(s, a, b) })
	}
}

func exponential(s *source, lam, _ float64) float64 { return s.exponential() / lam }
func poisson(s *source, lam, _ float64) float64     { return s.poisson(lam) }
func gamma(s *source, alpha, beta float64) float64  { return s.gamma(alpha) * beta }
func negativeBinomial(s *source, k, p float64) float64 {
	return s.poisson(s.gamma(k) * (1 - p) / p)
}

func dispersed(s *source, mu, alpha float64) float64 {
	if alpha == 0 {
		return s.poisson(mu)
	}
	return s.poisson(s.gamma(1/alpha) * alpha * mu)
}

func init() {
	Uniform.Define(maker("RandomUniform draws from the uniform distribution between low and high.",
		"RandomUniform", uniforms,
		func(p UniformParams) args { return args{p.Low, p.High.Value(), p.Shape, p.DType} },
		"random_uniform", "uniform"))
	Normal.Define(maker("RandomNormal draws from the normal distribution with mean loc and "+
		"standard deviation scale.", "RandomNormal", normals,
		func(p NormalParams) args { return args{p.Loc, p.Scale.Value(), p.Shape, p.DType} },
		"normal", "random_normal"))
	Exponential.Define(maker("RandomExponential draws from the exponential distribution of rate "+
		"lam.", "RandomExponential", one(exponential),
		func(p RateParams) args { return args{p.Lam.Value(), 0, p.Shape, p.DType} },
		"random_exponential"))
	Poisson.Define(maker("RandomPoisson draws from the Poisson distribution of mean lam.",
		"RandomPoisson", one(poisson),
		func(p RateParams) args { return args{p.Lam.Value(), 0, p.Shape, p.DType} },
		"random_poisson"))
	Gamma.Define(maker("RandomGamma draws from the gamma distribution of shape alpha and scale "+
		"beta.", "RandomGamma", one(gamma),
		func(p GammaParams) args { return args{p.Alpha.Value(), p.Beta.Value(), p.Shape, p.DType} },
		"random_gamma"))
	NegativeBinomial.Define(maker("RandomNegativeBinomial draws how many trials succeed before "+
		"the k-th fails, where p is the probability to fail.",
		"RandomNegativeBinomial", one(negativeBinomial),
		func(p NegativeBinomialParams) args {
			return args{float64(p.K.Value()), p.P.Value(), p.Shape, p.DType}
		}, "random_negative_binomial"))
	Dispersed.Define(maker("RandomGeneralizedNegativeBinomial draws from the negative binomial "+
		"distribution with mean mu and dispersion alpha.",
		"RandomGeneralizedNegativeBinomial", one(dispersed),
		func(p DispersedParams) args {
			return args{p.Mu.Value(), p.Alpha.Value(), p.Shape, p.DType}
		}, "random_generalized_negative_binomial"))
	defineLike()
}

func defineLike() {
	UniformLike.Define(like("RandomUniformLike draws uniform numbers", "RandomUniformLike",
		uniforms, func(p UniformLikeParams) (float64, float64) { return p.Low, p.High.Value() }))
	NormalLike.Define(like("RandomNormalLike draws normal numbers", "RandomNormalLike", normals,
		func(p NormalLikeParams) (float64, float64) { return p.Loc, p.Scale.Value() }))
	ExponentialLike.Define(like("RandomExponentialLike draws exponential numbers",
		"RandomExponentialLike", one(exponential),
		func(p RateLikeParams) (float64, float64) { return p.Lam.Value(), 0 }))
	PoissonLike.Define(like("RandomPoissonLike draws Poisson numbers", "RandomPoissonLike",
		one(poisson), func(p RateLikeParams) (float64, float64) { return p.Lam.Value(), 0 }))
	GammaLike.Define(like("RandomGammaLike draws gamma numbers", "RandomGammaLike", one(gamma),
		func(p GammaLikeParams) (float64, float64) { return p.Alpha.Value(), p.Beta.Value() }))
	NegativeBinomialLike.Define(like("RandomNegativeBinomialLike draws negative binomial numbers",
		"RandomNegativeBinomialLike", one(negativeBinomial),
		func(p NegativeBinomialLikeParams) (float64, float64) {
			return float64(p.K.Value()), p.P.Value()
		}))
	DispersedLike.Define(like("RandomGeneralizedNegativeBinomialLike draws negative binomial "+
		"numbers of given mean and dispersion",
		"RandomGeneralizedNegativeBinomialLike", one(dispersed),
		func(p DispersedLikeParams) (float64, float64) { return p.Mu.Value(), p.Alpha.Value() }))
}

// args are the parameters of an operator without inputs.
type args struct {
	a, b  float64
	shape []int
	dtype op.Opt[dtype.Type]
}

func maker[P any](doc, goName string, f fill, get func(P) args, aliases ...string) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Doc: doc, GoName: goName, Aliases: aliases, Random: true},
		Inputs: prim.Inputs[P](),
		Infer: func(p P, _, out []dtype.Shape) error {
			return op.Require("output", &out[0], prim.WantedShape(get(p).shape))
		},
		InferType: func(p P, _, out []dtype.Type) error {
			return setType(&out[0], get(p).dtype, dtype.Float32)
		},
		Grad: prim.ZeroGrad[P],
		Ref: func(p P, c *op.Call) error {
			v := get(p)
			f(c.Out[0], c.Seed, v.a, v.b)
			return nil
		},
	}
}

func like[P any](doc, goName string, f fill, get func(P) (a, b float64)) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{
			Doc:     doc + " in the shape and element type of its input.",
			GoName:  goName,
			Random:  true,
			Ignores: []int{0},
		},
		Infer: op.SameShape[P],
		Grad:  prim.ZeroGrad[P],
		Ref: func(p P, c *op.Call) error {
			a, b := get(p)
			f(c.Out[0], c.Seed, a, b)
			return nil
		},
	}
}

// setType sets an element type: the wanted one, or else the default where nothing is known.
func setType(t *dtype.Type, want op.Opt[dtype.Type], def dtype.Type) error {
	w, ok := want.Get()
	switch {
	case !ok && *t == dtype.Unknown:
		*t = def
	case ok && *t != dtype.Unknown && *t != w:
		return op.Errorf("output", "element type %v, want %v", *t, w)
	case ok:
		*t = w
	}
	return nil
}
