package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SparseEmbeddingParams are the parameters of SparseEmbedding.
type SparseEmbeddingParams struct {
	InputDim      int        `op:"input_dim,required" min:"1" doc:"number of rows of weight"`
	OutputDim     int        `op:"output_dim,required" min:"1" doc:"extent of a row"`
	DType         dtype.Type `op:"dtype" doc:"element type of weight"`
	Deterministic bool       `op:"deterministic" doc:"sum gradients in a fixed order; they always are"`
}

// embedding returns the parameters of Embedding with a row_sparse gradient.
func (p SparseEmbeddingParams) embedding() EmbeddingParams {
	return EmbeddingParams{InputDim: p.InputDim, OutputDim: p.OutputDim, DType: p.DType,
		SparseGrad: true}
}

// SparseEmbedding is Embedding with a row_sparse gradient.
var SparseEmbedding = op.Declare[SparseEmbeddingParams]("_contrib_SparseEmbedding")

func init() {
	SparseEmbedding.Define(op.Spec[SparseEmbeddingParams]{
		Traits: op.Traits{
			Doc: "SparseEmbedding is Embedding whose gradient of weight is row_sparse: it stores " +
				"the rows that data numbers.",
			GoName:  "SparseEmbedding",
			Moves:   true,
			Gathers: []int{1},
		},
		Inputs: func(SparseEmbeddingParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param}}
		},
		Infer: func(p SparseEmbeddingParams, in, out []dtype.Shape) error {
			return inferEmbedding(p.embedding(), in, out)
		},
		InferType: func(p SparseEmbeddingParams, in, out []dtype.Type) error {
			return embeddingType(p.embedding(), in, out)
		},
		Grad: func(g *op.Grad, p SparseEmbeddingParams) []op.Entry {
			return []op.Entry{{}, p.embedding().weightGrad(g.Head(0), g.In(0))}
		},
		Ref: func(p SparseEmbeddingParams, c *op.Call) error { return embedding(p.embedding(), c) },
		Storage: func(p SparseEmbeddingParams, in []op.Storage) ([]op.Storage, bool) {
			return embeddingStorage(p.embedding(), in)
		},
		Sparse: func(p SparseEmbeddingParams, c *op.Call) error {
			return embeddingStored(p.embedding(), c)
		},
		GradStorage: func(SparseEmbeddingParams, []op.Storage, []op.Storage) []op.Storage {
			return []op.Storage{op.Dense, op.RowSparse}
		},
	})
}

// embeddingStorage serves row_sparse weights.
func embeddingStorage(_ EmbeddingParams, in []op.Storage) ([]op.Storage, bool) {
	return []op.Storage{op.Dense}, in[0] == op.Dense && in[1] != op.CSR
}

// embeddingStored looks rows of a row_sparse weight up; rows that it does not store are zero.
func embeddingStored(p EmbeddingParams, c *op.Call) error {
	rows, err := read(c.In[0], p.InputDim, clip)
	if err != nil {
		return err
	}
	w := c.In[1].Sparse
	values := w.Values()
	loop.Clear(c.Out[0])
	loop.Split(c.Threads, len(rows), len(rows)*p.OutputDim, func(begin, end int) {
		for i := begin; i < end; i++ {
			k := loop.Search(w.Indices, rows[i])
			if k < w.N && w.Indices[k] == rows[i] {
				copyRun(c.Out[0], i*p.OutputDim, values, k*p.OutputDim, p.OutputDim)
			}
		}
	})
	return nil
}

// embeddingGradStorage is row_sparse where the operator asks for it.
func embeddingGradStorage(p EmbeddingParams, in []op.Storage) ([]op.Storage, bool) {
	if p.SparseGrad && op.AllDense(in) {
		return []op.Storage{op.RowSparse}, true
	}
	return []op.Storage{op.Dense}, op.AllDense(in)
}

// embeddingGradRows computes the gradient of the rows that were looked up: each is the sum of its
// gradients in the order of data.
func embeddingGradRows(p EmbeddingParams, c *op.Call) error {
	g := loop.GroupRows(c.In[1], p.InputDim)
	defer g.Free()
	out, n := c.Out[0].Sparse, p.OutputDim
	out.Room(len(g.Keys))
	copy(out.Indices, g.Keys)
	values, dy := out.Values(), c.In[0]
	if out.DType == dtype.Float32 {
		loop.SumRows(values, dy, loop.RowSums{N: n, Starts: g.Starts, Order: g.Order}, c.Threads)
		return nil
	}
	loop.Split(c.Threads, len(g.Keys), c.In[1].Shape.Size()*n, func(begin, end int) {
		for i := begin; i < end; i++ {
			places := g.Places(i)
			copyRun(values, i*n, dy, int(places[0])*n, n)
			for _, at := range places[1:] {
				loop.AddRun(values, i*n, dy, int(at)*n, n)
			}
		}
	})
	return nil
}
