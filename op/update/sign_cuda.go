//go:build cuda

package update

func init() {
	stepCUDA(SignSGDUpdate, "signsgd", false,
		func(p SignSGDUpdateParams) numbers { return numbers{p.LR, p.WD, 1, -1} })
	stepCUDA(SignumUpdate, "signum", false, func(p SignumUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Momentum,
			p.WDLH}
	})
}
