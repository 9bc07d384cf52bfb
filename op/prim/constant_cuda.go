//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Constant, func(p ConstantParams, _ *op.Args) (*op.Prepared, error) {
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return q.CopyIn(c.Out[0].Data, []byte(p.Data))
		})
	})
}
