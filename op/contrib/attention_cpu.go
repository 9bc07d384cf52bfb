//go:build cgo

package contrib

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range [][2]op.Handle[AttentionParams]{{SelfAttQK, selfAttQKGrad}, {SelfAttValAtt, selfAttValAttGrad},
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

// attentionC prepares a kernel whose products are those of package cpu.
func attentionC(p AttentionParams, a *op.Args, work float64, f func(r *run) error) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	// What a run copies is no more than its operands, each array beginning on a cache line.
	scratch := int(attach.Bytes(a)) + 8*64
	threads := attach.Threads(a, device.Work{Flops: work})
	return &op.Prepared{Threads: threads, Scratch: scratch, Run: func(c *op.Call) error {
		used := 0
		return f(&run{heads: p.Heads, in: c.In, out: c.Out,
			mul: func(m product) error { return mulC(m, threads) },
			temp: func(t dtype.Type, s dtype.Shape) op.Tensor {
				x := op.Tensor{Desc: op.Plain(t, s), Data: unsafe.Add(c.Scratch, used)}
				used += (x.Bytes + 63) &^ 63
				return x
			}})
	}}, nil
}

// work is the number of operations of one product: as many per score as a vector is long.
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

func mulC(m product, threads int) error {
	g := cpu.Gemm{M: m.dst.Shape[1], N: m.dst.Shape[2], K: m.a.Shape[2], TransA: m.transA, TransB: m.transB, Alpha: float32(m.alpha), Threads: threads}
	if m.transA {
		g.K = m.a.Shape[1]
	}
	return g.RunBatch(m.dst.Data, m.a.Data, m.b.Data, m.dst.Shape[0])
}
