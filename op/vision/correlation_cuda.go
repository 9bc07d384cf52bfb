//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// compareArgs is the parameter of kernels in sample.cu.
type compareArgs struct {
	out, a, b, dy                                       unsafe.Pointer
	images, channels, h, w, oh, ow                      int
	side, step, size, first, stride, difference, second int
}

func (p CorrelationParams) compareCUDA(data op.Desc, out dtype.Shape) (compareArgs, error) {
	if !cuda.Serves("sample", data.DType) {
		return compareArgs{}, op.ErrUnsupported
	}
	s := data.Shape
	return compareArgs{images: s[0], channels: s[1], h: s[2], w: s[3], oh: out[2], ow: out[3],
		side: 2*p.radius() + 1, step: p.Stride2, size: p.KernelSize,
		first: p.MaxDisplacement.Value() - p.PadSize, stride: p.Stride1,
		difference: attach.B2I(p.Difference)}, nil
}

func init() {
	attach.CUDA(Correlation, func(p CorrelationParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.compareCUDA(a.In[0], a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("sample", "correlation", a.In[0].DType),
			a.Out[0].Shape.Size(), k, func(k compareArgs, c *op.Call) compareArgs {
				k.out, k.a, k.b = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
	attach.CUDA(correlationGrad, func(p CorrelationParams, a *op.Args) (*op.Prepared, error) {
		fixed, err := p.compareCUDA(a.In[1], a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		f, n := cuda.Func("sample", "correlation_grad", a.In[1].DType), a.In[1].Shape.Size()
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			k := fixed
			k.dy, k.a, k.b = c.In[0].Data, c.In[1].Data, c.In[2].Data
			for i, out := range c.Out {
				if k.out, k.second = out.Data, i; k.out == nil {
					continue
				}
				if err := cuda.LaunchWith(q, f, q.Each(n), &k); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
