package update

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// AdamWUpdateParams configures AdamWUpdate.
type AdamWUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Beta1        op.Opt[float64] `op:"beta1" default:"0.9" doc:"decay of the mean of gradients"`
	Beta2        op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added to the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	Eta          float64         `op:"eta,required" doc:"factor of the schedule"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
	LazyUpdate   bool            `op:"lazy_update" doc:"update only the rows that a row_sparse gradient stores; otherwise the others decay and go on by their means"`
}

// Adam with decoupled weight decay.
var (
	// AdamWUpdate is one step of AdamW.
	AdamWUpdate = op.Declare[AdamWUpdateParams]("_adamw_update")
	// MPAdamWUpdate is AdamWUpdate with master weights.
	MPAdamWUpdate = op.Declare[AdamWUpdateParams]("_mp_adamw_update")
)

const adamWDoc = `AdamWUpdate (_adamw_update) is one step of Adam with decoupled weight decay (Loshchilov and Hutter 2019).

g = clip(rescale_grad·grad), where rescale_grad is an input of one element;
mean = beta1·mean + (1-beta1)·g; var = beta2·var + (1-beta2)·g²;
weight -= eta·(lr·mean/(sqrt(var) + epsilon) + wd·weight).
Nothing is changed when rescale_grad is zero or not finite.`

func init() {
	defineAdamW(AdamWUpdate, "AdamWUpdate", false)
	defineAdamW(MPAdamWUpdate, "MPAdamWUpdate", true)
}

func defineAdamW(h op.Handle[AdamWUpdateParams], goName string, mixed bool) {
	in := operands([]string{"mean", "var"})
	if mixed {
		in = append(in, op.Input{Name: "weight32", Role: op.State})
	}
	in = append(in, op.Input{Name: "rescale_grad"})
	last := len(in) - 1
	rows := byRows[AdamWUpdateParams]{extra: 1,
		lazy: func(p AdamWUpdateParams) bool { return p.LazyUpdate },
		row: func(p AdamWUpdateParams, c *op.Call) func(v [][]float64) {
			return byElement(adamW(p, loop.Floats(c.In[last])[0]))
		},
	}
	s := op.Spec[AdamWUpdateParams]{
		Traits: op.Traits{
			Doc:     adamWDoc,
			GoName:  goName,
			NoGrad:  noGrad,
			Inplace: [][2]int{{0, 0}},
			Mutates: from(2, last),
			Update:  true,
		},
		Inputs: func(AdamWUpdateParams) []op.Input { return in },
		Infer: func(p AdamWUpdateParams, in, out []dtype.Shape) error {
			if err := oneElement("rescale_grad", &in[last]); err != nil {
				return err
			}
			return op.SameShape(p, in[:last], out)
		},
		InferType: func(p AdamWUpdateParams, in, out []dtype.Type) error {
			if mixed {
				return mixedType(in, out, 2, false)
			}
			return op.FloatType(p, in, out)
		},
		Ref: func(p AdamWUpdateParams, c *op.Call) error {
			stepTensors(group{c.In[:last], c.Out[0], mixed}, adamW(p, loop.Floats(c.In[last])[0]))
			return nil
		},
	}
	if !mixed {
		s.Storage, s.Sparse = rows.storage, rows.step
	}
	h.Define(s)
}

// adamW is the rule for weight, gradient, mean and variance.
func adamW(p AdamWUpdateParams, rescale float64) func(v []float64) {
	if rescale == 0 || math.IsNaN(rescale) || math.IsInf(rescale, 0) {
		return func([]float64) {}
	}
	b1, b2 := p.Beta1.Value(), p.Beta2.Value()
	return func(v []float64) {
		g := clip(rescale*v[1], p.ClipGradient.Value())
		v[2] = b1*v[2] + (1-b1)*g
		v[3] = b2*v[3] + (1-b2)*g*g
		v[0] -= p.Eta * (p.LR*v[2]/(math.Sqrt(v[3])+p.Epsilon.Value()) + p.WD*v[0])
	}
}

// oneElement checks a scalar operand; unknown ones become vectors of length one.
func oneElement(arg string, s *dtype.Shape) error {
	if *s == nil {
		*s = dtype.Shape{1}
	}
	if n := s.Size(); n != -1 && n != 1 {
		return op.Errorf(arg, "shape %v, want one element", *s)
	}
	return nil
}
