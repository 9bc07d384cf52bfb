//go:build cgo

package prim

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	for h, r := range map[op.Handle[ReduceParams]]cpu.ReduceOp{Sum: cpu.Sum, Mean: cpu.Sum,
		Prod: cpu.Prod, Max: cpu.MaxOf, Min: cpu.MinOf} {
		mean := h == Mean
		attach.TierC(h, func(p ReduceParams, a *op.Args) (*op.Prepared, error) {
			mask, err := p.reduced(len(a.In[0].Shape))
			if err != nil {
				return nil, err
			}
			scale := float32(1)
			if mean {
				scale = float32(float64(a.Out[0].Shape.Size()) / float64(a.In[0].Shape.Size()))
			}
			return reduceC(a, r, mask, scale)
		})
	}
	attach.TierC(expandReduced, expandC)
}

// reduceC prepares the reduction of the marked axes.
func reduceC(a *op.Args, r cpu.ReduceOp, mask []bool, scale float32) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	k := cpu.NewReduce(r, a.In[0].Shape, mask, scale, threads)
	return attach.Kernel(threads, k.Scratch(), func(c *op.Call) {
		k.Run(c.Out[0].Data, c.In[0].Data, c.Scratch)
	}), nil
}

// expandC repeats a result to the shape of the reduced array.
func expandC(p expandParams, a *op.Args) (*op.Prepared, error) {
	like := a.In[1].Shape
	mask, err := p.reduce().reduced(len(like))
	if err != nil {
		return nil, err
	}
	if !attach.AllOf(dtype.Float32, a.In[:1]) || !attach.AllOf(dtype.Float32, a.Out) {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	k, ok := cpu.NewView(like, spread(like, mask), 0, dtype.Float32.Size(), threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	n := like.Size()
	mean := cpu.Map{Op: cpu.DivS, S: float32(float64(n) / float64(a.In[0].Shape.Size())),
		Threads: threads}
	return attach.Kernel(threads, 0, func(c *op.Call) {
		k.Gather(c.Out[0].Data, c.In[0].Data)
		if p.Mean {
			mean.Run(c.Out[0].Data, c.Out[0].Data, n)
		}
	}), nil
}

// viewC prepares reading input 0 with strides and an offset in elements.
func viewC(a *op.Args, strides []int, offset int) (*op.Prepared, error) {
	size := a.Out[0].DType.Size()
	if a.In[0].Layout != nil || a.Out[0].Layout != nil || a.In[0].DType.Size() != size {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: 2 * float64(a.Out[0].Bytes)})
	k, ok := cpu.NewView(a.Out[0].Shape, strides, offset, size, threads)
	if !ok {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(threads, 0, func(c *op.Call) { k.Gather(c.Out[0].Data, c.In[0].Data) }),
		nil
}

// permuteC prepares a permutation of axes.
func permuteC[P any](axes func(p P, rank int) ([]int, error)) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		perm, err := axes(p, len(a.In[0].Shape))
		if err != nil {
			return nil, err
		}
		dense, st := a.In[0].Shape.Strides(), make([]int, len(perm))
		for i, axis := range perm {
			st[i] = dense[axis]
		}
		return viewC(a, st, 0)
	}
}

func repeatC[P any](_ P, a *op.Args) (*op.Prepared, error) {
	return viewC(a, loop.Broadcast(a.In[0].Shape, a.Out[0].Shape), 0)
}

// castC serves pairs of types in which no value is out of range, and floating-point numbers.
func castC(a *op.Args) (*op.Prepared, error) {
	from, to := a.In[0].DType, a.Out[0].DType
	threads := attach.Threads(a, device.Work{Bytes: float64(a.In[0].Bytes + a.Out[0].Bytes)})
	k, ok := cpu.NewCast(to, from, threads)
	if !ok || a.In[0].Layout != nil || a.Out[0].Layout != nil {
		return nil, op.ErrUnsupported
	}
	n := a.Out[0].Shape.Size()
	return attach.Kernel(threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[0].Data, n) }),
		nil
}
