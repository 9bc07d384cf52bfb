//go:build cuda

package update

func init() {
	stepCUDA(RMSPropUpdate, "rmsprop", false, func(p RMSPropUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Gamma1.Value(),
			0, p.Epsilon.Value(), p.ClipWeights.Value()}
	})
	stepCUDA(RMSPropAlexUpdate, "rmspropalex", false, func(p RMSPropAlexUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Gamma1.Value(),
			p.Gamma2.Value(), p.Epsilon.Value(), p.ClipWeights.Value()}
	})
}
