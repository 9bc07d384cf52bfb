//go:build cuda

package update

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ResetArrays, func(_ ResetArraysParams, a *op.Args) (*op.Prepared, error) {
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			for i, t := range c.In {
				if err := q.Clear(t.Data, a.In[i].Bytes); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
