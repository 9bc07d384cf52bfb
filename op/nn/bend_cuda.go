//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

// bendArgs is the parameter of the kernels in local.cu for rectifiers with slopes of their own.
type bendArgs struct {
	out, mask, dgamma unsafe.Pointer
	x, gamma, dy      unsafe.Pointer
	n, axes           int
	dim, sg           [cuda.Axes]int
	outs, size, nk    int
	dk, sk            [cuda.Axes]int
	nr                int
	dr, sr            [cuda.Axes]int
	low, high         float64
	draws             int
	key, counter      uint64
}

// newBendArgs walks data with the slopes of a prelu.
func newBendArgs(data, gamma op.Desc) (k bendArgs, err error) {
	s := data.Shape
	along := loop.Broadcast(gammaShape(gamma.Shape, s), s)
	mask := make([]bool, len(s))
	for i, st := range along {
		mask[i] = st == 0
	}
	w, ok1 := cuda.NewWalk(s, along)
	kept, reduced, ok2 := attach.Halves(s, mask)
	if !ok1 || !ok2 || kept.Size() != gamma.Shape.Size() {
		return k, op.ErrUnsupported
	}
	k = bendArgs{n: s.Size(), outs: kept.Size(), size: reduced.Size()}
	k.axes, k.nk, k.nr = w.Fill(&k.dim, &k.sg), kept.Fill(&k.dk, &k.sk), reduced.Fill(&k.dr, &k.sr)
	return k, nil
}

func preluCUDA(a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	k, err := newBendArgs(a.In[0], a.In[1])
	if !ok || err != nil {
		return nil, op.ErrUnsupported
	}
	return attach.CUDAEach(cuda.Func("local", "prelu", t), k.n, k,
		func(k bendArgs, c *op.Call) bendArgs {
			k.out, k.x, k.gamma = c.Out[0].Data, c.In[0].Data, c.In[1].Data
			return k
		})
}

func preluGradCUDA(a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	fixed, err := newBendArgs(a.In[1], a.In[2])
	if !ok || err != nil {
		return nil, op.ErrUnsupported
	}
	data, gamma := cuda.Func("local", "prelu_grad", t), cuda.Func("local", "prelu_gamma", t)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.out, k.dgamma, k.dy, k.x, k.gamma = c.Out[0].Data, c.Out[1].Data, c.In[0].Data,
			c.In[1].Data, c.In[2].Data
		if k.dgamma != nil { // before out, which may lie over dy
			if err := cuda.LaunchWith(q, gamma, attach.LaneGrid(k.outs, k.size), &k); err != nil {
				return err
			}
		}
		if k.out == nil {
			return nil
		}
		return cuda.LaunchWith(q, data, q.Each(k.n), &k)
	})
}

func rreluCUDA(p LeakyReLUParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	k := bendArgs{n: a.In[0].Shape.Size(), low: p.LowerBound.Value(), high: p.UpperBound.Value(),
		draws: attach.B2I(a.Train)}
	return attach.CUDAEach(cuda.Func("local", "rrelu", t), k.n, k,
		func(k bendArgs, c *op.Call) bendArgs {
			k.out, k.mask, k.x, k.key, k.counter = c.Out[0].Data, c.Out[1].Data, c.In[0].Data,
				c.Seed.Key, c.Seed.Counter
			return k
		})
}
