package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// affine is a normalization: elements fall into groups that share mean and deviation, and each has
// a scale and a shift. The functions tell both from an element's number.
type affine struct {
	group, param func(i int) int
}

// forward normalizes x in place and returns mean and sqrt(variance + eps) of every group.
func (a affine) forward(x, gamma, beta []float64, groups int, eps float64) (mean, std []float64) {
	mean, std = make([]float64, groups), make([]float64, groups)
	n := float64(len(x)) / float64(groups)
	for i, v := range x {
		mean[a.group(i)] += v / n
	}
	for i, v := range x {
		d := v - mean[a.group(i)]
		std[a.group(i)] += d * d / n
	}
	for g := range std {
		std[g] = math.Sqrt(std[g] + eps)
	}
	for i, v := range x {
		g, k := a.group(i), a.param(i)
		x[i] = (v-mean[g])/std[g]*gamma[k] + beta[k]
	}
	return mean, std
}

// backward turns dy into the gradient of x and returns the gradients of gamma and beta.
func (a affine) backward(dy, x, gamma, mean, std []float64) (dgamma, dbeta []float64) {
	dgamma, dbeta = make([]float64, len(gamma)), make([]float64, len(gamma))
	shift, tilt := make([]float64, len(mean)), make([]float64, len(mean))
	n := float64(len(x)) / float64(len(mean))
	for i, d := range dy {
		g, k := a.group(i), a.param(i)
		x[i] = (x[i] - mean[g]) / std[g]
		dgamma[k] += d * x[i]
		dbeta[k] += d
		shift[g] += d * gamma[k] / n
		tilt[g] += d * gamma[k] * x[i] / n
	}
	for i, d := range dy {
		g := a.group(i)
		dy[i] = (d*gamma[a.param(i)] - shift[g] - x[i]*tilt[g]) / std[g]
	}
	return dgamma, dbeta
}

// normalization holds the differences between the operators of this kind.
type normalization[P any] struct {
	doc     string
	aliases []string
	visible func(p P) int
	eps     func(p P) float64
	// shapes returns the shapes of gamma and beta, and of mean and std; parts may be unknown.
	shapes func(p P, data dtype.Shape) (param, stats dtype.Shape, err error)
	// refine completes data from the known shapes of gamma and of the statistics; nil: nothing.
	refine func(p P, data, param, stats dtype.Shape) dtype.Shape
	layout func(p P, data dtype.Shape) affine
	// seen is the same for nodes.
	seen func(p P) view
}

// defineNorm defines a normalization and its gradient. The gradients of mean and std are ignored,
// as they are in MXNet.
func defineNorm[P any](h, grad op.Handle[P], n normalization[P]) {
	h.Define(op.Spec[P]{
		Traits: op.Traits{Doc: n.doc, Aliases: n.aliases, Inplace: [][2]int{{0, 0}},
			Precision: op.Inner, Kind: op.Normalization},
		Inputs: func(P) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param},
				{Name: "beta", Role: op.Param}}
		},
		Outputs:   func(P) []string { return []string{"output", "mean", "std"} },
		Visible:   n.visible,
		Infer:     n.infer,
		InferType: op.FloatType[P],
		Grad: func(g *op.Grad, p P) []op.Entry {
			return g.Each(grad.Node(p, g.Head(0), g.In(0), g.In(1), g.Out(1), g.Out(2)))
		},
		Ref: func(p P, c *op.Call) error {
			x := loop.Floats(c.In[0])
			mean, std := n.layout(p, c.In[0].Shape).forward(x, loop.Floats(c.In[1]),
				loop.Floats(c.In[2]), c.Out[1].Shape.Size(), n.eps(p))
			return storeWanted(c, x, mean, std)
		},
	})
	grad.Define(op.Spec[P]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs:    inputs[P]("out_grad", "data", "gamma", "mean", "std"),
		Outputs:   func(P) []string { return []string{"data", "gamma", "beta"} },
		Infer:     n.inferGrad,
		InferType: op.FloatType[P],
		Grad:      func(g *op.Grad, p P) []op.Entry { return normSecond(g, n.seen(p), n.eps(p)) },
		Ref: func(p P, c *op.Call) error {
			dy := loop.Floats(c.In[0])
			dgamma, dbeta := n.layout(p, c.In[1].Shape).backward(dy, loop.Floats(c.In[1]),
				loop.Floats(c.In[2]), loop.Floats(c.In[3]), loop.Floats(c.In[4]))
			return storeWanted(c, dy, dgamma, dbeta)
		},
	})
}

func (n normalization[P]) infer(p P, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	for range 2 {
		param, stats, err := n.shapes(p, in[0])
		if err != nil {
			return err
		}
		for _, r := range []struct {
			arg  string
			s    *dtype.Shape
			want dtype.Shape
		}{{"gamma", &in[1], param}, {"beta", &in[2], param}, {"mean", &out[1], stats},
			{"std", &out[2], stats}} {
			if err := op.Require(r.arg, r.s, r.want); err != nil {
				return err
			}
		}
		if err := op.Same("beta", &in[1], &in[2]); err != nil {
			return err
		}
		if err := op.Same("std", &out[1], &out[2]); err != nil {
			return err
		}
		if n.refine == nil {
			return nil
		}
		if err := op.Require("data", &in[0], n.refine(p, in[0], in[1], out[1])); err != nil {
			return err
		}
		out[0] = in[0].Clone()
	}
	return nil
}

func (n normalization[P]) inferGrad(p P, in, out []dtype.Shape) error {
	fin, fout := []dtype.Shape{in[1], in[2], out[2]}, []dtype.Shape{in[0], in[3], in[4]}
	if err := op.Same("gradient", &fin[0], &out[0]); err != nil {
		return err
	}
	if err := op.Same("gradient", &fin[1], &out[1]); err != nil {
		return err
	}
	if err := n.infer(p, fin, fout); err != nil {
		return err
	}
	in[0], in[1], in[2], in[3], in[4] = fout[0], fin[0], fin[1], fout[1], fout[2]
	out[0], out[1], out[2] = fin[0].Clone(), fin[1].Clone(), fin[2]
	return nil
}
