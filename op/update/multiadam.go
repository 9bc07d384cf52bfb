package update

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// MultiAdamWUpdateParams configures MultiAdamWUpdate.
type MultiAdamWUpdateParams struct {
	LRs          []float64       `op:"lrs,required" doc:"learning rate of each weight"`
	Beta1        op.Opt[float64] `op:"beta1" default:"0.9" doc:"decay of the mean of gradients"`
	Beta2        op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added to the root"`
	WDs          []float64       `op:"wds,required" doc:"weight decay of each weight"`
	Etas         []float64       `op:"etas,required" doc:"factor of the schedule of each weight"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NumWeights   int             `op:"num_weights" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// MultiLambUpdateParams configures MultiLambUpdate.
type MultiLambUpdateParams struct {
	LearningRates    []float64       `op:"learning_rates,required" doc:"learning rate of each weight"`
	Beta1            op.Opt[float64] `op:"beta1" default:"0.9" doc:"decay of the mean of gradients"`
	Beta2            op.Opt[float64] `op:"beta2" default:"0.999" doc:"decay of the mean of squared gradients"`
	Epsilon          op.Opt[float64] `op:"epsilon" default:"1e-06" doc:"added to the root"`
	WDs              []float64       `op:"wds,required" doc:"weight decay of each weight"`
	RescaleGrad      op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradients"`
	LowerBound       op.Opt[float64] `op:"lower_bound" default:"-1" doc:"least norm of a weight, negative for none"`
	UpperBound       op.Opt[float64] `op:"upper_bound" default:"-1" doc:"greatest norm of a weight, negative for none"`
	ClipGradient     op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradients' elements, negative for none"`
	NoBiasCorrection bool            `op:"bias_correction,not" doc:"correct the means for starting at zero"`
	StepCount        []int           `op:"step_count,required" doc:"number of the step of each weight"`
	NumTensors       int             `op:"num_tensors" default:"1" min:"1" max:"16384" doc:"number of weights"`
}

// AdamW and LAMB for many weights at once.
var (
	// MultiAdamWUpdate is AdamWUpdate for many weights.
	MultiAdamWUpdate = op.Declare[MultiAdamWUpdateParams]("_multi_adamw_update")
	// MultiMPAdamWUpdate is MPAdamWUpdate for many weights.
	MultiMPAdamWUpdate = op.Declare[MultiAdamWUpdateParams]("_multi_mp_adamw_update")
	// MultiLambUpdate is both phases of LAMB for many weights.
	MultiLambUpdate = op.Declare[MultiLambUpdateParams]("_multi_lamb_update")
	// MultiMPLambUpdate is MultiLambUpdate with master weights.
	MultiMPLambUpdate = op.Declare[MultiLambUpdateParams]("_multi_mp_lamb_update")
)

func init() {
	for _, mixed := range []bool{false, true} {
		defineMultiAdamW(mixed)
		defineMultiLamb(mixed)
	}
}

func defineMultiAdamW(mixed bool) {
	h, name := variant(mixed, MultiAdamWUpdate, MultiMPAdamWUpdate, [2]string{"MultiAdamWUpdate",
		"MultiMPAdamWUpdate"})
	defineMulti(h, multi[MultiAdamWUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of AdamW for many weights.\n\n" + multiDoc +
			"The last input, rescale_grad, has one element.\n",
		goName: name, mixed: mixed,
		states: []string{"mean", "var"}, shared: []string{"rescale_grad"},
		count: func(p MultiAdamWUpdateParams) int { return p.NumWeights },
		lists: func(p MultiAdamWUpdateParams) map[string]int {
			return map[string]int{"lrs": len(p.LRs), "wds": len(p.WDs), "etas": len(p.Etas)}
		},
		apply: func(p MultiAdamWUpdateParams, c *op.Call, i int, g group) {
			one := AdamWUpdateParams{LR: p.LRs[i], WD: p.WDs[i], Eta: p.Etas[i], Beta1: p.Beta1,
				Beta2: p.Beta2, Epsilon: p.Epsilon, ClipGradient: p.ClipGradient}
			stepTensors(g, adamW(one, loop.Floats(c.In[len(c.In)-1])[0]))
		},
	})
}

func defineMultiLamb(mixed bool) {
	h, name := variant(mixed, MultiLambUpdate, MultiMPLambUpdate, [2]string{"MultiLambUpdate",
		"MultiMPLambUpdate"})
	defineMulti(h, multi[MultiLambUpdateParams]{
		doc: name + " (" + h.Name + ") is one step of LAMB, both phases, for many weights.\n\n" +
			multiDoc, goName: name, mixed: mixed,
		states: []string{"mean", "var"},
		count:  func(p MultiLambUpdateParams) int { return p.NumTensors },
		lists: func(p MultiLambUpdateParams) map[string]int {
			return map[string]int{"learning_rates": len(p.LearningRates), "wds": len(p.WDs),
				"step_count": len(p.StepCount)}
		},
		apply: lamb,
	})
}

// lamb takes a whole step for one weight: the direction, both norms, the update.
func lamb(p MultiLambUpdateParams, _ *op.Call, i int, g group) {
	direction := lambDirection(LambUpdatePhase1Params{Beta1: p.Beta1, Beta2: p.Beta2,
		Epsilon: p.Epsilon, T: p.StepCount[i],
		NoBiasCorrection: p.NoBiasCorrection, WD: p.WDs[i], RescaleGrad: p.RescaleGrad,
		ClipGradient: p.ClipGradient})
	read, write := g.operands()
	var along []float64
	r1, r2 := 0.0, 0.0
	each(read, append([]op.Tensor{{}, {}}, write[2:]...), func(v []float64) {
		r1 += v[0] * v[0]
		direction(v)
		r2 += v[0] * v[0]
		along = append(along, v[0])
	})
	lr := p.LearningRates[i] * trust(LambUpdatePhase2Params{LowerBound: p.LowerBound,
		UpperBound: p.UpperBound}, math.Sqrt(r1), math.Sqrt(r2))
	k := 0
	each(read[:1], write[:1], func(v []float64) {
		v[0] -= lr * along[k]
		k++
	})
	g.round()
}
