//go:build cgo

package prim

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Dot, func(p DotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) && !attach.BFloat16(a) {
			return nil, op.ErrUnsupported
		}
		g := p.gemm(a.In[0].Shape, a.In[1].Shape)
		g.Threads = attach.Threads(a, gemmWork(g))
		if attach.BFloat16(a) {
			return narrowDot(g, 1)
		}
		return &op.Prepared{Threads: g.Threads, Run: func(c *op.Call) error {
			return g.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}}, nil
	})
	attach.TierC(dotGrad, dotGradC)
	attach.TierC(BatchDot, func(p DotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) && !attach.BFloat16(a) {
			return nil, op.ErrUnsupported
		}
		lead := len(a.Out[0].Shape) - 2
		count := a.Out[0].Shape[:lead].Size()
		g := p.gemm(a.In[0].Shape[lead:], a.In[1].Shape[lead:])
		w := gemmWork(g)
		w.Flops *= float64(count)
		g.Threads = attach.Threads(a, w)
		if attach.BFloat16(a) {
			return narrowDot(g, count)
		}
		return &op.Prepared{Threads: g.Threads, Run: func(c *op.Call) error {
			return g.RunBatch(c.Out[0].Data, c.In[0].Data, c.In[1].Data, count)
		}}, nil
	})
}

// narrowDot multiplies batches of bfloat16 matrices.
func narrowDot(g cpu.Gemm, count int) (*op.Prepared, error) {
	var list attach.Products
	err := list.Add(g.Narrow(count, dtype.BFloat16), func(c *op.Call) (out, a, b,
		bias unsafe.Pointer) {
		return c.Out[0].Data, c.In[0].Data, c.In[1].Data, nil
	})
	return list.Prepared(g.Threads), err
}

// gemm sees the operands as matrices.
func (p DotParams) gemm(lhs, rhs dtype.Shape) cpu.Gemm {
	l, r := p.contracted(len(lhs), len(rhs))
	return cpu.Gemm{M: without(lhs, l).Size(), N: without(rhs, r).Size(), K: lhs[l],
		TransA: p.TransposeA, TransB: p.TransposeB, Alpha: 1}
}

func gemmWork(g cpu.Gemm) device.Work {
	return device.Work{Flops: 2 * float64(g.M) * float64(g.N) * float64(g.K)}
}

// dotGradC computes dA = G·Bᵀ and dB = Aᵀ·G for op(A)·op(B), or their transposes where A or B were
// transposed.
func dotGradC(p DotParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) && !attach.BFloat16(a) {
		return nil, op.ErrUnsupported
	}
	g := p.gemm(a.In[1].Shape, a.In[2].Shape)
	threads := attach.Threads(a, gemmWork(g))
	da := cpu.Gemm{M: g.M, N: g.K, K: g.N, TransB: !g.TransB, Alpha: 1, Threads: threads}
	if g.TransA {
		da = cpu.Gemm{M: g.K, N: g.M, K: g.N, TransA: g.TransB, TransB: true, Alpha: 1,
			Threads: threads}
	}
	db := cpu.Gemm{M: g.K, N: g.N, K: g.M, TransA: !g.TransA, Alpha: 1, Threads: threads}
	if g.TransB {
		db = cpu.Gemm{M: g.N, N: g.K, K: g.M, TransA: true, TransB: g.TransA, Alpha: 1,
			Threads: threads}
	}
	left := func(c *op.Call) (out, x, y, bias unsafe.Pointer) {
		if g.TransA {
			return c.Out[0].Data, c.In[2].Data, c.In[0].Data, nil
		}
		return c.Out[0].Data, c.In[0].Data, c.In[2].Data, nil
	}
	right := func(c *op.Call) (out, x, y, bias unsafe.Pointer) {
		if g.TransB {
			return c.Out[1].Data, c.In[0].Data, c.In[1].Data, nil
		}
		return c.Out[1].Data, c.In[1].Data, c.In[0].Data, nil
	}
	if attach.BFloat16(a) {
		var list attach.Products
		if err := list.Add(da.Narrow(1, dtype.BFloat16), left); err != nil {
			return nil, err
		}
		err := list.Add(db.Narrow(1, dtype.BFloat16), right)
		return list.Prepared(threads), err
	}
	return &op.Prepared{Threads: threads, Run: func(c *op.Call) error {
		if out, x, y, _ := left(c); out != nil {
			if err := da.Run(out, x, y); err != nil {
				return err
			}
		}
		if out, x, y, _ := right(c); out != nil {
			return db.Run(out, x, y)
		}
		return nil
	}}, nil
}
