//go:build cuda

package loss

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(CTCLoss, func(p CTCLossParams, a *op.Args) (*op.Prepared, error) {
		s := a.In[0].Shape
		fixed := ctcArgs{steps: s[0], batch: s[1], classes: s[2], labels: a.In[1].Shape[1]}
		if p.BlankLabel == "last" {
			fixed.blank, fixed.padding = s[2]-1, -1
		}
		width := 2*fixed.labels + 1
		return attach.OnQueue(8*fixed.batch*fixed.steps*(fixed.classes+2*width),
			func(q *cuda.Queue, c *op.Call) error {
				k, rest := fixed, c.In[2:]
				k.loss, k.grad, k.x, k.label, k.scratch = attach.AnyOf(c.Out[0]),
					attach.AnyOf(c.Out[1]), attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]), c.Scratch
				if p.UseDataLengths {
					k.stepsOf, rest = attach.AnyOf(rest[0]), rest[1:]
				}
				if p.UseLabelLengths {
					k.labelsOf = attach.AnyOf(rest[0])
				}
				return cuda.LaunchWith(q, attach.AnyFunc("ctc", "ctc"), attach.LaneGrid(k.batch,
					max(k.steps, width)), &k)
			})
	})
	attach.CUDA(CTCLossGrad, func(_ CTCLossParams, a *op.Args) (*op.Prepared, error) {
		spread := &op.Args{In: []op.Desc{a.In[0], a.In[1]}, Out: a.Out}
		spread.In[0].Shape = []int{1, a.In[0].Shape[0], 1}
		return attach.CUDAZip(spread, "mul", 0, 1)
	})
}
