//go:build cuda

package update

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
}
