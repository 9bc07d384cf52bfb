package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// LRNParams configures LRN.
type LRNParams struct {
	Alpha op.Opt[float64] `op:"alpha" default:"0.0001" doc:"factor of the mean square"`
	Beta  op.Opt[float64] `op:"beta" default:"0.75" doc:"exponent"`
	Knorm op.Opt[float64] `op:"knorm" default:"2" doc:"added to the scaled mean square"`
	Nsize int             `op:"nsize,required" min:"1" doc:"number of neighbouring channels, odd"`
}

// LRN divides each element by a power of the mean square of its neighbours across channels.
var LRN = op.Declare[LRNParams]("LRN")

// LRNGrad is the gradient of LRN: from the gradient of the output, data and the scaled mean
// squares to the gradient of the data.
var LRNGrad = op.Declare[LRNParams]("_backward_LRN")

func init() {
	LRN.Define(op.Spec[LRNParams]{
		Traits: op.Traits{
			Doc: `LRN (local response normalization) divides each element by a power of its neighbours' mean square.

output = x/(knorm + alpha/nsize·Σx²)^beta, where the sum runs over the nsize channels around that
of x, at its position (Krizhevsky et al. 2012). Data has shape (n, c, ...).`,
			Precision: op.Wide,
			Kind:      op.Normalization,
		},
		Outputs:   func(LRNParams) []string { return []string{"output", "tmp_norm"} },
		Visible:   func(LRNParams) int { return 1 },
		Infer:     inferLRN,
		InferType: op.FloatType[LRNParams],
		Grad: func(g *op.Grad, p LRNParams) []op.Entry {
			return []op.Entry{LRNGrad.Apply(p, g.Head(0), g.In(0), g.Out(1))}
		},
		Ref: lrnRef,
	})
	LRNGrad.Define(op.Spec[LRNParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[LRNParams]("out_grad", "data", "tmp_norm"),
		Infer:     inferLRN,
		InferType: op.FloatType[LRNParams],
		Grad:      lrnSecond,
		Ref:       lrnGradRef,
	})
}

func inferLRN(p LRNParams, in, out []dtype.Shape) error {
	if p.Nsize%2 == 0 {
		return op.Errorf("nsize", "%d, want an odd number", p.Nsize)
	}
	if err := op.SameShape(p, in, out); err != nil {
		return err
	}
	if in[0] != nil && len(in[0]) < 2 {
		return op.Errorf("data", "shape %v, want at least 2 axes", in[0])
	}
	return nil
}

// neighbours sums f over the channels around each element.
func neighbours(p LRNParams, s dtype.Shape, f func(i int) float64) []float64 {
	v, half := newChannels(s, 1), p.Nsize/2
	sums := make([]float64, s.Size())
	for i := range sums {
		c := i / v.inner % v.count
		for k := max(c-half, 0); k <= min(c+half, v.count-1); k++ {
			sums[i] += f(i + (k-c)*v.inner)
		}
	}
	return sums
}

func lrnRef(p LRNParams, c *op.Call) error {
	x := loop.Floats(c.In[0])
	norm := neighbours(p, c.In[0].Shape, func(i int) float64 { return x[i] * x[i] })
	y := make([]float64, len(x))
	for i := range norm {
		norm[i] = p.Knorm.Value() + p.Alpha.Value()/float64(p.Nsize)*norm[i]
		y[i] = x[i] * math.Pow(norm[i], -p.Beta.Value())
	}
	return storeWanted(c, y, norm)
}

func lrnGradRef(p LRNParams, c *op.Call) error {
	dy, x, norm := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	beta := p.Beta.Value()
	across := neighbours(p, c.In[0].Shape, func(i int) float64 {
		return dy[i] * x[i] * math.Pow(norm[i], -beta-1)
	})
	for i := range dy {
		dy[i] = dy[i]*math.Pow(norm[i], -beta) -
			2*beta*p.Alpha.Value()/float64(p.Nsize)*x[i]*across[i]
	}
	loop.Store(c.Out[0], 0, dy)
	return nil
}
