//go:build cuda

package index

import (
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// topArgs and chosenArgs are parameters of the kernels in order.cu for places that are known.
type (
	topArgs struct {
		values, indices, mask, x attach.Any
		order                    unsafe.Pointer
		lanes, n, step, count    int
	}
	chosenArgs struct {
		values, indices, x          attach.Any
		lanes, n, step, count, back int
	}
)

func init() {
	attach.CUDA(TopK, topCUDA)
	attach.CUDA(Sort, func(p SortParams, a *op.Args) (*op.Prepared, error) { return topCUDA(p.topK(), a) })
	attach.CUDA(ArgSort, func(p ArgSortParams, a *op.Args) (*op.Prepared, error) { return topCUDA(p.topK(), a) })
	attach.CUDA(topKGrad, func(p TopKParams, a *op.Args) (*op.Prepared, error) {
		bytes := a.Out[0].Bytes
		return chosenCUDA(p, a.Out[0].Shape, func(q *cuda.Queue, c *op.Call, k chosenArgs) (chosenArgs, error) {
			k.x, k.indices, k.values, k.back = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[1]), attach.AnyOf(c.In[0]), 1
			return k, q.Clear(c.Out[0].Data, bytes)
		})
	})
	attach.CUDA(topKSelect, func(p TopKParams, a *op.Args) (*op.Prepared, error) {
		return chosenCUDA(p, a.In[0].Shape, func(_ *cuda.Queue, c *op.Call, k chosenArgs) (chosenArgs, error) {
			k.x, k.indices, k.values = attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]), attach.AnyOf(c.Out[0])
			return k, nil
		})
	})
}

func topCUDA(p TopKParams, a *op.Args) (*op.Prepared, error) {
	v, err := vectors(p.Axis, a.In[0].Shape)
	if err != nil {
		return nil, err
	}
	bytes := a.Out[0].Bytes
	sorted := attach.Order{Lanes: v.count, N: v.n, Step: v.step, Ascend: p.IsAscend}
	return attach.OnQueue(sorted.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		if v.count*v.n == 0 {
			return nil
		}
		k := topArgs{x: attach.AnyOf(c.In[0]), lanes: v.count, n: v.n, step: max(v.step, 1), count: p.take(v.n)}
		switch out := attach.AnyOf(c.Out[0]); p.RetTyp {
		case "mask":
			if k.mask = out; out.Data != nil {
				if err := q.Clear(out.Data, bytes); err != nil {
					return err
				}
			}
		case "indices":
			k.indices = out
		default:
			k.values, k.indices = out, attach.AnyOf(c.Out[1])
		}
		order, err := sorted.Run(q, k.x, c.Scratch)
		if err != nil {
			return err
		}
		k.order = order
		return cuda.LaunchWith(q, attach.AnyFunc("order", "order_top"), q.Each(k.lanes*k.count), &k)
	})
}

func chosenCUDA(p TopKParams, s dtype.Shape, fill func(q *cuda.Queue, c *op.Call, k chosenArgs) (chosenArgs, error)) (*op.Prepared, error) {
	v, err := vectors(p.Axis, s)
	if err != nil {
		return nil, err
	}
	fixed := chosenArgs{lanes: v.count, n: v.n, step: max(v.step, 1), count: p.take(v.n)}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k, err := fill(q, c, fixed)
		if err != nil {
			return err
		}
		return cuda.LaunchWith(q, attach.AnyFunc("order", "order_chosen"), q.Each(k.lanes*k.count), &k)
	})
}

// placesArgs is the parameter of the kernels that turn places into indices.
type placesArgs struct {
	out, in    attach.Any
	n, axes    int
	dim, which [cuda.Axes]int
}

func init() {
	for h, name := range map[op.Handle[RavelParams]]string{RavelMultiIndex: "ravel", UnravelIndex: "unravel"} {
		attach.CUDA(h, func(p RavelParams, a *op.Args) (*op.Prepared, error) {
			if len(p.Shape) > cuda.Axes {
				return nil, op.ErrUnsupported
			}
			k := placesArgs{n: min(a.In[0].Shape.Size(), a.Out[0].Shape.Size()), axes: len(p.Shape)}
			copy(k.dim[:], p.Shape)
			return placesCUDA(name, k.n, k)
		})
	}
	attach.CUDA(IndexArray, func(p IndexArrayParams, a *op.Args) (*op.Prepared, error) {
		s, axes := a.In[0].Shape, slices.Clone(p.Axes)
		if len(axes) == 0 {
			for i := range s {
				axes = append(axes, i)
			}
		}
		if len(axes) > cuda.Axes {
			return nil, op.ErrUnsupported
		}
		k := placesArgs{n: s.Size(), axes: len(axes)}
		for i, axis := range axes {
			at := axis
			if at < 0 {
				at += len(s)
			}
			k.dim[i], k.which[i] = s[at], s.Strides()[at]
		}
		return placesCUDA("index_array", k.n*k.axes, k)
	})
}

func placesCUDA(name string, n int, fixed placesArgs) (*op.Prepared, error) {
	return attach.CUDAEach(attach.AnyFunc("order", name), n, fixed, func(k placesArgs, c *op.Call) placesArgs {
		k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
		return k
	})
}
