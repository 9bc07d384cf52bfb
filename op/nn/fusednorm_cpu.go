//go:build cgo

package nn

import (
	"unsafe"

	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.Partly(FusedBatchNorm, func(p FusedBatchNormParams, a *op.Args) (*op.Prepared, error) {
		if k, err := blockedNormC(p.plain(), true, a); err == nil {
			return k, nil
		}
		return fusedNormC(p, a)
	}, attach.Keeping[FusedBatchNormParams]([]int{0, normSum}, []int{0}))
	attach.Partly(FusedBatchNormGrad, func(p FusedBatchNormParams, a *op.Args) (*op.Prepared,
		error) {
		if k, err := blockedFusedGradC(p, a); err == nil {
			return k, nil
		}
		return fusedNormGradC(p, a)
	}, attach.Keeping[FusedBatchNormParams]([]int{normGradDY, normGradX, normGradY}, []int{0, 3}))
}

// fusedNormC normalizes plain arrays and then adds and rectifies.
func fusedNormC(p FusedBatchNormParams, a *op.Args) (*op.Prepared, error) {
	b, err := batchNormC(p.plain(), a, a.In[0])
	if err != nil {
		return nil, err
	}
	add, relu := cpu.Zip{Op: cpu.Add, Threads: b.Threads}, cpu.Map{Op: cpu.ReLU, Threads: b.Threads}
	return attach.Kernel(b.Threads, 0, func(c *op.Call) {
		b.Run(normOf(c))
		y, n := c.Out[0].Data, c.Out[0].Shape.Size()
		if y == nil {
			return
		}
		if p.Sum {
			add.Run(y, y, c.In[normSum].Data, n)
		}
		relu.Run(y, y, n)
	}), nil
}

// fusedGradOf returns the operands of FusedBatchNormGrad for a gradient that is past the rectifier.
func fusedGradOf(c *op.Call, dy unsafe.Pointer) cpu.NormGrad {
	in, out := c.In, c.Out
	return cpu.NormGrad{DX: out[0].Data, DGamma: out[1].Data, DBeta: out[2].Data, DY: dy,
		X:     in[normGradX].Data,
		Gamma: in[normGradGamma].Data, Mean: in[normGradMean].Data, Inv: in[normGradInv].Data}
}

// fusedNormGradC is the gradient for plain arrays. It writes the gradient of the rectifier to the
// gradient of the summand if that is wanted, else to scratch memory.
func fusedNormGradC(p FusedBatchNormParams, a *op.Args) (*op.Prepared, error) {
	b, err := batchNormC(p.plain(), a, a.In[normGradX])
	if err != nil {
		return nil, err
	}
	scratch := a.In[normGradDY].Bytes
	if p.Sum && a.Needs(3) {
		scratch = 0
	}
	slope := cpu.Zip{Op: cpu.ReLUGrad, Threads: b.Threads}
	return attach.Kernel(b.Threads, scratch, func(c *op.Call) {
		g := c.Scratch
		if scratch == 0 {
			g = c.Out[3].Data
		}
		slope.Run(g, c.In[normGradDY].Data, c.In[normGradY].Data, c.In[normGradDY].Shape.Size())
		b.RunGrad(fusedGradOf(c, g))
	}), nil
}

func blockedFusedGradC(p FusedBatchNormParams, a *op.Args) (*op.Prepared, error) {
	out := []int{0}
	if p.Sum {
		out = append(out, 3)
	}
	b, err := blockedSpec(p.plain(), a, a.In[normGradX], []int{normGradDY, normGradX, normGradY}, out)
	if err != nil || p.Sum && a.In[normGradX].Layout != nil && !a.Chooses(3) {
		return nil, op.ErrUnsupported
	}
	b.ReLU = true
	k := &op.Prepared{Threads: b.Threads, Scratch: b.Scratch(), In: blocked(a.In, normGradDY,
		normGradX, normGradY), Out: blocked(a.Out, out...)}
	k.Run = func(c *op.Call) error {
		o := cpu.BlockedNormGradCall{NormGrad: fusedGradOf(c, c.In[normGradDY].Data),
			Beta: c.In[normGradBeta].Data, Scratch: c.Scratch}
		if p.Sum {
			o.Y, o.DSum = c.In[normGradY].Data, c.Out[3].Data
		}
		b.RunGrad(o)
		return nil
	}
	return k, nil
}
