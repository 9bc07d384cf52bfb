package main

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// wideDeep is p(click) = 1/(1+exp(-score)), where score is x·Weight + Deep(embeddings of columns).
type wideDeep struct {
	Weight *gluon.Param
	Table  *nn.Embedding
	Deep   nn.Sequential
}

func newWideDeep(columns, units int) *wideDeep {
	return &wideDeep{
		Weight: gluon.NewParam(gluon.Spec{Shape: nd.Shape{columns, 1}, Init: initializer.Zero{},
			GradStorage: nd.RowSparse}),
		Table: &nn.Embedding{Rows: columns, Units: units, SparseGrad: true,
			WeightInit: initializer.Normal{Sigma: 0.1}},
		Deep: nn.Sequential{&nn.Dense{Units: 32, Activation: "relu"},
			&nn.Dense{Units: 16, Activation: "relu"}, &nn.Dense{Units: 1}}}
}

// Forward returns the score of each sample. Row i of columns lists the columns of row i of x.
func (m *wideDeep) Forward(x, columns *nd.Array) *nd.Array {
	wide := nd.Dot(x, m.Weight.Rows(x, columns), nd.DotParams{})
	return wide.Add(m.Deep.Forward(m.Table.Forward(columns)))
}
