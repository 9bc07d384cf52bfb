package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The operators that pass their input on, or only its shape.
var (
	Identity             = op.Declare[op.NoParams]("_copy")
	IdentityWithAttrLike = op.Declare[op.NoParams]("_identity_with_attr_like_rhs")
	ZerosLike            = op.Declare[op.NoParams]("zeros_like")
	OnesLike             = op.Declare[op.NoParams]("ones_like")

	// NoGradient is ZerosLike for the gradient of a variable that the outputs do not depend on. No
	// operator of a graph reads the result, so a device may write it at the end of a segment.
	NoGradient = op.Declare[op.NoParams]("_no_gradient")
)

func init() {
	Identity.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:      "Identity passes its input on. MXNet's identity, registered as _copy.",
			GoName:   "Identity",
			Aliases:  []string{"identity"},
			Identity: true,
			Inplace:  [][2]int{{0, 0}},
		},
		Infer:   op.SameShape[op.NoParams],
		Grad:    passGrad[op.NoParams],
		Neutral: op.Always[op.NoParams],
		Ref:     move[op.NoParams],

		Storage: op.StoreLike[op.NoParams], Sparse: CopyStored[op.NoParams],
		GradStorage: op.GradLikeHead[op.NoParams],
	})
	IdentityWithAttrLike.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "IdentityWithAttrLike passes lhs on and gives it the shape and element type of " +
				"rhs, where these are unknown, and its storage type.",
			GoName:   "IdentityWithAttrLike",
			Identity: true,
			Ignores:  []int{1},
			Inplace:  [][2]int{{0, 0}},
		},
		Inputs: Inputs[op.NoParams]("lhs", "rhs"),
		Infer:  op.SameShape[op.NoParams],
		Grad:   passGrad[op.NoParams],
		Ref:    move[op.NoParams],

		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) { return in[1:], true },
		Sparse:  func(_ op.NoParams, c *op.Call) error { return castStorage(CastStorageParams{}, c) },
		GradStorage: func(_ op.NoParams, in, heads []op.Storage) []op.Storage {
			return []op.Storage{heads[0], in[1]}
		},
	})
	like(ZerosLike, "ZerosLike makes zeros in the shape and element type of its input.", 0,
		"_sparse_zeros_like")
	like(OnesLike, "OnesLike makes ones in the shape and element type of its input.", 1)
	like(NoGradient, "", 0)
}

func like(h op.Handle[op.NoParams], doc string, v float64, aliases ...string) {
	s := op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: doc, Aliases: aliases, Ignores: []int{0}, Inplace: [][2]int{{0, 0}},
			Moves: true, Hidden: doc == ""},
		Infer: op.SameShape[op.NoParams],
		Grad:  ZeroGrad[op.NoParams],
		Fill:  func(op.NoParams) float64 { return v },
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Fill(c.Out[0], v)
			return nil
		},
	}
	if v == 0 {
		s.Storage = op.StoreLike[op.NoParams]
		s.Sparse = func(_ op.NoParams, c *op.Call) error {
			c.Out[0].Sparse.Empty()
			return nil
		}
	}
	h.Define(s)
}

// CopyStored is the sparse kernel of operators that pass input 0 on.
func CopyStored[P any](_ P, c *op.Call) error {
	loop.CopyStored(c.Out[0].Sparse, c.In[0].Sparse)
	return nil
}

// move is the reference kernel of operators that keep the order of elements.
func move[P any](_ P, c *op.Call) error {
	loop.Move(c.Out[0], c.In[0])
	return nil
}

// firstType infers that the output has the element type of the first input; others are free.
func firstType[P any](p P, in, out []dtype.Type) error { return op.SameType(p, in[:1], out) }
