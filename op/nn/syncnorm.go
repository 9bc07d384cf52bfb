package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SyncBatchNormParams configures SyncBatchNorm.
type SyncBatchNormParams struct {
	Eps            op.Opt[float64] `op:"eps" default:"0.001" doc:"added to the variance"`
	Momentum       op.Opt[float64] `op:"momentum" default:"0.9" doc:"share of the old value in a moving average"`
	NoFixGamma     bool            `op:"fix_gamma,not" doc:"treat gamma as one and give it no gradient"`
	UseGlobalStats bool            `op:"use_global_stats" doc:"normalize by the moving averages in training too"`
	OutputMeanVar  bool            `op:"output_mean_var" doc:"also return mean and variance"`
	NDev           int             `op:"ndev" default:"1" min:"1" doc:"number of devices that share statistics"`
	Key            string          `op:"key,required" doc:"name of the layer: operators of one key share statistics"`
}

// SyncBatchNorm is BatchNorm of a batch that is divided among several devices of one process.
var SyncBatchNorm = op.Declare[SyncBatchNormParams]("_contrib_SyncBatchNorm")

// syncNormGrad is the gradient of SyncBatchNorm on several devices, with the operands of
// BatchNormGrad.
var syncNormGrad = op.Declare[SyncBatchNormParams]("_backward_contrib_SyncBatchNorm")

func init() {
	SyncBatchNorm.Define(op.Spec[SyncBatchNormParams]{
		Traits: op.Traits{
			Doc: `ContribSyncBatchNorm is BatchNorm of channels on axis 1 of a batch that several devices share.

In training the operators of ndev devices that have one key wait for each other and share mean and
variance of equal parts of the batch; a wait ends after 60 seconds with an error. With one device
the operator is BatchNorm.
The second output is the mean used, the third the variance; both carry no gradient.`,
			Inplace: [][2]int{{0, 0}},
			Mutates: []int{3, 4},
			Waits:   true,
			Kind:    op.Normalization,
			Once:    "where several devices share statistics",
		},
		Inputs: func(SyncBatchNormParams) []op.Input { return batchNormInputs(BatchNormParams{}) },
		Outputs: func(SyncBatchNormParams) []string {
			return []string{"output", "mean", "var", "inv"}
		},
		Visible: func(p SyncBatchNormParams) int { return visibleStats(p.OutputMeanVar) },
		Infer: func(p SyncBatchNormParams, in, out []dtype.Shape) error {
			if err := op.Same("var", &out[2], &out[3]); err != nil {
				return err
			}
			if err := inferBatchNorm(p.plain(), in, out[:3]); err != nil {
				return err
			}
			return op.Same("var", &out[2], &out[3])
		},
		InferType: func(_ SyncBatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:1], out[:1], in[1:], out[1:])
		},
		Grad: func(g *op.Grad, p SyncBatchNormParams) []op.Entry {
			in := []op.Entry{g.Head(0), g.In(0), g.In(1), g.Out(1), g.Out(3)}
			if p.shares() {
				return g.Each(syncNormGrad.Node(p, in...))
			}
			return g.Each(BatchNormGrad.Node(p.plain(), in...))
		},
		FLOPs: func(_ SyncBatchNormParams, in, _ []dtype.Shape) int64 {
			return 2 * int64(in[0].Size())
		},
		Ref: syncNorm,
	})
	syncNormGrad.Define(op.Spec[SyncBatchNormParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "second derivatives of statistics that devices " +
			"share are not provided", Inplace: [][2]int{{0, 0}, {1, 0}}, Waits: true},
		Inputs:  inputs[SyncBatchNormParams]("out_grad", "data", "gamma", "mean", "inv"),
		Outputs: func(SyncBatchNormParams) []string { return []string{"data", "gamma", "beta"} },
		Infer: func(p SyncBatchNormParams, in, out []dtype.Shape) error {
			return inferBatchNormGrad(p.plain(), in, out)
		},
		InferType: func(_ SyncBatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:2], out[:1], in[2:], out[1:])
		},
		Ref: syncNormBackward,
	})
}

// plain returns the parameters of the batch norm of one device.
func (p SyncBatchNormParams) plain() BatchNormParams {
	return BatchNormParams{Eps: p.Eps, Momentum: p.Momentum, NoFixGamma: p.NoFixGamma,
		UseGlobalStats: p.UseGlobalStats, Axis: op.Some(1)}
}

// shares reports whether devices share statistics in training.
func (p SyncBatchNormParams) shares() bool { return p.NDev > 1 && !p.UseGlobalStats }

func syncNorm(p SyncBatchNormParams, c *op.Call) error {
	if !p.shares() || !c.Train {
		y, means, invs := batchNorm(p.plain(), c)
		return storeWanted(c, y, means, variances(invs, p.Eps.Value()), invs)
	}
	v := newChannels(c.In[0].Shape, 1)
	x := loop.Floats(c.In[0])
	n := float64(v.outer * v.inner)
	stats := make([]float64, 2*v.count) // means, and means of squares
	means, vars, invs := stats[:v.count], stats[v.count:], make([]float64, v.count)
	for k := range v.count {
		v.each(k, func(i int) {
			means[k] += x[i] / n
			vars[k] += x[i] * x[i] / n
		})
	}
	if err := syncForward.average(p, stats); err != nil {
		return err
	}
	gamma, beta := loop.Floats(c.In[1]), loop.Floats(c.In[2])
	movingMean, movingVar := loop.Floats(c.In[3]), loop.Floats(c.In[4])
	m := p.Momentum.Value()
	for k, mean := range means {
		vars[k] = math.Max(0, vars[k]-mean*mean)
		invs[k] = 1 / math.Sqrt(vars[k]+p.Eps.Value())
		movingMean[k] = movingMean[k]*m + mean*(1-m)
		movingVar[k] = movingVar[k]*m + vars[k]*(1-m)
		scale := invs[k]
		if p.NoFixGamma {
			scale *= gamma[k]
		}
		v.each(k, func(i int) { x[i] = (x[i]-mean)*scale + beta[k] })
	}
	loop.Store(c.In[3], 0, movingMean)
	loop.Store(c.In[4], 0, movingVar)
	return storeWanted(c, x, means, vars, invs)
}

// variances returns the variances of which invs are the inverse standard deviations.
func variances(invs []float64, eps float64) []float64 {
	vars := make([]float64, len(invs))
	for k, v := range invs {
		vars[k] = math.Max(0, 1/(v*v)-eps)
	}
	return vars
}

func syncNormBackward(p SyncBatchNormParams, c *op.Call) error {
	if !c.Train {
		return batchNormGradRef(p.plain(), c)
	}
	v := newChannels(c.In[1].Shape, 1)
	dy, x := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	gamma, mean, inv := loop.Floats(c.In[2]), loop.Floats(c.In[3]), loop.Floats(c.In[4])
	n := float64(v.outer * v.inner)
	dgamma, dbeta := make([]float64, v.count), make([]float64, v.count)
	shared := make([]float64, 0, 2*v.count)
	for k := range v.count {
		v.each(k, func(i int) {
			dgamma[k] += dy[i] * (x[i] - mean[k]) * inv[k]
			dbeta[k] += dy[i]
		})
		shared = append(shared, dbeta[k]/n, dgamma[k]/n*inv[k])
	}
	if err := syncBackward.average(p, shared); err != nil {
		return err
	}
	for k := range v.count {
		scale := inv[k]
		if p.NoFixGamma {
			scale *= gamma[k]
		} else {
			dgamma[k] = 0
		}
		shift, tilt := shared[2*k], shared[2*k+1]
		v.each(k, func(i int) { dy[i] = scale * (dy[i] - shift - (x[i]-mean[k])*tilt) })
	}
	return storeWanted(c, dy, dgamma, dbeta)
}
