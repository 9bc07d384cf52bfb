//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Activation, func(p ActivationParams, a *op.Args) (*op.Prepared, error) { return attach.CUDAMap(a, p.ActType) })
	attach.CUDA(ActivationGrad, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAZip(a, p.ActType+"_grad", 0, 1)
	})
	attach.CUDA(LeakyReLU, leakyCUDA)
	attach.CUDA(LeakyReLUGrad, leakyGradCUDA)
	attach.CUDA(Dropout, dropoutCUDA)
	attach.CUDA(DropoutGrad, dropoutGradCUDA)
}

// leakyCUDA serves the types without further operands.
func leakyCUDA(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope := p.Slope.Value()
	switch p.ActType {
	case "leaky", "elu", "selu", "gelu":
		return attach.CUDAMap(a, p.ActType, slope)
	}
	return nil, op.ErrUnsupported
}

func leakyGradCUDA(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope, name := p.Slope.Value(), p.ActType+"_grad"
	switch {
	case p.ActType == "elu" && slope < 0:
		name = "elu_grad_of_data"
	case p.ActType == "leaky", p.ActType == "elu", p.ActType == "selu", p.ActType == "gelu":
	default:
		return nil, op.ErrUnsupported
	}
	return attach.CUDAZipWith(a, name, 0, 1, slope)
}

func dropoutCUDA(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n, shared := a.Out[0].Shape.Size(), a.Out[1].Shape.Size()
	if n != shared || !cuda.Serves("random", a.In[0].DType) {
		return nil, op.ErrUnsupported
	}
	keep := 1 - p.P.Value()
	if !drops(p, a.Train) {
		move := attach.CUDAMove[DropoutParams]()
		k, err := move(p, &op.Args{In: a.In, Out: a.Out[:1], Train: a.Train})
		if err != nil {
			return nil, err
		}
		ones := cuda.Func("fill", "fill", -1)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if c.Out[1].Data != nil {
				err := q.Launch(ones, q.Each(n), cuda.P(c.Out[1].Data), cuda.I(cuda.Code(a.Out[1].DType)), cuda.I(n), cuda.F(1), 0, 0, 0, 0)
				if err != nil {
					return err
				}
			}
			if c.Out[0].Data == nil {
				return nil
			}
			return k.Run(&op.Call{In: c.In, Out: c.Out[:1], Queue: c.Queue})
		})
	}
	f := cuda.Func("random", "dropout", a.In[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each((n+3)/4), cuda.P(c.Out[0].Data), cuda.P(c.Out[1].Data), cuda.P(c.In[0].Data), cuda.I(n), c.Seed.Key, c.Seed.Counter, cuda.F(keep))
	})
}

func dropoutGradCUDA(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n := a.Out[0].Shape.Size()
	if n != a.In[1].Shape.Size() || !cuda.Serves("random", a.In[0].DType) {
		return nil, op.ErrUnsupported
	}
	if !drops(p, a.Train) {
		return attach.CUDAMove[DropoutParams]()(p, a)
	}
	scale := 1 / (1 - p.P.Value())
	f := cuda.Func("random", "dropout_grad", a.In[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.P(c.In[1].Data), cuda.P(c.In[0].Data), cuda.I(n), 0, 0, cuda.F(scale))
	})
}
