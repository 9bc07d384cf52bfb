package update

import "gomx/op"

// SGDUpdateParams configures SGDUpdate.
type SGDUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
	NoLazyUpdate bool            `op:"lazy_update,not" doc:"update only the rows that a row_sparse gradient stores; otherwise the others decay and go on by their momentum"`
}

// SGDMomUpdateParams configures SGDMomUpdate.
type SGDMomUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Momentum     float64         `op:"momentum" doc:"share of the last step that is repeated"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
	NoLazyUpdate bool            `op:"lazy_update,not" doc:"update only the rows that a row_sparse gradient stores; otherwise the others decay and go on by their momentum"`
}

// NAGMomUpdateParams configures NAGMomUpdate.
type NAGMomUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Momentum     float64         `op:"momentum" doc:"share of the last step that is repeated"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
}

// Stochastic gradient descent, plain, with momentum and with Nesterov's momentum.
var (
	// SGDUpdate is one step of stochastic gradient descent.
	SGDUpdate = op.Declare[SGDUpdateParams]("sgd_update")
	// SGDMomUpdate is SGDUpdate with momentum.
	SGDMomUpdate = op.Declare[SGDMomUpdateParams]("sgd_mom_update")
	// NAGMomUpdate is Nesterov's accelerated gradient.
	NAGMomUpdate = op.Declare[NAGMomUpdateParams]("nag_mom_update")
	// MPSGDUpdate is SGDUpdate with master weights.
	MPSGDUpdate = op.Declare[SGDUpdateParams]("mp_sgd_update")
	// MPSGDMomUpdate is SGDMomUpdate with master weights.
	MPSGDMomUpdate = op.Declare[SGDMomUpdateParams]("mp_sgd_mom_update")
	// MPNAGMomUpdate is NAGMomUpdate with master weights.
	MPNAGMomUpdate = op.Declare[NAGMomUpdateParams]("mp_nag_mom_update")
)

func init() {
	sgd := rule[SGDUpdateParams]{
		doc: `SGDUpdate (sgd_update) is one step of stochastic gradient descent.

weight = (1 - lr·wd)·weight - lr·clip(rescale_grad·grad)`,
		goName:  "SGDUpdate",
		aliases: []string{"_sparse_sgd_update"},
		step:    sgdStep,
		rows: &byRows[SGDUpdateParams]{
			lazy: func(p SGDUpdateParams) bool { return !p.NoLazyUpdate },
			fast: func(p SGDUpdateParams) rowKernel {
				return rowKernel{rule: rowsSGD, lr: p.LR, wd: p.WD, rescale: p.RescaleGrad.Value(),
					clip: p.ClipGradient.Value()}
			},
		},
	}
	define(SGDUpdate, sgd)
	defineMixed(MPSGDUpdate, "MPSGDUpdate", sgd)

	momentum := rule[SGDMomUpdateParams]{
		doc: `SGDMomUpdate (sgd_mom_update) is one step of stochastic gradient descent with momentum.

mom = momentum·mom - lr·(clip(rescale_grad·grad) + wd·weight); weight += mom`,
		goName:  "SGDMomUpdate",
		aliases: []string{"_sparse_sgd_mom_update"},
		states:  []string{"mom"},
		step:    momStep,
		rows: &byRows[SGDMomUpdateParams]{
			lazy: func(p SGDMomUpdateParams) bool { return !p.NoLazyUpdate },
			fast: func(p SGDMomUpdateParams) rowKernel {
				return rowKernel{rule: rowsMomentum, lr: p.LR, wd: p.WD, momentum: p.Momentum,
					rescale: p.RescaleGrad.Value(), clip: p.ClipGradient.Value()}
			},
		},
	}
	define(SGDMomUpdate, momentum)
	defineMixed(MPSGDMomUpdate, "MPSGDMomUpdate", momentum)

	nesterov := rule[NAGMomUpdateParams]{
		doc: `NAGMomUpdate (nag_mom_update) is one step of Nesterov's accelerated gradient.

g = clip(rescale_grad·grad) + wd·weight; mom = momentum·mom - lr·g; weight += momentum·mom - lr·g

With out=weight and wd above 0, MXNet 1.9.1 takes the weight that it has just written for the decay in the momentum; here both
are of the formula.`,
		goName: "NAGMomUpdate",
		states: []string{"mom"},
		step: func(p NAGMomUpdateParams) func(v []float64) {
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value()) + p.WD*v[0]
				v[2] = p.Momentum*v[2] - p.LR*g
				v[0] += p.Momentum*v[2] - p.LR*g
			}
		},
	}
	define(NAGMomUpdate, nesterov)
	defineMixed(MPNAGMomUpdate, "MPNAGMomUpdate", nesterov)
}

// sgdStep is the rule of gradient descent for weight and gradient.
func sgdStep(p SGDUpdateParams) func(v []float64) {
	return func(v []float64) {
		v[0] = (1-p.LR*p.WD)*v[0] - p.LR*clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value())
	}
}

// momStep is the rule of gradient descent with momentum for weight, gradient and momentum.
func momStep(p SGDMomUpdateParams) func(v []float64) {
	return func(v []float64) {
		v[2] = p.Momentum*v[2] - p.LR*p.WD*v[0] - p.LR*clip(p.RescaleGrad.Value()*v[1],
			p.ClipGradient.Value())
		v[0] += v[2]
	}
}
