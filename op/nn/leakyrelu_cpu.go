//go:build cgo

package nn

import (
	"gomx/op/attach"
)

func init() {
	attach.TierC(LeakyReLU, leakyC)
	attach.TierC(LeakyReLUGrad, leakyGradC)
}
