//go:build cuda

package contrib

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range [][2]op.Handle[AttentionParams]{{SelfAttQK, selfAttQKGrad},
		{SelfAttValAtt, selfAttValAttGrad},
		{EncDecQK, encDecQKGrad}, {EncDecValAtt, encDecValAttGrad}} {
		a := attentions[h[0].Name]
		attach.CUDA(h[0], func(p AttentionParams, args *op.Args) (*op.Prepared, error) {
			return attentionCUDA(p, args, a.run)
		})
		attach.CUDA(h[1], func(p AttentionParams, args *op.Args) (*op.Prepared, error) {
			return attentionCUDA(p, args, a.back)
		})
	}
}

// attentionStep is one product or, if p is nil, the zeroing of an operand.
type attentionStep struct {
	p               *attach.Product
	dst, a, b       int // numbers of operands: inputs first, then outputs
	atDst, atA, atB int // offsets in bytes
	bytes           int
}

// attentionCUDA runs f once at Prepare to record its products; the operands have no memory yet.
func attentionCUDA(p AttentionParams, a *op.Args, f func(r *run) error) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	marks := make([]byte, len(a.In)+len(a.Out)) // the address of mark i stands for operand i
	operand := func(t op.Tensor) int {
		return int(uintptr(t.Data) - uintptr(unsafe.Pointer(&marks[0])))
	}
	var in, out []op.Tensor
	for i, d := range a.In {
		in = append(in, op.Tensor{Desc: d, Data: unsafe.Pointer(&marks[i])})
	}
	for i, d := range a.Out {
		t := op.Tensor{Desc: d}
		if a.Needs(i) {
			t.Data = unsafe.Pointer(&marks[len(in)+i])
		}
		out = append(out, t)
	}
	var steps []attentionStep
	r := &run{heads: p.Heads, in: in, out: out, wipe: func(t op.Tensor) {
		steps = append(steps, attentionStep{dst: operand(t), bytes: t.Bytes})
	}}
	r.mul = func(m product) error {
		for _, x := range []matrices{m.dst, m.a, m.b} {
			if x.batch != m.heads*x.head && m.batches > 1 {
				return op.ErrUnsupported
			}
		}
		k, err := attach.NewProduct(t, m.batches*m.heads, m.a.matrix().If(m.transA),
			m.b.matrix().If(m.transB), m.dst.matrix(), m.alpha, 0)
		size := t.Size()
		steps = append(steps, attentionStep{p: k, dst: operand(m.dst.t), a: operand(m.a.t),
			b:     operand(m.b.t),
			atDst: m.dst.off * size, atA: m.a.off * size, atB: m.b.off * size})
		return err
	}
	if err := f(r); err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		at := func(i, off int) unsafe.Pointer {
			if i < len(c.In) {
				return unsafe.Add(c.In[i].Data, off)
			}
			return unsafe.Add(c.Out[i-len(c.In)].Data, off)
		}
		for _, s := range steps {
			var err error
			if s.p == nil {
				err = q.Clear(at(s.dst, 0), s.bytes)
			} else {
				err = s.p.Run(q, at(s.a, s.atA), at(s.b, s.atB), at(s.dst, s.atDst))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// matrix describes the matrices of all heads as operands of a product.
func (m *matrices) matrix() attach.Matrix {
	return attach.Matrix{Rows: m.rows, Cols: m.cols, RowStride: m.row, ColStride: 1, Batch: m.head}
}
