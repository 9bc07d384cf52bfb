//go:build cuda

package update

func init() {
	stepCUDA(FtrlUpdate, "ftrl", false, func(p FtrlUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Lamda1.Value(),
			p.Beta.Value()}
	})
	stepCUDA(AdagradUpdate, "adagrad", false, func(p AdagradUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), 0, 0,
			p.Epsilon.Value()}
	})
}
