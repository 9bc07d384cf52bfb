//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SoftmaxActivation, func(p SoftmaxActivationParams, a *op.Args) (*op.Prepared,
		error) {
		l, err := p.lanesCUDA("softmax", a)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return l.Run(q, c, c.In[0].Data, nil)
		})
	})
	attach.CUDA(SoftmaxActivationGrad, func(p SoftmaxActivationParams, a *op.Args) (*op.Prepared,
		error) {
		l, err := p.lanesCUDA("softmax_grad", a)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return l.Run(q, c, c.In[0].Data, c.In[1].Data)
		})
	})
}
