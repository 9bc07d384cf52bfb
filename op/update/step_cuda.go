//go:build cuda

package update

import (
	"math"
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// stepArgs is the parameter of the kernels in update.cu.
type stepArgs struct {
	out, weight, grad unsafe.Pointer
	state             [4]unsafe.Pointer
	n, states, mixed  int
	numbers           [12]float64
	scale             unsafe.Pointer
	scaleType         int
	rates, decays     unsafe.Pointer
	listType, which   int
}

// numbers are what a rule is made of: learning rate, weight decay, factor and limit of the gradient, and five of its own.
type numbers [9]float64

func init() {
	sgd := func(p SGDUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value()}
	}
	stepCUDA(SGDUpdate, "sgd", false, sgd)
	stepCUDA(MPSGDUpdate, "sgd", true, sgd)
	mom := func(p SGDMomUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Momentum}
	}
	stepCUDA(SGDMomUpdate, "sgd_mom", false, mom)
	stepCUDA(MPSGDMomUpdate, "sgd_mom", true, mom)
	nag := func(p NAGMomUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Momentum}
	}
	stepCUDA(NAGMomUpdate, "nag_mom", false, nag)
	stepCUDA(MPNAGMomUpdate, "nag_mom", true, nag)
	stepCUDA(AdamUpdate, "adam", false, func(p AdamUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Beta1.Value(), p.Beta2.Value(), p.Epsilon.Value()}
	})
	adamW := func(p AdamWUpdateParams) numbers {
		return numbers{p.LR, p.WD, 1, p.ClipGradient.Value(), p.Beta1.Value(), p.Beta2.Value(), p.Epsilon.Value(), p.Eta}
	}
	scaledStepCUDA(AdamWUpdate, "adamw", false, true, adamW)
	scaledStepCUDA(MPAdamWUpdate, "adamw", true, true, adamW)
	stepCUDA(FTMLUpdate, "ftml", false, func(p FTMLUpdateParams) numbers {
		b1, b2 := p.Beta1.Value(), p.Beta2.Value()
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGrad.Value(), b1, b2, p.Epsilon.Value(), 1 - math.Pow(b1, float64(p.T)), 1 - math.Pow(b2, float64(p.T))}
	})
	stepCUDA(RMSPropUpdate, "rmsprop", false, func(p RMSPropUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Gamma1.Value(), 0, p.Epsilon.Value(), p.ClipWeights.Value()}
	})
	stepCUDA(RMSPropAlexUpdate, "rmspropalex", false, func(p RMSPropAlexUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Gamma1.Value(), p.Gamma2.Value(), p.Epsilon.Value(), p.ClipWeights.Value()}
	})
	stepCUDA(FtrlUpdate, "ftrl", false, func(p FtrlUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Lamda1.Value(), p.Beta.Value()}
	})
	stepCUDA(AdagradUpdate, "adagrad", false, func(p AdagradUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), 0, 0, p.Epsilon.Value()}
	})
	stepCUDA(SignSGDUpdate, "signsgd", false, func(p SignSGDUpdateParams) numbers { return numbers{p.LR, p.WD, 1, -1} })
	stepCUDA(SignumUpdate, "signum", false, func(p SignumUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Momentum, p.WDLH}
	})
}

// stepCUDA attaches a rule. With mixed precision the last input is the exact weight.
func stepCUDA[P any](h op.Handle[P], name string, mixed bool, of func(P) numbers) {
	scaledStepCUDA(h, name, mixed, false, of)
}

// scaledStepCUDA is stepCUDA where the factor of the gradient may be the last input.
func scaledStepCUDA[P any](h op.Handle[P], name string, mixed, scaled bool, of func(P) numbers) {
	attach.CUDA(h, func(p P, a *op.Args) (*op.Prepared, error) {
		t, last := a.Out[0].DType, len(a.In)
		if scaled {
			last--
		}
		if !cuda.Serves("update", t) || last > 6 {
			return nil, op.ErrUnsupported
		}
		f := cuda.Func("update", name, t)
		fixed := stepArgs{n: a.Out[0].Shape.Size(), states: last - 2}
		if scaled {
			fixed.scaleType = cuda.Code(a.In[last].DType)
		}
		if mixed {
			fixed.mixed = 1
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			args := fixed
			args.out, args.weight, args.grad = c.Out[0].Data, c.In[0].Data, c.In[1].Data
			for i, s := range c.In[2:last] {
				args.state[i] = s.Data
			}
			if scaled {
				args.scale = c.In[last].Data
			}
			now := of(h.At(p, c))
			copy(args.numbers[:], now[:])
			return cuda.LaunchWith(q, f, q.Each(args.n), &args)
		})
	})
}
