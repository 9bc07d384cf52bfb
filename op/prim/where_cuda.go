//go:build cuda

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Where, whereCUDA)
}
