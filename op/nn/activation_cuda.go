//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(Activation, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAMap(a, p.ActType)
	})
	attach.CUDA(ActivationGrad, func(p ActivationParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAZip(a, p.ActType+"_grad", 0, 1)
	})
}

func leakyCUDA(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope := p.Slope.Value()
	switch p.ActType {
	case "leaky", "elu", "selu", "gelu":
		return attach.CUDAMap(a, p.ActType, slope)
	case "prelu":
		return preluCUDA(a)
	}
	return rreluCUDA(p, a)
}

func leakyGradCUDA(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	slope, name := p.Slope.Value(), p.ActType+"_grad"
	switch {
	case p.ActType == "elu" && slope < 0:
		name = "elu_grad_of_data"
	case p.ActType == "prelu":
		return preluGradCUDA(a)
	case p.ActType == "rrelu":
		return attach.CUDAZip(a, "mul", 0, 1)
	}
	return attach.CUDAZipWith(a, name, 0, 1, slope)
}

func dropoutCUDA(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n, shared := a.Out[0].Shape.Size(), a.Out[1].Shape.Size()
	if !cuda.Serves("random", a.In[0].DType) {
		return nil, op.ErrUnsupported
	}
	keep := 1 - p.P.Value()
	if n != shared && drops(p, a.Train) {
		return sharedDropoutCUDA(p, a)
	}
	if !drops(p, a.Train) {
		move := attach.CUDAMove[DropoutParams]()
		k, err := move(p, &op.Args{In: a.In, Out: a.Out[:1], Train: a.Train})
		if err != nil {
			return nil, err
		}
		ones := cuda.Func("fill", "fill", -1)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if c.Out[1].Data != nil {
				err := q.Launch(ones, q.Each(shared), cuda.P(c.Out[1].Data),
					cuda.I(cuda.Code(a.Out[1].DType)), cuda.I(shared), cuda.F(1), 0, 0, 0, 0)
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
	return attach.OnQueueDrawing(0, func(q *cuda.Queue, c *op.Call) error {
		counter, base := q.Seed(c.Seed.Counter)
		return q.Launch(f, q.Each((n+3)/4), cuda.P(c.Out[0].Data), cuda.P(c.Out[1].Data),
			cuda.P(c.In[0].Data), cuda.I(n), c.Seed.Key, counter, cuda.F(keep), base)
	})
}

func dropoutGradCUDA(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n := a.Out[0].Shape.Size()
	if !cuda.Serves("random", a.In[0].DType) {
		return nil, op.ErrUnsupported
	}
	if !drops(p, a.Train) {
		return attach.CUDAMove[DropoutParams]()(p, a)
	}
	if n != a.In[1].Shape.Size() {
		k, err := newMaskArgs(p, a.In[0].Shape, a.In[1].Shape)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("random", "masked", a.In[0].DType), n, k,
			func(k maskArgs, c *op.Call) maskArgs {
				k.out, k.mask, k.in = c.Out[0].Data, c.In[1].Data, c.In[0].Data
				return k
			})
	}
	scale := 1 / (1 - p.P.Value())
	f := cuda.Func("random", "dropout_grad", a.In[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.P(c.In[1].Data),
			cuda.P(c.In[0].Data), cuda.I(n), 0, 0, cuda.F(scale), 0)
	})
}

// maskArgs is the parameter of the kernel in random.cu for masks that several elements share.
type maskArgs struct {
	out, mask, in unsafe.Pointer
	n, axes       int
	dim, sm       [cuda.Axes]int
	scale         float64
}

func newMaskArgs(p DropoutParams, data, mask dtype.Shape) (k maskArgs, err error) {
	w, ok := cuda.NewWalk(data, loop.Broadcast(mask, data))
	if !ok {
		return k, op.ErrUnsupported
	}
	k = maskArgs{n: data.Size(), scale: 1 / (1 - p.P.Value())}
	k.axes = w.Fill(&k.dim, &k.sm)
	return k, nil
}

// sharedDropoutCUDA draws one number for all elements along some axes.
func sharedDropoutCUDA(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	fixed, err := newMaskArgs(p, a.In[0].Shape, a.Out[1].Shape)
	if err != nil {
		return nil, err
	}
	t, shared := a.In[0].DType, a.Out[1].Shape.Size()
	draw, apply := cuda.Func("random", "dropout", t), cuda.Func("random", "masked", t)
	return attach.OnQueueDrawing(shared, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		if k.out, k.in, k.mask = c.Out[0].Data, c.In[0].Data, c.Out[1].Data; k.mask == nil {
			k.mask = c.Scratch
		}
		counter, base := q.Seed(c.Seed.Counter)
		if err := q.Launch(draw, q.Each((shared+3)/4), 0, cuda.P(k.mask), 0, cuda.I(shared),
			c.Seed.Key, counter, cuda.F(1-p.P.Value()), base); err != nil || k.out == nil {
			return err
		}
		return cuda.LaunchWith(q, apply, q.Each(k.n), &k)
	})
}
