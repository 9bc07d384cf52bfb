package nn

import (
	"gomx/device"
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Dense multiplies its input by a weight of shape (Units, InUnits), adds a bias and applies an
// activation: activation(x·wᵀ + b).
//
// MXNet: gluon.nn.Dense, operator FullyConnected.
type Dense struct {
	gluon.Hooks
	Units      int    // outputs
	InUnits    int    // inputs; 0: found by the first call
	KeepAxes   bool   // transform the last axis alone; otherwise all axes but the first are joined
	NoBias     bool   // leave the bias out
	Activation string // "relu", "sigmoid", "tanh", "softrelu" or "softsign"; empty: none

	WeightInit initializer.Initializer // nil: the network's
	BiasInit   initializer.Initializer // nil: zeros

	Weight, Bias *gluon.Param
}

// Declare declares the parameters.
func (d *Dense) Declare() {
	weight := gluon.Spec{Shape: nd.Shape{d.Units, d.InUnits}, Init: d.WeightInit}
	weightAndBias(&d.Weight, &d.Bias, weight, gluon.BiasSpec(d.Units, d.BiasInit), d.NoBias)
}

// Forward returns activation(x·wᵀ + b): of shape (n, Units), or with KeepAxes (…, Units).
func (d *Dense) Forward(x *nd.Array) *nd.Array {
	if d.Weight == nil {
		d.Declare()
	}
	call, in := d.Enter(d, x), x.Shape()
	size := 1
	for _, n := range in[min(1, len(in)):] {
		size *= n
	}
	if d.KeepAxes && len(in) > 0 {
		size = in[len(in)-1]
	}
	w := d.Weight.At(x, d.Units, size)
	y := nd.FullyConnected(x, w, at(d.Bias, x, d.Units), nd.FullyConnectedParams{NumHidden: d.Units,
		NoBias: d.NoBias, NoFlatten: d.KeepAxes})
	return call.Leave(activate(y, d.Activation))
}

// Embedding returns the rows of a table that its input names.
//
// MXNet: gluon.nn.Embedding.
type Embedding struct {
	gluon.Hooks
	Rows, Units int // entries of the table, and numbers of each
	// SparseGrad makes the gradient row_sparse: it stores the rows that were used alone, and
	// optimizers with lazy updates change no others. A step then costs by the rows that it uses,
	// not by Rows.
	SparseGrad bool
	// SparseWeight makes the table itself row_sparse, with such a gradient: a row has memory from the
	// first call on that looks it up, so that the table may be larger than the memory. See
	// gluon.Spec.Storage.
	//
	// MXNet: gluon.contrib.nn.SparseEmbedding.
	SparseWeight bool

	WeightInit initializer.Initializer // nil: the network's

	Weight *gluon.Param
}

// Declare declares the parameters.
func (e *Embedding) Declare() {
	s := gluon.Spec{Shape: nd.Shape{e.Rows, e.Units}, Init: e.WeightInit}
	if e.SparseGrad || e.SparseWeight {
		s.GradStorage = nd.RowSparse
	}
	if e.SparseWeight {
		s.Storage = nd.RowSparse
	}
	e.Weight = gluon.Need(e.Weight, s)
}

// Forward returns an array of the shape of x and one more axis, of extent Units.
func (e *Embedding) Forward(x *nd.Array) *nd.Array {
	if e.Weight == nil {
		e.Declare()
	}
	call := e.Enter(e, x)
	return call.Leave(nd.Embedding(x, e.Weight.Rows(x, x), nd.EmbeddingParams{InputDim: e.Rows,
		OutputDim: e.Units, DType: e.Weight.DType,
		SparseGrad: (e.SparseGrad || e.Weight.Storage == nd.RowSparse) &&
			x.Device().Kind == device.KindCPU}))
}

// Dropout sets a share of the elements to zero in training, and scales the others up.
//
// MXNet: gluon.nn.Dropout.
type Dropout struct {
	gluon.Hooks
	Rate float64 // share that is dropped, from 0 to 1
	Axes []int   // axes along which elements are dropped together
}

// Forward drops elements of x under a training tape, and returns x elsewhere.
func (d *Dropout) Forward(x *nd.Array) *nd.Array {
	call := d.Enter(d, x)
	if d.Rate == 0 {
		return call.Leave(x)
	}
	return call.Leave(nd.Dropout(x, nd.DropoutParams{P: nd.Some(d.Rate), Axes: d.Axes}))
}

// at returns the values of a parameter that a layer may not have.
func at(p *gluon.Param, x *nd.Array, extents ...int) *nd.Array {
	if p == nil {
		return nil
	}
	return p.At(x, extents...)
}

// weightAndBias declares the parameters of a layer; with noBias the weight alone.
func weightAndBias(w, b **gluon.Param, weight, bias gluon.Spec, noBias bool) {
	*w = gluon.Need(*w, weight)
	if !noBias {
		*b = gluon.Need(*b, bias)
	}
}
