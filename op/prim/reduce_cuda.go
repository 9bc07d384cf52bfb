//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	for h, name := range map[op.Handle[ReduceParams]]string{Sum: "sum", Mean: "sum", Prod: "prod",
		NanSum: "nansum", NanProd: "nanprod", Max: "max", Min: "min"} {
		attach.CUDA(h, func(p ReduceParams, a *op.Args) (*op.Prepared, error) {
			exact := loop.Exact(a.In[0].DType)
			if exact && h == Mean {
				return nil, op.ErrUnsupported
			}
			if exact && h == NanSum {
				name = "sum"
			} else if exact && h == NanProd {
				name = "prod"
			}
			mask, err := p.reduced(len(a.In[0].Shape))
			if err != nil {
				return nil, err
			}
			scale := 1.0
			if h == Mean {
				scale = float64(a.Out[0].Shape.Size()) / float64(a.In[0].Shape.Size())
			}
			return attach.CUDAReduce(a, name, mask, scale)
		})
	}
	attach.CUDA(expandReduced, expandCUDA)
}

// sumCopiesCUDA sums the gradients of copies: a plan is the shape of the copies and the strides
// that lead each to its original, 0 where it repeats.
func sumCopiesCUDA[P any](plan func(P, dtype.Shape) (dtype.Shape, []int, error)) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		shape, st, err := plan(p, a.In[1].Shape)
		if err != nil {
			return nil, err
		}
		mask := make([]bool, len(shape))
		for i := range mask {
			mask[i] = st[i] == 0
		}
		r, err := attach.NewReduction("sum", a.In[0].DType, shape, mask, 1)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(r.Scratch(), func(q *cuda.Queue, c *op.Call) error {
			return r.Run(q, c.Out[0].Data, c.In[0].Data, c.Scratch)
		})
	}
}

// expandCUDA repeats a result to the shape of the reduced array.
func expandCUDA(p expandParams, a *op.Args) (*op.Prepared, error) {
	like := a.In[1].Shape
	mask, err := p.reduce().reduced(len(like))
	if err != nil {
		return nil, err
	}
	if a.In[0].DType != a.Out[0].DType {
		return nil, op.ErrUnsupported
	}
	k, err := attach.CUDAMoves(func(_ expandParams, c *op.Call, m *attach.Moves) error {
		m.Copy(like, loop.Dense(c.Out[0]), loop.View{Tensor: c.In[0], Strides: spread(like, mask)})
		return nil
	})(p, a)
	if err != nil || !p.Mean {
		return k, err
	}
	count := float64(like.Size()) / float64(a.In[0].Shape.Size())
	div, err := attach.CUDAMap(&op.Args{In: a.Out, Out: a.Out}, "divs", count)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(_ *cuda.Queue, c *op.Call) error {
		if err := k.Run(c); err != nil {
			return err
		}
		return div.Run(&op.Call{In: c.Out, Out: c.Out, Queue: c.Queue})
	})
}

// addUpCUDA sums all inputs, in their order.
func addUpCUDA(_ AddNParams, a *op.Args) (*op.Prepared, error) {
	if len(a.In) == 1 {
		return attach.CUDAMap(a, "copy")
	}
	first, err := attach.CUDAZip(a, "add", 0, 1)
	if err != nil || len(a.In) == 2 {
		return first, err
	}
	next, err := attach.CUDAZip(&op.Args{In: []op.Desc{a.Out[0], a.In[2]}, Out: a.Out}, "add", 0, 1)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(_ *cuda.Queue, c *op.Call) error {
		if err := first.Run(c); err != nil {
			return err
		}
		for _, in := range c.In[2:] {
			if err := next.Run(&op.Call{In: []op.Tensor{c.Out[0], in}, Out: c.Out,
				Queue: c.Queue}); err != nil {
				return err
			}
		}
		return nil
	})
}

// normCUDA sums absolute values, or squares and takes the root.
func normCUDA(p NormParams, a *op.Args) (*op.Prepared, error) {
	t := a.In[0].DType
	if t != a.Out[0].DType || loop.Exact(t) {
		return nil, op.ErrUnsupported
	}
	mask, err := p.reduce().reduced(len(a.In[0].Shape))
	if err != nil {
		return nil, err
	}
	if p.Ord == 1 {
		return attach.CUDAReduce(a, "sumabs", mask, 1)
	}
	sum, err := attach.CUDAReduce(a, "sumsq", mask, 1)
	if err != nil {
		return nil, err
	}
	root, err := attach.CUDAMap(&op.Args{In: a.Out, Out: a.Out}, "sqrt")
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(sum.Scratch, func(_ *cuda.Queue, c *op.Call) error {
		if err := sum.Run(c); err != nil {
			return err
		}
		return root.Run(&op.Call{In: c.Out, Out: c.Out, Queue: c.Queue})
	})
}

func softmaxCUDA(k softmaxKind) op.Prepare[SoftmaxParams] {
	return func(p SoftmaxParams, a *op.Args) (*op.Prepared, error) {
		s, err := newSoftmaxCUDA("softmax", k, p, a, len(a.In)-1)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return s.Run(q, c, c.In[0].Data, nil)
		})
	}
}

func softmaxGradCUDA(k softmaxKind) op.Prepare[SoftmaxParams] {
	return func(p SoftmaxParams, a *op.Args) (*op.Prepared, error) {
		s, err := newSoftmaxCUDA("softmax_grad", k, p, a, len(a.In)-1)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return s.Run(q, c, c.In[0].Data, c.In[1].Data)
		})
	}
}

// newSoftmaxCUDA prepares a kernel along the axis of p; the length of lanes, if there is one, is
// input number last.
func newSoftmaxCUDA(name string, k softmaxKind, p SoftmaxParams, a *op.Args,
	last int) (*attach.Lanes, error) {
	shape := a.In[0].Shape
	axis, err := Axis("axis", p.Axis.Value(), len(shape))
	if err != nil {
		return nil, err
	}
	if a.Out[0].DType != a.In[0].DType {
		return nil, op.ErrUnsupported
	}
	s := attach.NewLanes("softmax", name, a.In[0].DType, shape, axis)
	s.Factor, s.Log = k.sign/p.Temperature.Or(1), k.log
	if s.Length = -1; p.UseLength {
		s.Length, s.LengthType = last, a.In[last].DType
	}
	return s, nil
}
