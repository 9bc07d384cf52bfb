//go:build cuda

package update

func init() {
	adamW := func(p AdamWUpdateParams) numbers {
		return numbers{p.LR, p.WD, 1, p.ClipGradient.Value(), p.Beta1.Value(), p.Beta2.Value(),
			p.Epsilon.Value(), p.Eta}
	}
	scaledStepCUDA(AdamWUpdate, "adamw", false, true, adamW)
	scaledStepCUDA(MPAdamWUpdate, "adamw", true, true, adamW)
}
