//go:build cuda

package index

import (
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
		k := topArgs{x: attach.AnyOf(c.In[0]), lanes: v.count, n: v.n, step: max(v.step, 1),
			count: p.take(v.n)}
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

func chosenCUDA(p TopKParams, s dtype.Shape, fill func(q *cuda.Queue, c *op.Call,
	k chosenArgs) (chosenArgs, error)) (*op.Prepared, error) {
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
		return cuda.LaunchWith(q, attach.AnyFunc("order", "order_chosen"), q.Each(k.lanes*k.count),
			&k)
	})
}

// placesArgs is the parameter of the kernels that turn places into indices.
type placesArgs struct {
	out, in    attach.Any
	n, axes    int
	dim, which [cuda.Axes]int
}

func placesCUDA(name string, n int, fixed placesArgs) (*op.Prepared, error) {
	return attach.CUDAEach(attach.AnyFunc("order", name), n, fixed,
		func(k placesArgs, c *op.Call) placesArgs {
			k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
}
