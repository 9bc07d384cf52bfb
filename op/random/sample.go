package random

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// The operators whose distributions' parameters are arrays.
var (
	SampleUniform          = op.Declare[SampleParams]("_sample_uniform")
	SampleNormal           = op.Declare[SampleParams]("_sample_normal")
	SampleExponential      = op.Declare[SampleParams]("_sample_exponential")
	SamplePoisson          = op.Declare[SampleParams]("_sample_poisson")
	SampleGamma            = op.Declare[SampleParams]("_sample_gamma")
	SampleNegativeBinomial = op.Declare[SampleParams]("_sample_negative_binomial")
	SampleDispersed        = op.Declare[SampleParams]("_sample_generalized_negative_binomial")
)

func init() {
	for _, row := range []struct {
		op     op.Handle[SampleParams]
		goName string
		what   string
		f      func(s *source, a, b float64) float64
		inputs []string
	}{
		{SampleUniform, "SampleUniform", "uniform numbers between low and high",
			func(s *source, low, high float64) float64 {
				return scaled(s.unit(), low, high, dtype.Float32)
			}, []string{"low", "high"}},
		{SampleNormal, "SampleNormal", "normal numbers with mean mu and standard deviation sigma",
			func(s *source, mu, sigma float64) float64 { return mu + sigma*s.normal() },
			[]string{"mu", "sigma"}},
		{SampleExponential, "SampleExponential", "exponential numbers of rate lam", exponential,
			[]string{"lam"}},
		{SamplePoisson, "SamplePoisson", "Poisson numbers of mean lam", poisson, []string{"lam"}},
		{SampleGamma, "SampleGamma", "gamma numbers of shape alpha and scale beta", gamma,
			[]string{"alpha", "beta"}},
		{SampleNegativeBinomial, "SampleNegativeBinomial",
			"negative binomial numbers for k failures of probability p", negativeBinomial,
			[]string{"k", "p"}},
		{SampleDispersed, "SampleGeneralizedNegativeBinomial",
			"negative binomial numbers of mean mu and dispersion alpha", dispersed,
			[]string{"mu", "alpha"}},
	} {
		row.op.Define(op.Spec[SampleParams]{
			Traits: op.Traits{
				Doc: row.goName + " draws " + row.what +
					", for every element of these arrays as many as shape says: the output has " +
					"the shape of the arrays followed by shape.",
				GoName:  row.goName,
				Aliases: []string{row.op.Name[1:]},
				Random:  true,
			},
			Inputs: prim.Inputs[SampleParams](row.inputs...),
			Infer: func(p SampleParams, in, out []dtype.Shape) error {
				return inferSample(p.Shape, in, out)
			},
			InferType: sampleType,
			Grad:      prim.ZeroGrad[SampleParams],
			Ref:       func(_ SampleParams, c *op.Call) error { return sample(c, row.f) },
		})
	}
}

// inferSample infers the output from the parameters, and these from its leading axes.
func inferSample(shape []int, in, out []dtype.Shape) error {
	if out[0] != nil {
		lead := len(out[0]) - len(shape)
		if lead < 0 {
			return op.Errorf("output", "shape %v, want it to end in %v", out[0], dtype.Shape(shape))
		}
		if err := op.Require("parameter", &in[0], out[0][:lead]); err != nil {
			return err
		}
	}
	if err := op.SameShape(op.NoParams{}, in, nil); err != nil || in[0] == nil {
		return err
	}
	return op.Require("output", &out[0], append(in[0].Clone(), shape...))
}

// sampleType makes the output of the wanted type, else float32 for parameters of any type.
func sampleType(p SampleParams, in, out []dtype.Type) error {
	if err := op.SameType(p, in, nil); err != nil {
		return err
	}
	return setType(&out[0], p.DType, dtype.Float32)
}

func sample(c *op.Call, f func(s *source, a, b float64) float64) error {
	a := loop.Floats(c.In[0])
	b := a
	if len(c.In) > 1 {
		b = loop.Floats(c.In[1])
	}
	if len(a) == 0 {
		return nil
	}
	each := c.Out[0].Shape.Size() / len(a)
	loop.Generate(c.Out[0], func(i int) float64 {
		return f(&source{seed: c.Seed, index: i}, a[i/each], b[i/each])
	})
	return nil
}
