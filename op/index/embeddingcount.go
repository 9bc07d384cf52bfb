package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// embeddingCount is embeddingGrad of gradients that are ones: every element of a row is the number
// of times that the row was looked up.
var embeddingCount = op.Declare[EmbeddingParams]("_backward_Embedding_ones")

func init() {
	embeddingCount.Define(op.Spec[EmbeddingParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{0}},
		Inputs:    prim.Inputs[EmbeddingParams]("like", "data"),
		Infer:     inferEmbeddingGrad,
		InferType: dataType[EmbeddingParams](0),
		Grad:      prim.ZeroGrad[EmbeddingParams],
		Ref:       countRows,
		Storage:   embeddingGradStorage, Sparse: countStoredRows,
	})
}

func countRows(p EmbeddingParams, c *op.Call) error {
	rows, err := read(c.In[1], p.InputDim, clip)
	s := make([]float64, p.InputDim*p.OutputDim)
	for _, row := range rows {
		run := s[int(row)*p.OutputDim:][:p.OutputDim]
		for j := range run {
			run[j]++
		}
	}
	loop.Store(c.Out[0], 0, s)
	return err
}

func countStoredRows(p EmbeddingParams, c *op.Call) error {
	g := loop.GroupRows(c.In[1], p.InputDim)
	defer g.Free()
	out, n := c.Out[0].Sparse, p.OutputDim
	out.Room(len(g.Keys))
	copy(out.Indices, g.Keys)
	values := out.Values()
	if out.DType == dtype.Float32 {
		loop.CountRows(values, g.Starts, n, c.Threads)
		return nil
	}
	loop.Split(c.Threads, len(g.Keys), len(g.Keys)*n, func(begin, end int) {
		row := make([]float64, n)
		for i := begin; i < end; i++ {
			for j := range row {
				row[j] = float64(g.Starts[i+1] - g.Starts[i])
			}
			loop.Store(values, i*n, row)
		}
	})
	return nil
}
