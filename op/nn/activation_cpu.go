//go:build cgo

package nn

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

var activationsC = map[string]struct {
	value cpu.MapOp
	slope cpu.ZipOp
}{
	"relu": {cpu.ReLU, cpu.ReLUGrad}, "sigmoid": {cpu.Sigmoid, cpu.SigmoidGrad},
	"tanh":     {cpu.Tanh, cpu.TanhGrad},
	"softrelu": {cpu.Softplus, cpu.SoftplusGrad}, "softsign": {cpu.Softsign, cpu.SoftsignXGrad},
}

func init() {
	attach.TierC(Activation, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		return attach.Map(a, cpu.Map{Op: activationsC[p.ActType].value})
	})
	attach.TierC(ActivationGrad, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		return attach.Zip(a, cpu.Zip{Op: activationsC[p.ActType].slope})
	})
}

func leakyC(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope := float32(p.Slope.Value())
	switch p.ActType {
	case "prelu":
		return preluC(a)
	case "leaky":
		return attach.Map(a, cpu.Map{Op: cpu.Leaky, S: slope})
	case "elu":
		return attach.Map(a, cpu.Map{Op: cpu.ELU, S: slope})
	case "selu":
		return attach.Map(a, cpu.Map{Op: cpu.ScaledELU, S: seluAlpha, T: seluScale})
	case "gelu":
		return attach.Map(a, cpu.Map{Op: cpu.GELU})
	}
	return nil, op.ErrUnsupported
}

func leakyGradC(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope := float32(p.Slope.Value())
	switch {
	case p.ActType == "prelu":
		return preluGradC(a)
	case p.ActType == "leaky":
		return attach.Zip(a, cpu.Zip{Op: cpu.LeakyXGrad, S: slope})
	case p.ActType == "elu" && slope < 0:
		return attach.Zip(a, cpu.Zip{Op: cpu.ELUXGrad, S: slope})
	case p.ActType == "elu":
		return attach.Zip(a, cpu.Zip{Op: cpu.ELUGrad, S: slope})
	case p.ActType == "selu":
		return attach.Zip(a, cpu.Zip{Op: cpu.SELUGrad, S: seluAlpha, T: seluScale})
	case p.ActType == "gelu":
		return attach.Zip(a, cpu.Zip{Op: cpu.GELUXGrad})
	}
	return nil, op.ErrUnsupported
}
