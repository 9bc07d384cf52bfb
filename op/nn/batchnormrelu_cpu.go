//go:build cgo

package nn

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(BatchNormReLU, func(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
		b, err := batchNormC(p, a, a.In[0])
		if err != nil {
			return nil, err
		}
		relu := cpu.Map{Op: cpu.ReLU, Threads: b.Threads}
		return attach.Kernel(b.Threads, 0, func(c *op.Call) {
			b.Run(normOf(c))
			if y := c.Out[0].Data; y != nil {
				relu.Run(y, y, c.Out[0].Shape.Size())
			}
		}), nil
	})
}
