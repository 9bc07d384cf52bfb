//go:build cuda

package index

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(OneHot, oneHotCUDA)
}
