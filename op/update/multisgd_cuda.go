//go:build cuda

package update

func init() {
	for _, mixed := range []bool{false, true} {
		states := 0
		if mixed {
			states = 1
		}
		multiCUDA(pick(mixed, MultiSGDUpdate, MultiMPSGDUpdate),
			multiStep[MultiSGDUpdateParams]{name: "sgd", mixed: mixed, states: states,
				numbers: func(p MultiSGDUpdateParams, i int) numbers {
					return numbers{p.LRs[i], p.WDs[i], p.RescaleGrad.Value(),
						p.ClipGradient.Value()}
				}})
		multiCUDA(pick(mixed, MultiSGDMomUpdate, MultiMPSGDMomUpdate),
			multiStep[MultiSGDMomUpdateParams]{name: "sgd_mom", mixed: mixed, states: states + 1,
				numbers: func(p MultiSGDMomUpdateParams, i int) numbers {
					return numbers{p.LRs[i], p.WDs[i], p.RescaleGrad.Value(),
						p.ClipGradient.Value(),
						p.Momentum}
				}})
		multiCUDA(pick(mixed, PreloadedMultiSGDUpdate, PreloadedMultiMPSGDUpdate),
			multiStep[PreloadedSGDUpdateParams]{name: "sgd", mixed: mixed, states: states,
				loaded: true,
				numbers: func(p PreloadedSGDUpdateParams, _ int) numbers {
					return numbers{0, 0, p.RescaleGrad.Value(), p.ClipGradient.Value()}
				}})
		multiCUDA(pick(mixed, PreloadedMultiSGDMomUpdate, PreloadedMultiMPSGDMomUpdate),
			multiStep[PreloadedSGDMomUpdateParams]{name: "sgd_mom", mixed: mixed, states: states +
				1, loaded: true,
				numbers: func(p PreloadedSGDMomUpdateParams, _ int) numbers {
					return numbers{0, 0, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Momentum}
				}})
	}
}
