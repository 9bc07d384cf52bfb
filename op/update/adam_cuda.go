//go:build cuda

package update

import (
	"math"
)

func init() {
	stepCUDA(AdamUpdate, "adam", false, func(p AdamUpdateParams) numbers {
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGradient.Value(), p.Beta1.Value(),
			p.Beta2.Value(), p.Epsilon.Value()}
	})
	stepCUDA(FTMLUpdate, "ftml", false, func(p FTMLUpdateParams) numbers {
		b1, b2 := p.Beta1.Value(), p.Beta2.Value()
		return numbers{p.LR, p.WD, p.RescaleGrad.Value(), p.ClipGrad.Value(), b1, b2,
			p.Epsilon.Value(), 1 - math.Pow(b1, float64(p.T)), 1 - math.Pow(b2, float64(p.T))}
	})
}
