//go:build cgo

package nn

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// preluSpec prepares the rectifier with learned slopes gamma for data in a layout. Slopes for
// single elements are the reference's.
func preluSpec(a *op.Args, data, gamma op.Desc) (k cpu.PReLU, l cpu.Layout, threads int,
	err error) {
	l, ok := attach.LayoutOf(data)
	n := gamma.Shape.Size()
	perChannel := len(gamma.Shape) == 1 && len(data.Shape) > 1 && n == data.Shape[1]
	if !ok || !float32s(a) || gamma.Layout != nil || data.Shape.Size() == 0 || n != 1 &&
		!perChannel || l != cpu.LayoutPlain && !a.Chooses(0) {
		return k, l, 0, op.ErrUnsupported
	}
	shape := data.Shape
	if len(shape) < 2 {
		shape = dtype.Shape{1, shape.Size()}
	}
	threads = attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	return cpu.NewPReLU(shape, l, n == 1, threads), l, threads, nil
}

func preluC(a *op.Args) (*op.Prepared, error) {
	k, l, threads, err := preluSpec(a, a.In[0], a.In[1])
	if err != nil {
		return nil, err
	}
	p := attach.Kernel(threads, 0, func(c *op.Call) {
		k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
	})
	p.Out = []op.Desc{attach.InLayout(a.Out[0], l)}
	return p, nil
}

func preluGradC(a *op.Args) (*op.Prepared, error) {
	k, l, threads, err := preluSpec(a, a.In[1], a.In[2])
	if err != nil || l == cpu.LayoutLast {
		return nil, op.ErrUnsupported
	}
	p := attach.Kernel(threads, 0, func(c *op.Call) {
		k.RunGrad(c.Out[0].Data, c.Out[1].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data)
	})
	p.In = []op.Desc{attach.InLayout(a.In[0], l), a.In[1], a.In[2]}
	p.Out = []op.Desc{attach.InLayout(a.Out[0], l), a.Out[1]}
	return p, nil
}
