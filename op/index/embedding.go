package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// EmbeddingParams are the parameters of Embedding.
type EmbeddingParams struct {
	InputDim   int        `op:"input_dim,required" min:"1" doc:"number of rows of weight"`
	OutputDim  int        `op:"output_dim,required" min:"1" doc:"extent of a row"`
	DType      dtype.Type `op:"dtype" doc:"element type of weight"`
	SparseGrad bool       `op:"sparse_grad" doc:"make the gradient of weight row_sparse: it stores the rows that data numbers"`
}

// Embedding looks rows of a table up.
var Embedding = op.Declare[EmbeddingParams]("Embedding")

var embeddingGrad = op.Declare[EmbeddingParams]("_backward_Embedding")

// weightGrad returns the gradient of a table whose rows were looked up by data. dy is the gradient
// of the rows. If it is ones, as at the head of a gradient, a sparse gradient needs no array of it.
func (p EmbeddingParams) weightGrad(dy, data op.Entry) op.Entry {
	if p.SparseGrad && dy.Node.Op == prim.OnesLike.Op {
		return embeddingCount.Apply(p, dy.Node.In[0], data)
	}
	return embeddingGrad.Apply(p, dy, data)
}

func init() {
	Embedding.Define(op.Spec[EmbeddingParams]{
		Traits: op.Traits{
			Doc: "Embedding replaces every index of data by that row of weight, whose shape is " +
				"(input_dim, output_dim): the output has the shape of data and one more axis of " +
				"extent output_dim. Indices out of range are clipped.",
			Aliases: []string{"_npx_embedding", "_sparse_Embedding"},
			Moves:   true,
			Gathers: []int{1},
		},
		Inputs: func(EmbeddingParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param}}
		},
		Infer:     inferEmbedding,
		InferType: embeddingType,
		Grad: func(g *op.Grad, p EmbeddingParams) []op.Entry {
			return []op.Entry{{}, p.weightGrad(g.Head(0), g.In(0))}
		},
		Ref: embedding,

		Storage: embeddingStorage, Sparse: embeddingStored,
		GradStorage: func(p EmbeddingParams, _, _ []op.Storage) []op.Storage {
			out := make([]op.Storage, 2)
			if p.SparseGrad {
				out[1] = op.RowSparse
			}
			return out
		},
	})
	embeddingGrad.Define(op.Spec[EmbeddingParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    prim.Inputs[EmbeddingParams]("grad", "data"),
		Infer:     inferEmbeddingGrad,
		InferType: dataType[EmbeddingParams](0),
		Grad: func(g *op.Grad, p EmbeddingParams) []op.Entry {
			return []op.Entry{Embedding.Apply(p, g.In(1), g.Head(0)), {}}
		},
		Ref:     embeddingBackward,
		Storage: embeddingGradStorage, Sparse: embeddingGradRows,
	})
}

func inferEmbedding(p EmbeddingParams, in, out []dtype.Shape) error {
	if err := op.Require("weight", &in[1], dtype.Shape{p.InputDim, p.OutputDim}); err != nil {
		return err
	}
	if out[0] != nil {
		last := len(out[0]) - 1
		if last < 0 || out[0][last] != -1 && out[0][last] != p.OutputDim {
			return op.Errorf("output", "shape %v, want a last axis of extent %d", out[0],
				p.OutputDim)
		}
		if err := op.Require("data", &in[0], out[0][:last]); err != nil {
			return err
		}
	}
	if in[0] == nil {
		return nil
	}
	return op.Require("output", &out[0], append(in[0].Clone(), p.OutputDim))
}

// inferEmbeddingGrad infers shapes of the gradient of a table from the rows that were looked up, or
// arrays like them, and data.
func inferEmbeddingGrad(p EmbeddingParams, in, out []dtype.Shape) error {
	forward := []dtype.Shape{in[1], out[0]}
	if err := inferEmbedding(p, forward, in[:1]); err != nil {
		return err
	}
	in[1], out[0] = forward[0], forward[1]
	return nil
}

// embeddingType makes weight and output have one type: the dtype parameter where nothing else is
// known.
func embeddingType(p EmbeddingParams, in, out []dtype.Type) error {
	if in[1] == dtype.Unknown && out[0] == dtype.Unknown {
		in[1] = p.DType
	}
	return op.SameType(p, in[1:], out)
}

func embedding(p EmbeddingParams, c *op.Call) error {
	rows, err := read(c.In[0], p.InputDim, clip)
	for i, row := range rows {
		copyRun(c.Out[0], i*p.OutputDim, c.In[1], int(row)*p.OutputDim, p.OutputDim)
	}
	return err
}

func embeddingBackward(p EmbeddingParams, c *op.Call) error {
	rows, err := read(c.In[1], p.InputDim, clip)
	s := make(sums, p.InputDim*p.OutputDim)
	for i, row := range rows {
		s.add(int(row)*p.OutputDim, c.In[0], i*p.OutputDim, p.OutputDim)
	}
	loop.Store(c.Out[0], 0, s)
	return err
}
