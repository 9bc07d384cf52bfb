//go:build cuda

package tensor

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Histogram, histogramCUDA)
}
