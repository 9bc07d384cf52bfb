//go:build cuda

package tensor

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
	"gomx/op/prim"
)

// runningArgs, binsArgs, edgesArgs and columnsArgs are parameters of kernels in tensor.cu.
type (
	runningArgs struct {
		out, in                               attach.Any
		lanes, n, step, backwards, exact, cut int
	}
	binsArgs struct {
		count    unsafe.Pointer
		edges, x attach.Any
		n, bins  int
	}
	edgesArgs struct {
		out       attach.Any
		n         int
		low, high float64
	}
	columnsArgs struct {
		out            attach.Any
		in             [cuda.Axes]attach.Any
		n, cols, count int
		rows           [cuda.Axes]int
	}
)

func runningCUDA(p CumSumParams, a *op.Args, backwards bool) (*op.Prepared, error) {
	in, out := a.In[0], a.Out[0]
	k := runningArgs{lanes: 1, n: in.Shape.Size(), step: 1, backwards: attach.B2I(backwards)}
	if axis, ok := p.Axis.Get(); ok {
		i, err := prim.Axis("axis", axis, len(in.Shape))
		if err != nil {
			return nil, err
		}
		k.n, k.step = in.Shape[i], max(in.Shape[i+1:].Size(), 1)
		k.lanes = in.Shape.Size() / max(k.n, 1)
	}
	k.exact, k.cut = attach.B2I(loop.Exact(in.DType) && loop.Exact(out.DType)),
		attach.B2I(out.DType.IsInt())
	return attach.CUDABlocks(attach.AnyFunc("tensor", "running"), k.lanes, k.n, k,
		func(k runningArgs, c *op.Call) runningArgs {
			k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
}

// histogramCUDA counts into output 0 and writes the edges to output 1, or for counting alone to
// scratch memory.
func histogramCUDA(p HistogramParams, a *op.Args) (*op.Prepared, error) {
	bins, kind, bytes := a.Out[0].Shape.Size(), cuda.Code(a.Out[1].DType), a.Out[1].Bytes
	n, size := a.In[0].Shape.Size(), a.Out[0].Bytes
	double := cuda.Code(dtype.Float64)
	return attach.OnQueue(8*(bins+1), func(q *cuda.Queue, c *op.Call) error {
		edges := attach.Any{Data: c.Scratch, Type: double}
		if _, ok := p.BinCnt.Get(); !ok {
			edges = attach.AnyOf(c.In[1])
			if c.Out[1].Data != nil {
				if err := q.CopyFrom(c.Out[1].Data, q.Device(), c.In[1].Data, bytes); err != nil {
					return err
				}
			}
		} else {
			for _, out := range []attach.Any{edges, {Data: c.Out[1].Data, Type: kind}} {
				if out.Data == nil {
					continue
				}
				k := edgesArgs{out: out, n: bins, low: p.Range[0], high: p.Range[1]}
				if err := cuda.LaunchWith(q, attach.AnyFunc("tensor", "edges"), q.Each(bins+1),
					&k); err != nil {
					return err
				}
			}
		}
		if c.Out[0].Data == nil {
			return nil
		}
		if err := q.Clear(c.Out[0].Data, size); err != nil || bins == 0 {
			return err
		}
		k := binsArgs{count: c.Out[0].Data, edges: edges, x: attach.AnyOf(c.In[0]), n: n,
			bins: bins}
		return cuda.LaunchWith(q, attach.AnyFunc("tensor", "bins"), q.Each(n), &k)
	})
}

func columnsCUDA(_ KhatriRaoParams, a *op.Args) (*op.Prepared, error) {
	if len(a.In) > cuda.Axes {
		return nil, op.ErrUnsupported
	}
	s := a.Out[0].Shape
	k := columnsArgs{n: s.Size(), cols: s[1], count: len(a.In)}
	for i, d := range a.In {
		k.rows[i] = d.Shape[0]
	}
	return attach.CUDAEach(attach.AnyFunc("tensor", "columns"), k.n, k,
		func(k columnsArgs, c *op.Call) columnsArgs {
			k.out = attach.AnyOf(c.Out[0])
			for i, t := range c.In {
				k.in[i] = attach.AnyOf(t)
			}
			return k
		})
}
