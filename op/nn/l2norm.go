package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// L2NormalizationParams configures L2Normalization.
type L2NormalizationParams struct {
	Eps  op.Opt[float64] `op:"eps" default:"1e-10" doc:"added to the sum of squares"`
	Mode string          `op:"mode" default:"instance" enum:"instance|spatial|channel" doc:"what is normalized: samples, the positions of a channel, the channels of a position"`
}

// L2Normalization scales parts of data to length one.
var L2Normalization = op.Declare[L2NormalizationParams]("L2Normalization")

// L2NormalizationGrad is the gradient of L2Normalization: from the gradient of the output, the
// output and the norms to the gradient of the data.
var L2NormalizationGrad = op.Declare[L2NormalizationParams]("_backward_L2Normalization")

func init() {
	L2Normalization.Define(op.Spec[L2NormalizationParams]{
		Traits: op.Traits{
			Doc: `L2Normalization divides parts of data by their Euclidean norm, sqrt(Σx² + eps).

A part is a sample (instance), all positions of one channel of a sample (spatial), or all channels
of one position of a sample (channel).`,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
			Kind:      op.Normalization,
		},
		Outputs: func(L2NormalizationParams) []string { return []string{"output", "norm"} },
		Visible: func(L2NormalizationParams) int { return 1 },
		Infer: func(p L2NormalizationParams, in, out []dtype.Shape) error {
			return inferL2(p, in, out)
		},
		InferType: op.FloatType[L2NormalizationParams],
		Grad: func(g *op.Grad, p L2NormalizationParams) []op.Entry {
			dx := L2NormalizationGrad.Apply(p, g.Head(0), g.Out(0), g.Out(1))
			if h := g.OutGrad[1]; h.Valid() { // flows from the gradient of the gradient only
				dx = prim.Total(dx, prim.BroadcastMul.Apply(none, g.Out(0), h))
			}
			return []op.Entry{dx}
		},
		Ref: l2Ref,
	})
	L2NormalizationGrad.Define(op.Spec[L2NormalizationParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs: inputs[L2NormalizationParams]("out_grad", "output", "norm"),
		Infer: func(p L2NormalizationParams, in, out []dtype.Shape) error {
			for _, s := range []*dtype.Shape{&in[1], &out[0], &in[1]} {
				if err := op.Same("gradient", &in[0], s); err != nil {
					return err
				}
			}
			fout := []dtype.Shape{in[1], in[2]}
			err := inferL2(p, in[:1], fout)
			in[1], in[2], out[0] = fout[0], fout[1], in[0].Clone()
			return err
		},
		InferType: op.FloatType[L2NormalizationParams],
		Grad:      l2Second,
		Ref:       l2GradRef,
	})
}

// inferL2 infers the shape of the norms: the shape of data with extent 1 along axes that share a
// norm.
func inferL2(p L2NormalizationParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	least := 2
	if p.Mode == "spatial" {
		least = 3
	}
	if len(in[0]) < least {
		return op.Errorf("data", "shape %v, want at least %d axes for mode %s", in[0], least,
			p.Mode)
	}
	norm, data := in[0].Clone(), unknown(len(in[0]))
	for a := range norm {
		if shared(p.Mode, a) {
			norm[a] = 1
		}
	}
	if err := op.Require("norm", &out[1], norm); err != nil {
		return err
	}
	for a := range data {
		if !shared(p.Mode, a) {
			data[a] = out[1][a]
		}
	}
	if err := op.Require("data", &in[0], data); err != nil {
		return err
	}
	out[0] = in[0].Clone()
	return nil
}

// shared reports whether the elements along an axis belong to one part.
func shared(mode string, axis int) bool {
	switch mode {
	case "channel":
		return axis == 1
	case "spatial":
		return axis >= 2
	}
	return axis >= 1
}

// eachShared visits all elements of data with the number of the part that each belongs to.
func eachShared(data, norm dtype.Shape, f func(i, part int)) {
	loop.Walk(data, func(n int, off, by []int) {
		for k := range n {
			f(off[0]+k*by[0], off[1]+k*by[1])
		}
	}, data.Strides(), loop.Broadcast(norm, data))
}

func l2Ref(p L2NormalizationParams, c *op.Call) error {
	x, norm := loop.Floats(c.In[0]), make([]float64, c.Out[1].Shape.Size())
	eachShared(c.In[0].Shape, c.Out[1].Shape, func(i, part int) { norm[part] += x[i] * x[i] })
	for k, v := range norm {
		norm[k] = math.Sqrt(v + p.Eps.Value())
	}
	eachShared(c.In[0].Shape, c.Out[1].Shape, func(i, part int) { x[i] /= norm[part] })
	return storeWanted(c, x, norm)
}

// l2GradRef computes dx = (dy - y·Σ dy·y)/norm.
func l2GradRef(_ L2NormalizationParams, c *op.Call) error {
	dy, y, norm := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	along := make([]float64, len(norm))
	eachShared(c.In[0].Shape, c.In[2].Shape, func(i, part int) { along[part] += dy[i] * y[i] })
	eachShared(c.In[0].Shape, c.In[2].Shape,
		func(i, part int) { dy[i] = (dy[i] - y[i]*along[part]) / norm[part] })
	loop.Store(c.Out[0], 0, dy)
	return nil
}
