package random

import (
	"maps"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// PDFParams are the parameters of operators that compute probability densities.
type PDFParams struct {
	IsLog bool `op:"is_log" doc:"compute the logarithm of the density"`
}

// density is a row of the table: the logarithm of a density of x with parameters a and b, and its
// derivatives.
type density struct {
	name   string // of the distribution
	goName string
	inputs []string
	log    func(x, a, b float64) float64
	slope  func(x, a, b float64) (dx, da, db float64)
}

func init() {
	for _, d := range densities() {
		d.define()
	}
}

// The densities.
var (
	pdfUniform     = op.Declare[PDFParams]("_random_pdf_uniform")
	pdfNormal      = op.Declare[PDFParams]("_random_pdf_normal")
	pdfExponential = op.Declare[PDFParams]("_random_pdf_exponential")
	pdfGamma       = op.Declare[PDFParams]("_random_pdf_gamma")
	pdfPoisson     = op.Declare[PDFParams]("_random_pdf_poisson")
	pdfNegative    = op.Declare[PDFParams]("_random_pdf_negative_binomial")
	pdfDispersed   = op.Declare[PDFParams]("_random_pdf_generalized_negative_binomial")
	pdfDirichlet   = op.Declare[PDFParams]("_random_pdf_dirichlet")
)

// densityHandles are the densities by the names of distributions, densityGrads their gradients.
var (
	densityHandles = map[string]op.Handle[PDFParams]{"uniform": pdfUniform, "normal": pdfNormal,
		"exponential": pdfExponential, "gamma": pdfGamma,
		"poisson": pdfPoisson, "negative_binomial": pdfNegative,
		"generalized_negative_binomial": pdfDispersed, "dirichlet": pdfDirichlet}
	densityGrads = declareDensityGrads()
)

func declareDensityGrads() map[string]op.Handle[PDFParams] {
	back := map[string]op.Handle[PDFParams]{}
	for _, name := range slices.Sorted(maps.Keys(densityHandles)) {
		back[name] = op.Declare[PDFParams]("_backward_pdf_" + name)
	}
	return back
}

func (d density) define() {
	back := densityGrads[d.name]
	densityHandles[d.name].Define(op.Spec[PDFParams]{
		Traits: op.Traits{
			Doc: d.goName + " computes the density of the distribution at every element of " +
				"sample, or its logarithm. The sample has the shape of the parameters and " +
				"further axes: each element of the parameters serves one part.",
			GoName:  d.goName,
			Aliases: []string{"random_pdf_" + d.name},
			Once:    "it is not provided",
		},
		Inputs: prim.Inputs[PDFParams](append([]string{"sample"}, d.inputs...)...),
		Infer: func(_ PDFParams, in, out []dtype.Shape) error {
			return inferDensity(in, out)
		},
		Grad: func(g *op.Grad, p PDFParams) []op.Entry {
			in := append([]op.Entry{g.Head(0), g.Out(0)}, g.Node.In...)
			return g.Each(back.Node(p, in...))
		},
		Ref: func(p PDFParams, c *op.Call) error { return d.forward(p, c) },
	})
	back.Define(op.Spec[PDFParams]{
		Traits: op.Traits{Hidden: true,
			NoGrad: "the second derivative of densities is not provided"},
		Inputs: prim.Inputs[PDFParams](append([]string{"grad", "output", "sample"},
			d.inputs...)...),
		Outputs: func(PDFParams) []string { return append([]string{"sample_grad"}, d.inputs...) },
		Infer: func(p PDFParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:2], nil); err != nil {
				return err
			}
			if err := inferDensity(in[2:], in[:1]); err != nil {
				return err
			}
			for i := range out {
				if err := op.SameShape(p, in[2+i:3+i], out[i:i+1]); err != nil {
					return err
				}
			}
			return op.SameShape(p, in[:2], nil)
		},
		Ref: func(p PDFParams, c *op.Call) error { return d.backward(p, c) },
	})
}

func inferDensity(in, out []dtype.Shape) error {
	if err := op.SameShape(op.NoParams{}, in[1:], nil); err != nil {
		return err
	}
	if err := op.SameShape(op.NoParams{}, in[:1], out); err != nil {
		return err
	}
	sample, param := in[0], in[1]
	if sample == nil || param == nil {
		return nil
	}
	if len(param) > len(sample) {
		return op.Errorf("sample", "shape %v, want it to begin with %v", sample, param)
	}
	if err := op.Require("parameter", &in[1], sample[:len(param)]); err != nil {
		return err
	}
	copy(sample, in[1])
	copy(out[0], in[1])
	return op.SameShape(op.NoParams{}, in[1:], nil)
}

// each calls f for every element of a sample with its parameters.
func each(sample op.Tensor, params []op.Tensor, f func(i, k int, x, a, b float64)) {
	x, a := loop.Floats(sample), loop.Floats(params[0])
	b := a
	if len(params) > 1 {
		b = loop.Floats(params[1])
	}
	for i, v := range x {
		k := i / (len(x) / len(a))
		f(i, k, v, a[k], b[k])
	}
}

func (d density) forward(p PDFParams, c *op.Call) error {
	y := make([]float64, c.Out[0].Shape.Size())
	each(c.In[0], c.In[1:], func(i, _ int, x, a, b float64) {
		if y[i] = d.log(x, a, b); !p.IsLog {
			y[i] = math.Exp(y[i])
		}
	})
	loop.Store(c.Out[0], 0, y)
	return nil
}

func (d density) backward(p PDFParams, c *op.Call) error {
	dy, y := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	grads := make([][]float64, 3)
	for i := range c.Out {
		grads[i] = make([]float64, c.Out[i].Shape.Size())
	}
	if len(c.Out) < 3 {
		grads[2] = make([]float64, len(grads[1]))
	}
	each(c.In[2], c.In[3:], func(i, k int, x, a, b float64) {
		h := dy[i]
		if !p.IsLog {
			h *= y[i]
		}
		dx, da, db := d.slope(x, a, b)
		grads[0][i] = h * dx
		grads[1][k] += h * da
		grads[2][k] += h * db
	})
	for i, out := range c.Out {
		if out.Data != nil {
			loop.Store(out, 0, grads[i])
		}
	}
	return nil
}

func lgamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

func densities() []density {
	return []density{
		{"uniform", "RandomPDFUniform", []string{"low", "high"},
			func(_, low, high float64) float64 { return -math.Log(high - low) },
			func(_, low, high float64) (dx, da, db float64) {
				return 0, 1 / (high - low), -1 / (high - low)
			}},
		{"normal", "RandomPDFNormal", []string{"mu", "sigma"},
			func(x, mu, sigma float64) float64 {
				z := (x - mu) / sigma
				return -0.5*z*z - math.Log(sigma*math.Sqrt(2*math.Pi))
			},
			func(x, mu, sigma float64) (dx, da, db float64) {
				z := (x - mu) / sigma
				return -z / sigma, z / sigma, (z*z - 1) / sigma
			}},
		{"exponential", "RandomPDFExponential", []string{"lam"},
			func(x, lam, _ float64) float64 { return math.Log(lam) - lam*x },
			func(x, lam, _ float64) (dx, da, db float64) { return -lam, 1/lam - x, 0 }},
		{"gamma", "RandomPDFGamma", []string{"alpha", "beta"},
			func(x, a, b float64) float64 {
				return a*math.Log(b) + (a-1)*math.Log(x) - b*x - lgamma(a)
			},
			func(x, a, b float64) (dx, da, db float64) {
				return (a-1)/x - b, math.Log(b) + math.Log(x) - prim.Psi(a), a/b - x
			}},
		{"poisson", "RandomPDFPoisson", []string{"lam"},
			func(x, lam, _ float64) float64 { return x*math.Log(lam) - lgamma(x+1) - lam },
			func(x, lam, _ float64) (dx, da, db float64) { return 0, x/lam - 1, 0 }},
		{"negative_binomial", "RandomPDFNegativeBinomial", []string{"k", "p"}, logNegativeBinomial,
			slopeNegativeBinomial},
		{"generalized_negative_binomial", "RandomPDFGeneralizedNegativeBinomial",
			[]string{"mu", "alpha"},
			func(x, mu, alpha float64) float64 {
				return logNegativeBinomial(x, 1/alpha, 1/(mu*alpha+1))
			},
			func(x, mu, alpha float64) (dx, da, db float64) {
				p := 1 / (mu*alpha + 1)
				_, dk, dp := slopeNegativeBinomial(x, 1/alpha, p)
				return 0, -dp * alpha * p * p, -dk/(alpha*alpha) - dp*mu*p*p
			}},
	}
}

// logNegativeBinomial is the logarithm of the probability of x successes before k failures that
// have probability p each.
func logNegativeBinomial(x, k, p float64) float64 {
	return lgamma(x+k) - lgamma(x+1) - lgamma(k) + k*math.Log(p) + x*math.Log(1-p)
}

func slopeNegativeBinomial(x, k, p float64) (dx, dk, dp float64) {
	return 0, prim.Psi(x+k) - prim.Psi(k) + math.Log(p), k/p - x/(1-p)
}
