//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// listArgs, regionArgs and momentsArgs are parameters of kernels in tensor.cu.
type (
	listArgs struct {
		out   attach.Any
		n     int
		value [maxRank]int
	}
	regionArgs struct {
		out         attach.Any
		n, axes     int
		dim, stride [cuda.Axes]int
		value       float64
	}
	momentsArgs struct {
		mean, variance, x attach.Any
		outs, size        int
		nk                int
		dk, sk            [cuda.Axes]int
		nr                int
		dr, sr            [cuda.Axes]int
	}
)

// listCUDA writes numbers that are known beforehand.
func listCUDA(values []int) (*op.Prepared, error) {
	k := listArgs{n: len(values)}
	copy(k.value[:], values)
	return attach.CUDAEach(attach.AnyFunc("tensor", "list"), k.n, k,
		func(k listArgs, c *op.Call) listArgs {
			k.out = attach.AnyOf(c.Out[0])
			return k
		})
}

// regionCUDA sets the part that is cut out of a copy of the input.
func regionCUDA(p SliceAssignScalarParams, a *op.Args) (*op.Prepared, error) {
	s := a.Out[0].Shape
	list, err := SliceParams{Begin: p.Begin, End: p.End, Step: p.Step}.windows(s)
	if err != nil {
		return nil, err
	}
	v := windowView(op.Tensor{Desc: a.Out[0]}, list)
	w, ok := cuda.NewWalk(windowed(s, list), v.Strides)
	if !ok {
		return nil, op.ErrUnsupported
	}
	fixed, bytes, off := regionArgs{n: w.Size(), value: p.Scalar}, a.Out[0].Bytes,
		v.Off*a.Out[0].DType.Size()
	fixed.axes = w.Fill(&fixed.dim, &fixed.stride)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if c.Out[0].Data != c.In[0].Data {
			if err := q.CopyFrom(c.Out[0].Data, q.Device(), c.In[0].Data, bytes); err != nil {
				return err
			}
		}
		k := fixed
		k.out = attach.AnyOf(c.Out[0]).At(off)
		return cuda.LaunchWith(q, attach.AnyFunc("tensor", "region"), q.Each(k.n), &k)
	})
}

func momentsCUDA(p MomentsParams, a *op.Args) (*op.Prepared, error) {
	s := a.In[0].Shape
	mask, err := p.reduce().reduced(len(s))
	if err != nil {
		return nil, err
	}
	kept, reduced, ok := attach.Halves(s, mask)
	if !ok || s.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	k := momentsArgs{outs: kept.Size(), size: reduced.Size()}
	k.nk, k.nr = kept.Fill(&k.dk, &k.sk), reduced.Fill(&k.dr, &k.sr)
	return attach.CUDABlocks(attach.AnyFunc("tensor", "moments"), k.outs, k.size, k,
		func(k momentsArgs, c *op.Call) momentsArgs {
			k.mean, k.variance, k.x = attach.AnyOf(c.Out[0]), attach.AnyOf(c.Out[1]),
				attach.AnyOf(c.In[0])
			return k
		})
}
