package update

import (
	"math"

	"gomx/op"
)

// FtrlUpdateParams configures FtrlUpdate.
type FtrlUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Lamda1       op.Opt[float64] `op:"lamda1" default:"0.01" doc:"weight of the absolute values, which makes weights zero"`
	Beta         op.Opt[float64] `op:"beta" default:"1" doc:"added to the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the gradient's elements, negative for none"`
}

// AdagradUpdateParams configures AdagradUpdate.
type AdagradUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-07" doc:"added to the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the gradient's elements, negative for none"`
}

// Optimizers that remember the sum of squared gradients.
var (
	// FtrlUpdate is one step of Follow the Regularized Leader.
	FtrlUpdate = op.Declare[FtrlUpdateParams]("ftrl_update")
	// AdagradUpdate is one step of AdaGrad.
	AdagradUpdate = op.Declare[AdagradUpdateParams]("_sparse_adagrad_update")
)

func init() {
	define(FtrlUpdate, rule[FtrlUpdateParams]{
		doc: `FtrlUpdate (ftrl_update) is one step of Follow the Regularized Leader (McMahan et al. 2013).

g = clip(rescale_grad·grad); z += g - (sqrt(n + g²) - sqrt(n))·weight/lr; n += g²;
weight = (sign(z)·lamda1 - z)/((beta + sqrt(n))/lr + wd) where |z| > lamda1, 0 elsewhere.
Of a row_sparse weight only the rows change that a row_sparse gradient stores; of a dense weight all.`,
		goName:  "FtrlUpdate",
		aliases: []string{"_sparse_ftrl_update"},
		states:  []string{"z", "n"},
		step: func(p FtrlUpdateParams) func(v []float64) {
			lamda, beta := p.Lamda1.Value(), p.Beta.Value()
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value())
				v[2] += g - (math.Sqrt(v[3]+g*g)-math.Sqrt(v[3]))*v[0]/p.LR
				v[3] += g * g
				if math.Abs(v[2]) <= lamda {
					v[0] = 0
				} else { // also where z is not a number
					v[0] = (sign(v[2])*lamda - v[2]) / ((beta+math.Sqrt(v[3]))/p.LR + p.WD)
				}
			}
		},
		rows: &byRows[FtrlUpdateParams]{sparseOnly: true},
	})
	define(AdagradUpdate, rule[AdagradUpdateParams]{
		doc: `AdagradUpdate (_sparse_adagrad_update) is one step of AdaGrad (Duchi et al. 2011).

g = clip(rescale_grad·grad); history += g²;
weight -= lr·(g/sqrt(history + epsilon) + wd·weight).
Only the rows change that a row_sparse gradient stores.`,
		goName: "AdagradUpdate",
		states: []string{"history"},
		step: func(p AdagradUpdateParams) func(v []float64) {
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value())
				v[2] += g * g
				v[0] -= p.LR * (g/math.Sqrt(v[2]+p.Epsilon.Value()) + p.WD*v[0])
			}
		},
		rows: &byRows[AdagradUpdateParams]{
			fast: func(p AdagradUpdateParams) rowKernel {
				return rowKernel{rule: rowsAdaGrad, lr: p.LR, wd: p.WD, eps: p.Epsilon.Value(),
					rescale: p.RescaleGrad.Value(), clip: p.ClipGradient.Value()}
			},
		},
	})
}
