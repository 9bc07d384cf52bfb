package update

import (
	"math"

	"gomx/op"
)

// AdamUpdateParams configures AdamUpdate.
type AdamUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate, the correction of bias included"`
	Beta1        op.Opt[float64] `op:"beta1" default:"0.9" doc:"decay of the mean of gradients"`
	Beta2        op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added to the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the gradient's elements, negative for none"`
	NoLazyUpdate bool            `op:"lazy_update,not" doc:"update only the rows that a row_sparse gradient stores; otherwise the others decay and go on by their means"`
}

// FTMLUpdateParams configures FTMLUpdate.
type FTMLUpdateParams struct {
	LR          float64         `op:"lr,required,run" doc:"learning rate"`
	Beta1       op.Opt[float64] `op:"beta1" default:"0.6" doc:"decay of the mean of gradients"`
	Beta2       op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon     op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added to the root"`
	T           int             `op:"t,required" min:"1" doc:"number of the step, from 1 on"`
	WD          float64         `op:"wd" doc:"weight decay"`
	RescaleGrad op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGrad    op.Opt[float64] `op:"clip_grad" default:"-1" doc:"limit of the gradient's elements, negative for none"`
}

// Adam and its relatives that keep moments of gradients.
var (
	// AdamUpdate is one step of Adam.
	AdamUpdate = op.Declare[AdamUpdateParams]("adam_update")
	// FTMLUpdate is one step of Follow the Moving Leader.
	FTMLUpdate = op.Declare[FTMLUpdateParams]("ftml_update")
)

func init() {
	define(AdamUpdate, rule[AdamUpdateParams]{
		doc: `AdamUpdate (adam_update) is one step of Adam (Kingma and Ba 2015).

g = clip(rescale_grad·grad + wd·weight); mean = beta1·mean + (1-beta1)·g;
var = beta2·var + (1-beta2)·g²; weight -= lr·mean/(sqrt(var) + epsilon)`,
		goName:  "AdamUpdate",
		aliases: []string{"_sparse_adam_update"},
		states:  []string{"mean", "var"},
		step: func(p AdamUpdateParams) func(v []float64) {
			b1, b2 := p.Beta1.Value(), p.Beta2.Value()
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1]+p.WD*v[0], p.ClipGradient.Value())
				v[2] = b1*v[2] + (1-b1)*g
				v[3] = b2*v[3] + (1-b2)*g*g
				v[0] -= p.LR * v[2] / (math.Sqrt(v[3]) + p.Epsilon.Value())
			}
		},
		rows: &byRows[AdamUpdateParams]{
			lazy: func(p AdamUpdateParams) bool { return !p.NoLazyUpdate },
			fast: func(p AdamUpdateParams) rowKernel {
				return rowKernel{rule: rowsAdam, lr: p.LR, wd: p.WD, beta1: p.Beta1.Value(),
					beta2: p.Beta2.Value(), eps: p.Epsilon.Value(),
					rescale: p.RescaleGrad.Value(), clip: p.ClipGradient.Value()}
			},
		},
	})
	define(FTMLUpdate, rule[FTMLUpdateParams]{
		doc: `FTMLUpdate (ftml_update) is one step of Follow the Moving Leader (Zheng and Kwok 2017).

g = clip(rescale_grad·grad + wd·weight); v = beta2·v + (1-beta2)·g²;
d' = (1-beta1^t)/lr·(sqrt(v/(1-beta2^t)) + epsilon);
z = beta1·z + (1-beta1)·g - (d' - beta1·d)·weight; d = d'; weight = -z/d`,
		goName: "FTMLUpdate",
		states: []string{"d", "v", "z"},
		step: func(p FTMLUpdateParams) func(v []float64) {
			b1, b2 := p.Beta1.Value(), p.Beta2.Value()
			c1, c2 := 1-math.Pow(b1, float64(p.T)), 1-math.Pow(b2, float64(p.T))
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1]+p.WD*v[0], p.ClipGrad.Value())
				v[3] = b2*v[3] + (1-b2)*g*g
				d := c1 / p.LR * (math.Sqrt(v[3]/c2) + p.Epsilon.Value())
				v[4] = b1*v[4] + (1-b1)*g - (d-b1*v[2])*v[0]
				v[2] = d
				v[0] = -v[4] / d
			}
		},
	})
}
