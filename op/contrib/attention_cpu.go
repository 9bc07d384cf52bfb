//go:build cgo

package contrib

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range [][2]op.Handle[AttentionParams]{{SelfAttQK, selfAttQKGrad},
		{SelfAttValAtt, selfAttValAttGrad},
		{EncDecQK, encDecQKGrad}, {EncDecValAtt, encDecValAttGrad}} {
		a := attentions[h[0].Name]
		attach.TierC(h[0], func(p AttentionParams, args *op.Args) (*op.Prepared, error) {
			return attentionC(p, args, a.work(p, args.In, args.Out[0]), a.run)
		})
		attach.TierC(h[1], func(p AttentionParams, args *op.Args) (*op.Prepared, error) {
			return attentionC(p, args, 2*a.work(p, args.In[1:], args.In[0]), a.back)
		})
	}
}

// attentionC prepares a kernel that computes its products with package cpu.
func attentionC(p AttentionParams, a *op.Args, work float64, f func(r *run) error) (*op.Prepared,
	error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Flops: work})
	return &op.Prepared{Threads: threads, Run: func(c *op.Call) error {
		return f(&run{heads: p.Heads, in: c.In, out: c.Out,
			mul: func(m product) error { return mulC(&m, threads) }})
	}}, nil
}

// work returns the number of operations of one product: per score as many as a vector has elements.
func (a *attention) work(p AttentionParams, in []op.Desc, out op.Desc) float64 {
	scores, vector := 0, 0
	count := func(o operand, d op.Desc) {
		if o.axes[0].perHead {
			scores = d.Shape.Size()
		} else {
			vector = d.Shape[2] / (p.Heads * o.axes[2].times)
		}
	}
	for i, o := range a.in {
		count(o, in[i])
	}
	count(a.out, out)
	return 2 * float64(scores) * float64(vector)
}

func mulC(m *product, threads int) error {
	if m.batches == 0 {
		return nil
	}
	g := cpu.Gemm{M: m.dst.rows, N: m.dst.cols, K: m.inner(), TransA: m.transA, TransB: m.transB,
		Alpha: float32(m.alpha), Threads: threads}
	return g.RunGrid(m.dst.grid(), m.a.grid(), m.b.grid(), m.batches, m.heads)
}

func (m *matrices) grid() cpu.Grid {
	return cpu.Grid{Data: unsafe.Add(m.t.Data, m.off*m.t.DType.Size()), Row: m.row, Inner: m.head,
		Outer: m.batch}
}
