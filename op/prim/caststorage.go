package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CastStorageParams are the parameters of CastStorage.
type CastStorageParams struct {
	SType string `op:"stype,required" enum:"default|row_sparse|csr" doc:"storage type of the output"`
}

// CastStorage converts between storage types, CastStored the element type of stored values.
var (
	CastStorage = op.Declare[CastStorageParams]("cast_storage")
	CastStored  = op.Declare[CastParams]("_cast_stored")
)

func init() {
	CastStorage.Define(op.Spec[CastStorageParams]{
		Traits: op.Traits{
			Doc: "CastStorage converts to a storage type. The result stores the rows " +
				"(row_sparse), or the elements of a matrix (csr), of a dense array that are not " +
				"zero. An array that has the storage type is copied with the zeros that it stores.",
			Aliases:  []string{"_sparse_cast_storage"},
			Identity: true,
			Inplace:  [][2]int{{0, 0}},
		},
		Infer:   inferCastStorage,
		Grad:    passGrad[CastStorageParams],
		Neutral: func(p CastStorageParams) bool { return p.storage() == op.Dense },
		Ref:     move[CastStorageParams],
		Storage: func(p CastStorageParams, _ []op.Storage) ([]op.Storage, bool) {
			return []op.Storage{p.storage()}, true
		},
		Sparse: castStorage,
		GradStorage: func(p CastStorageParams, _, heads []op.Storage) []op.Storage {
			return heads[:1]
		},
	})
	CastStored.Define(op.Spec[CastParams]{
		Traits: op.Traits{Hidden: true},
		Infer:  op.SameShape[CastParams],
		InferType: func(p CastParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Grad: func(g *op.Grad, _ CastParams) []op.Entry {
			return []op.Entry{CastLike.Apply(none, g.Head(0), g.In(0))}
		},
		Ref:         func(_ CastParams, c *op.Call) error { return convert(c) },
		Storage:     op.StoreLike[CastParams],
		GradStorage: op.GradLikeHead[CastParams],
		Sparse: func(_ CastParams, c *op.Call) error {
			in, out := c.In[0].Sparse, c.Out[0].Sparse
			out.Structure(in)
			return convert(&op.Call{In: []op.Tensor{in.Values()}, Out: []op.Tensor{out.Values()}})
		},
	})
}

func (p CastStorageParams) storage() op.Storage {
	s, _ := op.ParseStorage(p.SType)
	return s
}

func inferCastStorage(p CastStorageParams, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in, out); err != nil {
		return err
	}
	if in[0] == nil {
		return nil
	}
	if err := op.CanStore(p.storage(), in[0]); err != nil {
		return op.Errorf("data", "shape %v cannot be stored as %s", in[0], p.SType)
	}
	return nil
}

func castStorage(p CastStorageParams, c *op.Call) error {
	in, out := c.In[0], c.Out[0]
	switch {
	case in.Storage == out.Storage:
		loop.CopyStored(out.Sparse, in.Sparse)
	case out.Storage == op.Dense:
		loop.ToDense(out, in.Sparse, c.Threads)
	case in.Storage == op.Dense && out.Storage == op.RowSparse:
		loop.ToRows(out.Sparse, in, c.Threads)
	case in.Storage == op.Dense:
		loop.ToElements(out.Sparse, in, c.Threads)
	case out.Storage == op.RowSparse:
		loop.RowsOfElements(out.Sparse, in.Sparse)
	default:
		loop.ElementsOfRows(out.Sparse, in.Sparse)
	}
	return nil
}
