package update

import (
	"gomx/op"
	"gomx/op/loop"
)

// MultiSGDUpdateParams configures MultiSGDUpdate.
type MultiSGDUpdateParams struct {
	LRs          []float64       `op:"lrs,required" doc:"learning rate of each weight"`
	WDs          []float64       `op:"wds,required" doc:"weight decay of each weight"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NumWeights   int             `op:"num_weights" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// MultiSGDMomUpdateParams configures MultiSGDMomUpdate.
type MultiSGDMomUpdateParams struct {
	LRs          []float64       `op:"lrs,required" doc:"learning rate of each weight"`
	WDs          []float64       `op:"wds,required" doc:"weight decay of each weight"`
	Momentum     float64         `op:"momentum" doc:"share of the last step that is repeated"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NumWeights   int             `op:"num_weights" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// PreloadedSGDUpdateParams configures PreloadedMultiSGDUpdate.
type PreloadedSGDUpdateParams struct {
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NumWeights   int             `op:"num_weights" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// PreloadedSGDMomUpdateParams configures PreloadedMultiSGDMomUpdate.
type PreloadedSGDMomUpdateParams struct {
	Momentum     float64         `op:"momentum" doc:"share of the last step that is repeated"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NumWeights   int             `op:"num_weights" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// Stochastic gradient descent for many weights at once.
var (
	// MultiSGDUpdate is SGDUpdate for many weights.
	MultiSGDUpdate = op.Declare[MultiSGDUpdateParams]("multi_sgd_update")
	// MultiMPSGDUpdate is MPSGDUpdate for many weights.
	MultiMPSGDUpdate = op.Declare[MultiSGDUpdateParams]("multi_mp_sgd_update")
	// MultiSGDMomUpdate is SGDMomUpdate for many weights.
	MultiSGDMomUpdate = op.Declare[MultiSGDMomUpdateParams]("multi_sgd_mom_update")
	// MultiMPSGDMomUpdate is MPSGDMomUpdate for many weights.
	MultiMPSGDMomUpdate = op.Declare[MultiSGDMomUpdateParams]("multi_mp_sgd_mom_update")
	// PreloadedMultiSGDUpdate is MultiSGDUpdate with rates and decays in arrays.
	PreloadedMultiSGDUpdate = op.Declare[PreloadedSGDUpdateParams]("preloaded_multi_sgd_update")
	// PreloadedMultiMPSGDUpdate is MultiMPSGDUpdate with rates and decays in arrays.
	PreloadedMultiMPSGDUpdate = op.Declare[PreloadedSGDUpdateParams](
		"preloaded_multi_mp_sgd_update")
	// PreloadedMultiSGDMomUpdate is MultiSGDMomUpdate with rates and decays in arrays.
	PreloadedMultiSGDMomUpdate = op.Declare[PreloadedSGDMomUpdateParams](
		"preloaded_multi_sgd_mom_update")
	// PreloadedMultiMPSGDMomUpdate is MultiMPSGDMomUpdate with rates and decays in arrays.
	PreloadedMultiMPSGDMomUpdate = op.Declare[PreloadedSGDMomUpdateParams](
		"preloaded_multi_mp_sgd_mom_update")
)

const (
	multiDoc = "Weights, gradients and states are interleaved: all operands of the first " +
		"weight, then those of the next.\n"
	preloadedDoc = multiDoc + "The last two inputs are vectors of learning rates and weight " +
		"decays.\n"
)

func init() {
	for _, mixed := range []bool{false, true} {
		defineMultiSGD(mixed)
		defineMultiMom(mixed)
		definePreloadedSGD(mixed)
		definePreloadedMom(mixed)
	}
}

// variant picks the operator with or without master weights and its Go name.
func variant[P any](mixed bool, plain, mp op.Handle[P], names [2]string) (op.Handle[P], string) {
	if mixed {
		return mp, names[1]
	}
	return plain, names[0]
}

func defineMultiSGD(mixed bool) {
	h, name := variant(mixed, MultiSGDUpdate, MultiMPSGDUpdate, [2]string{"MultiSGDUpdate",
		"MultiMPSGDUpdate"})
	defineMulti(h, multi[MultiSGDUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of stochastic gradient descent for many " +
			"weights.\n\n" + multiDoc, goName: name, mixed: mixed,
		count: func(p MultiSGDUpdateParams) int { return p.NumWeights },
		lists: func(p MultiSGDUpdateParams) map[string]int {
			return map[string]int{"lrs": len(p.LRs), "wds": len(p.WDs)}
		},
		apply: func(p MultiSGDUpdateParams, _ *op.Call, i int, g group) {
			stepTensors(g, sgdStep(SGDUpdateParams{LR: p.LRs[i], WD: p.WDs[i],
				RescaleGrad: p.RescaleGrad, ClipGradient: p.ClipGradient}))
		},
	})
}

func defineMultiMom(mixed bool) {
	h, name := variant(mixed, MultiSGDMomUpdate, MultiMPSGDMomUpdate, [2]string{"MultiSGDMomUpdate",
		"MultiMPSGDMomUpdate"})
	defineMulti(h, multi[MultiSGDMomUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of gradient descent with momentum for many " +
			"weights.\n\n" + multiDoc, goName: name, mixed: mixed,
		states: []string{"mom"},
		count:  func(p MultiSGDMomUpdateParams) int { return p.NumWeights },
		lists: func(p MultiSGDMomUpdateParams) map[string]int {
			return map[string]int{"lrs": len(p.LRs), "wds": len(p.WDs)}
		},
		apply: func(p MultiSGDMomUpdateParams, _ *op.Call, i int, g group) {
			stepTensors(g, momStep(SGDMomUpdateParams{LR: p.LRs[i], WD: p.WDs[i],
				Momentum: p.Momentum, RescaleGrad: p.RescaleGrad, ClipGradient: p.ClipGradient}))
		},
	})
}

// loaded reads learning rate and weight decay number i from the last two inputs.
func loaded(c *op.Call, i int) (lr, wd float64) {
	n := len(c.In)
	return loop.Floats(c.In[n-2])[i], loop.Floats(c.In[n-1])[i]
}

func definePreloadedSGD(mixed bool) {
	h, name := variant(mixed, PreloadedMultiSGDUpdate, PreloadedMultiMPSGDUpdate,
		[2]string{"PreloadedMultiSGDUpdate", "PreloadedMultiMPSGDUpdate"})
	defineMulti(h, multi[PreloadedSGDUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of stochastic gradient descent for many " +
			"weights.\n\n" + preloadedDoc, goName: name, mixed: mixed,
		shared: []string{"lrs", "wds"},
		count:  func(p PreloadedSGDUpdateParams) int { return p.NumWeights },
		apply: func(p PreloadedSGDUpdateParams, c *op.Call, i int, g group) {
			lr, wd := loaded(c, i)
			stepTensors(g, sgdStep(SGDUpdateParams{LR: lr, WD: wd, RescaleGrad: p.RescaleGrad,
				ClipGradient: p.ClipGradient}))
		},
	})
}

func definePreloadedMom(mixed bool) {
	h, name := variant(mixed, PreloadedMultiSGDMomUpdate, PreloadedMultiMPSGDMomUpdate,
		[2]string{"PreloadedMultiSGDMomUpdate", "PreloadedMultiMPSGDMomUpdate"})
	defineMulti(h, multi[PreloadedSGDMomUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of gradient descent with momentum for many " +
			"weights.\n\n" + preloadedDoc, goName: name, mixed: mixed,
		states: []string{"mom"}, shared: []string{"lrs", "wds"},
		count: func(p PreloadedSGDMomUpdateParams) int { return p.NumWeights },
		apply: func(p PreloadedSGDMomUpdateParams, c *op.Call, i int, g group) {
			lr, wd := loaded(c, i)
			stepTensors(g, momStep(SGDMomUpdateParams{LR: lr, WD: wd, Momentum: p.Momentum,
				RescaleGrad: p.RescaleGrad, ClipGradient: p.ClipGradient}))
		},
	})
}
