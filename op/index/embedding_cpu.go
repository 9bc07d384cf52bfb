//go:build cgo

package index

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.Exactly(Embedding, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		if !attach.AllOf(dtype.Float32, a.In[1:]) || !attach.AllOf(dtype.Float32, a.Out) {
			return nil, op.ErrUnsupported
		}
		k, ok := p.lookupC(a, a.In[0], 2*float64(a.Out[0].Bytes))
		if !ok {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(), func(c *op.Call) {
			k.Run(c.Out[0].Data, c.In[1].Data, c.In[0].Data, c.Scratch)
		}), nil
	})
	attach.TierC(embeddingGrad, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		if !attach.AllOf(dtype.Float32, a.In[:1]) || !attach.AllOf(dtype.Float32, a.Out) {
			return nil, op.ErrUnsupported
		}
		k, ok := p.lookupC(a, a.In[1], attach.Bytes(a))
		if !ok {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
}

// lookupC prepares the look-up of indices in a kernel that moves some bytes. It reports false when
// there is no kernel for them.
func (p EmbeddingParams) lookupC(a *op.Args, indices op.Desc, bytes float64) (cpu.Lookup, bool) {
	k, ok := cpu.Lookup{N: indices.Shape.Size(), Rows: p.InputDim, Width: p.OutputDim, Outer: 1,
		Threads: attach.Threads(a, device.Work{Bytes: bytes})}.Indexed(indices.DType, dtype.Float32)
	return k, ok && indices.Layout == nil
}
