//go:build cgo

package linalg

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.TierC(Gemm, func(p GemmParams, a *op.Args) (*op.Prepared, error) {
		return p.product().prepare(p.Beta.Value(), a)
	})
	attach.TierC(Gemm2, func(p Gemm2Params, a *op.Args) (*op.Prepared, error) {
		return p.prepare(0, a)
	})
}

// prepare returns a kernel for matrices with contiguous rows.
func (p Gemm2Params) prepare(beta float64, a *op.Args) (*op.Prepared, error) {
	lhs, out := a.In[0].Shape, a.Out[0].Shape
	n := len(out)
	axis, err := p.axis(n)
	if err != nil {
		return nil, err
	}
	if !attach.Float32(a) || axis != n-2 {
		return nil, op.ErrUnsupported
	}
	g := cpu.Gemm{M: out[n-2], N: out[n-1], K: lhs[n-1], TransA: p.TransposeA, TransB: p.TransposeB,
		Alpha: float32(p.Alpha.Value()), Beta: float32(beta)}
	if p.TransposeA {
		g.K = lhs[n-2]
	}
	count := dtype.Shape(out[:n-2]).Size()
	g.Threads = attach.Threads(a, device.Work{Flops: 2 * float64(count) * float64(g.M) *
		float64(g.N) * float64(g.K)})
	return &op.Prepared{Threads: g.Threads, Run: func(c *op.Call) error {
		if beta != 0 {
			loop.Move(c.Out[0], c.In[2])
		}
		return g.RunBatch(c.Out[0].Data, c.In[0].Data, c.In[1].Data, count)
	}}, nil
}
