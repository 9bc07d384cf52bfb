//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// localOperands is how the parameters of the norms in local.cu begin.
type localOperands struct{ out, norm, x, dy unsafe.Pointer }

func normOperands(c *op.Call) localOperands {
	return localOperands{out: c.Out[0].Data, norm: c.Out[1].Data, x: c.In[0].Data}
}

func normGradOperands(c *op.Call) localOperands {
	return localOperands{out: c.Out[0].Data, dy: c.In[0].Data, x: c.In[1].Data, norm: c.In[2].Data}
}

// lrnArgs is the parameter of the kernels of LRN.
type lrnArgs struct {
	localOperands
	outer, channels, inner, half int
	share, beta, knorm           float64
}

// lengthArgs is the parameter of the kernels for parts of length one.
type lengthArgs struct {
	localOperands
	parts, n, inner int
	eps             float64
}

func (p LRNParams) launchCUDA(name string, a *op.Args,
	operands func(c *op.Call) localOperands) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	v := newChannels(a.In[0].Shape, 1)
	fixed := lrnArgs{outer: v.outer, channels: v.count, inner: v.inner, half: p.Nsize / 2,
		share: p.Alpha.Value() / float64(p.Nsize), beta: p.Beta.Value(), knorm: p.Knorm.Value()}
	return attach.CUDAEach(cuda.Func("local", name, t), a.In[0].Shape.Size(), fixed,
		func(k lrnArgs, c *op.Call) lrnArgs {
			k.localOperands = operands(c)
			return k
		})
}

func (p L2NormalizationParams) launchCUDA(name string, a *op.Args,
	operands func(c *op.Call) localOperands) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	s := a.In[0].Shape
	k := lengthArgs{inner: 1, eps: p.Eps.Value()}
	switch p.Mode {
	case "channel":
		k.n, k.inner = s[1], s[2:].Size()
	case "spatial":
		k.n = s[2:].Size()
	default:
		k.n = s[1:].Size()
	}
	if k.n > 0 {
		k.parts = s.Size() / k.n
	} else {
		return nil, op.ErrUnsupported
	}
	return attach.CUDABlocks(cuda.Func("local", name, t), k.parts, k.n, k,
		func(k lengthArgs, c *op.Call) lengthArgs {
			k.localOperands = operands(c)
			return k
		})
}

// growArgs is the parameter of the kernels that repeat elements.
type growArgs struct {
	out, in                    unsafe.Pointer
	batch, channels, h, w      int
	fh, fw, first, total, more int
}

// nearestCUDA prepares one launch for each of the small images.
func nearestCUDA(p UpSamplingParams, name string, small []op.Desc, large op.Desc,
	launch func(q *cuda.Queue, f *cuda.Function, c *op.Call, k growArgs,
		i int) error) (*op.Prepared, error) {
	t := large.DType
	if !cuda.Serves("local", t) {
		return nil, op.ErrUnsupported
	}
	f, list, first := cuda.Func("local", name, t), make([]growArgs, len(small)), 0
	for i, d := range small {
		s := d.Shape
		list[i] = growArgs{batch: s[0], channels: s[1], h: s[2], w: s[3], fh: large.Shape[2] / s[2],
			fw: large.Shape[3] / s[3], total: large.Shape[1]}
		if p.MultiInputMode != "sum" {
			list[i].first, first = first, first+s[1]
		}
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		for i, k := range list {
			if err := launch(q, f, c, k, i); err != nil {
				return err
			}
		}
		return nil
	})
}
