package random

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

func init() {
	back := densityGrads["dirichlet"]
	densityHandles["dirichlet"].Define(op.Spec[PDFParams]{
		Traits: op.Traits{
			Doc: "RandomPDFDirichlet computes the density of the Dirichlet distribution at every " +
				"vector along the last axis of sample, or its logarithm. Its first axes are " +
				"those of alpha but the last, then further ones may follow.",
			GoName:  "RandomPDFDirichlet",
			Aliases: []string{"random_pdf_dirichlet"},
			Once:    "it is not provided",
		},
		Inputs: prim.Inputs[PDFParams]("sample", "alpha"),
		Infer:  func(_ PDFParams, in, out []dtype.Shape) error { return inferDirichlet(in, out) },
		Grad: func(g *op.Grad, p PDFParams) []op.Entry {
			return g.Each(back.Node(p, g.Head(0), g.Out(0), g.In(0), g.In(1)))
		},
		Ref: dirichlet,
	})
	back.Define(op.Spec[PDFParams]{
		Traits: op.Traits{Hidden: true,
			NoGrad: "the second derivative of densities is not provided"},
		Inputs:  prim.Inputs[PDFParams]("grad", "output", "sample", "alpha"),
		Outputs: func(PDFParams) []string { return []string{"sample_grad", "alpha"} },
		Infer: func(p PDFParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:2], nil); err != nil {
				return err
			}
			if err := inferDirichlet(in[2:], in[:1]); err != nil {
				return err
			}
			for i := range out {
				if err := op.SameShape(p, in[2+i:3+i], out[i:i+1]); err != nil {
					return err
				}
			}
			return op.SameShape(p, in[:2], nil)
		},
		Ref: dirichletBackward,
	})
}

func inferDirichlet(in, out []dtype.Shape) error {
	sample, alpha := in[0], in[1]
	if sample == nil {
		return nil
	}
	last := len(sample) - 1
	if last < 0 || len(alpha) > len(sample) {
		return op.Errorf("sample", "shape %v for alpha of shape %v", sample, alpha)
	}
	if last == 0 {
		// not a scalar, as in MXNet
		if err := op.Require("output", &out[0], dtype.Shape{1}); err != nil {
			return err
		}
	} else {
		if err := op.Require("output", &out[0], sample[:last]); err != nil {
			return err
		}
		copy(sample, out[0])
	}
	if alpha == nil {
		return nil
	}
	k := len(alpha) - 1
	if k < 0 {
		return op.Errorf("alpha", "shape (), want at least one axis")
	}
	if err := op.Require("alpha", &in[1], append(sample[:k].Clone(), sample[last])); err != nil {
		return err
	}
	copy(sample, in[1][:k])
	copy(out[0], in[1][:k])
	sample[last] = in[1][k]
	return nil
}

// vectors calls f for every vector of a sample: its number, the number of its parameters, and both
// vectors.
func vectors(sample, alpha op.Tensor, f func(i, k int, x, a []float64)) {
	n := sample.Shape[len(sample.Shape)-1]
	x, a := loop.Floats(sample), loop.Floats(alpha)
	if len(x) == 0 {
		return
	}
	each := len(x) / len(a)
	for i := range len(x) / n {
		k := i / each
		f(i, k, x[i*n:(i+1)*n], a[k*n:(k+1)*n])
	}
}

func dirichlet(p PDFParams, c *op.Call) error {
	vectors(c.In[0], c.In[1], func(i, _ int, x, a []float64) {
		y, total := 0.0, 0.0
		for j := range x {
			y += (a[j]-1)*math.Log(x[j]) - lgamma(a[j])
			total += a[j]
		}
		if y += lgamma(total); !p.IsLog {
			y = math.Exp(y)
		}
		loop.Store(c.Out[0], i, []float64{y})
	})
	return nil
}

func dirichletBackward(p PDFParams, c *op.Call) error {
	dy, y := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	dx, da := make([]float64, c.Out[0].Shape.Size()), make([]float64, c.Out[1].Shape.Size())
	vectors(c.In[2], c.In[3], func(i, k int, x, a []float64) {
		h, total := dy[i], 0.0
		if !p.IsLog {
			h *= y[i]
		}
		for _, v := range a {
			total += v
		}
		for j := range x {
			dx[i*len(x)+j] = h * (a[j] - 1) / x[j]
			da[k*len(a)+j] += h * (math.Log(x[j]) - prim.Psi(a[j]) + prim.Psi(total))
		}
	})
	for i, g := range [][]float64{dx, da} {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, g)
		}
	}
	return nil
}
