package prim

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(Dot, func(p DotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		l, r := p.contracted(len(a.In[0].Shape), len(a.In[1].Shape))
		g := pure.Gemm{M: without(a.In[0].Shape, l).Size(), N: without(a.In[1].Shape, r).Size(),
			K:      a.In[0].Shape[l],
			TransA: p.TransposeA, TransB: p.TransposeB, Alpha: 1}
		return attach.Kernel(1, 0, func(c *op.Call) {
			g.Run(attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1]))
		}), nil
	})
	attach.TierGo(BatchDot, func(p DotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		lead := len(a.Out[0].Shape) - 2
		count := a.Out[0].Shape[:lead].Size()
		m, n, k := a.Out[0].Shape[lead], a.Out[0].Shape[lead+1], a.In[0].Shape[lead+1]
		if p.TransposeA {
			k = a.In[0].Shape[lead]
		}
		g := pure.Gemm{M: m, N: n, K: k, TransA: p.TransposeA, TransB: p.TransposeB, Alpha: 1}
		return attach.Kernel(1, 0, func(c *op.Call) {
			out, x, y := attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1])
			for i := range count {
				g.Run(out[i*m*n:], x[i*m*k:], y[i*k*n:])
			}
		}), nil
	})
}
