package index

import (
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
	rows, err := read(c.In[1], p.InputDim, clip)
	if err != nil {
		return err
	}
	g := loop.GroupBy(rows)
	out, n := c.Out[0].Sparse, p.OutputDim
	out.Room(len(g.Keys))
	copy(out.Indices, g.Keys)
	values := out.Values()
	loop.Split(c.Threads, len(g.Keys), len(g.Keys)*n, func(begin, end int) {
		row, of := make([]float64, n), int64(0) // a row that was looked up so many times
		for i := begin; i < end; i++ {
			times := g.Starts[i+1] - g.Starts[i]
			if times != of {
				of = times
				for j := range row {
					row[j] = float64(times)
				}
				loop.Store(values, i*n, row)
				continue
			}
			copyRun(values, i*n, values, (i-1)*n, n)
		}
	})
	return nil
}
