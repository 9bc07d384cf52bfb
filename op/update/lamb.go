package update

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// LambUpdatePhase1Params configures LambUpdatePhase1.
type LambUpdatePhase1Params struct {
	Beta1            op.Opt[float64] `op:"beta1" default:"0.9" doc:"decay of the mean of gradients"`
	Beta2            op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon          op.Opt[float64] `op:"epsilon" default:"1e-06" doc:"added to the root"`
	T                int             `op:"t,required" min:"0" doc:"number of the step"`
	NoBiasCorrection bool            `op:"bias_correction,not" doc:"correct the means for starting at zero"`
	WD               float64         `op:"wd,required" doc:"weight decay"`
	RescaleGrad      op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient     op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
}

// LambUpdatePhase2Params configures LambUpdatePhase2.
type LambUpdatePhase2Params struct {
	LR         float64         `op:"lr,required,run" doc:"learning rate"`
	LowerBound op.Opt[float64] `op:"lower_bound" default:"-1" doc:"least norm of the weights, negative for none"`
	UpperBound op.Opt[float64] `op:"upper_bound" default:"-1" doc:"greatest norm of the weights, negative for none"`
}

// The two phases of LAMB (You et al. 2020).
var (
	// LambUpdatePhase1 computes the direction of a step.
	LambUpdatePhase1 = op.Declare[LambUpdatePhase1Params]("lamb_update_phase1")
	// LambUpdatePhase2 takes the step.
	LambUpdatePhase2 = op.Declare[LambUpdatePhase2Params]("lamb_update_phase2")
	// MPLambUpdatePhase1 is LambUpdatePhase1 with master weights.
	MPLambUpdatePhase1 = op.Declare[LambUpdatePhase1Params]("mp_lamb_update_phase1")
	// MPLambUpdatePhase2 is LambUpdatePhase2 with master weights.
	MPLambUpdatePhase2 = op.Declare[LambUpdatePhase2Params]("mp_lamb_update_phase2")
)

const lamb1Doc = `LambUpdatePhase1 (lamb_update_phase1) computes the direction of a LAMB step from weight and gradient.

g = clip(rescale_grad·grad); mean = beta1·mean + (1-beta1)·g; var = beta2·var + (1-beta2)·g²;
output = mean'/(sqrt(var') + epsilon) + wd·weight, where mean' and var' are corrected for bias by
1/(1-beta^t). The weight is not changed.`

const lamb2Doc = `LambUpdatePhase2 (lamb_update_phase2) takes a LAMB step along g, the output of the first phase.

r1 is the norm of the weight, within the bounds, r2 that of g;
weight -= lr·r1/r2·g, without the factor r1/r2 where one of them is zero.`

func init() {
	defineLamb1(LambUpdatePhase1, "LambUpdatePhase1", 0)
	defineLamb1(MPLambUpdatePhase1, "MPLambUpdatePhase1", 4)
	defineLamb2(LambUpdatePhase2, "LambUpdatePhase2", 0)
	defineLamb2(MPLambUpdatePhase2, "MPLambUpdatePhase2", 4)
}

// lambDirection is the rule of the first phase for weight, gradient, mean and variance.
func lambDirection(p LambUpdatePhase1Params) func(v []float64) {
	b1, b2 := p.Beta1.Value(), p.Beta2.Value()
	c1, c2 := 1.0, 1.0
	if !p.NoBiasCorrection {
		c1, c2 = 1-math.Pow(b1, float64(p.T)), 1-math.Pow(b2, float64(p.T))
	}
	return func(v []float64) {
		g := clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value())
		v[2] = b1*v[2] + (1-b1)*g
		v[3] = b2*v[3] + (1-b2)*g*g
		v[0] = v[2]/c1/(math.Sqrt(v[3]/c2)+p.Epsilon.Value()) + p.WD*v[0]
	}
}

// defineLamb1 defines the first phase; master is the input with the exact weight, 0 when that is
// the weight itself. With a master weight the direction has float32.
func defineLamb1(h op.Handle[LambUpdatePhase1Params], goName string, master int) {
	in := operands([]string{"mean", "var"})
	if master > 0 {
		in = append(in, op.Input{Name: "weight32", Role: op.State})
	}
	h.Define(op.Spec[LambUpdatePhase1Params]{
		Traits: op.Traits{Doc: lamb1Doc, GoName: goName, NoGrad: noGrad, Mutates: []int{2, 3},
			Update: true},
		Inputs: func(LambUpdatePhase1Params) []op.Input { return in },
		Infer:  op.SameShape[LambUpdatePhase1Params],
		InferType: func(p LambUpdatePhase1Params, in, out []dtype.Type) error {
			if master == 0 {
				return op.FloatType(p, in, out)
			}
			return mixedType(in, out, 2, true)
		},
		Ref: func(p LambUpdatePhase1Params, c *op.Call) error {
			read := []op.Tensor{c.In[master], c.In[1], c.In[2], c.In[3]}
			each(read, []op.Tensor{c.Out[0], {}, c.In[2], c.In[3]}, lambDirection(p))
			return nil
		},
	})
}

func defineLamb2(h op.Handle[LambUpdatePhase2Params], goName string, master int) {
	in := []op.Input{{Name: "weight"}, {Name: "g"}, {Name: "r1"}, {Name: "r2"},
		{Name: "weight32", Role: op.State}}
	var mutates []int
	if master == 0 {
		in = in[:4]
	} else {
		mutates = []int{4}
	}
	h.Define(op.Spec[LambUpdatePhase2Params]{
		Traits: op.Traits{
			Doc:     lamb2Doc,
			GoName:  goName,
			NoGrad:  noGrad,
			Inplace: [][2]int{{0, 0}},
			Mutates: mutates,
			Update:  true,
		},
		Inputs: func(LambUpdatePhase2Params) []op.Input { return in },
		Infer:  inferLamb2,
		InferType: func(p LambUpdatePhase2Params, in, out []dtype.Type) error {
			if master == 0 {
				return op.FloatType(p, in, out)
			}
			return mixedType(in, out, 1, false)
		},
		Ref: func(p LambUpdatePhase2Params, c *op.Call) error {
			lr := p.LR * trust(p, loop.Floats(c.In[2])[0], loop.Floats(c.In[3])[0])
			write := []op.Tensor{c.Out[0]}
			step := func(v []float64) { v[0] -= lr * v[1] }
			if master > 0 {
				write = []op.Tensor{c.In[master]}
			}
			each([]op.Tensor{c.In[master], c.In[1]}, write, step)
			if master > 0 {
				each(c.In[master:], c.Out, func([]float64) {})
			}
			return nil
		},
	})
}

// trust is the ratio of the norms of weight and direction.
func trust(p LambUpdatePhase2Params, r1, r2 float64) float64 {
	if p.LowerBound.Value() >= 0 {
		r1 = max(r1, p.LowerBound.Value())
	}
	if p.UpperBound.Value() >= 0 {
		r1 = min(r1, p.UpperBound.Value())
	}
	if r1 == 0 || r2 == 0 {
		return 1
	}
	return r1 / r2
}

// inferLamb2 infers that both norms have one element and any rank.
func inferLamb2(p LambUpdatePhase2Params, in, out []dtype.Shape) error {
	same := append([]dtype.Shape{in[0], in[1]}, in[4:]...)
	if err := op.SameShape(p, same, out); err != nil {
		return err
	}
	in[0], in[1] = same[0], same[1]
	copy(in[4:], same[2:])
	if err := oneElement("r1", &in[2]); err != nil {
		return err
	}
	return oneElement("r2", &in[3])
}
