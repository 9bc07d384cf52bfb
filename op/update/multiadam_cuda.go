//go:build cuda

package update

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, mixed := range []bool{false, true} {
		states := 2
		if mixed {
			states++
		}
		multiCUDA(pick(mixed, MultiAdamWUpdate, MultiMPAdamWUpdate),
			multiStep[MultiAdamWUpdateParams]{name: "adamw", mixed: mixed, states: states,
				scaled: true,
				numbers: func(p MultiAdamWUpdateParams, i int) numbers {
					return numbers{p.LRs[i], p.WDs[i], 1, p.ClipGradient.Value(), p.Beta1.Value(),
						p.Beta2.Value(), p.Epsilon.Value(), p.Etas[i]}
				}})
	}
	for _, mixed := range []bool{false, true} {
		attach.CUDA(pick(mixed, MultiLambUpdate, MultiMPLambUpdate), func(p MultiLambUpdateParams,
			a *op.Args) (*op.Prepared, error) {
			return lambCUDA(p, a, mixed)
		})
	}
}
