package prim

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// ReshapeParams are the parameters of Reshape.
type ReshapeParams struct {
	Shape       []int `op:"shape" doc:"new shape: 0 copies an extent, -1 is computed from the size, -2 copies all that remain, -3 joins two, -4 splits one into the next two numbers"`
	Reverse     bool  `op:"reverse" doc:"read the shapes from the right"`
	TargetShape []int `op:"target_shape" doc:"old form of shape: one zero is computed from the size"`
	KeepHighest bool  `op:"keep_highest" doc:"with target_shape: keep the first extent"`
}

// ReshapeLikeParams are the parameters of ReshapeLike.
type ReshapeLikeParams struct {
	LhsBegin op.Opt[int] `op:"lhs_begin" doc:"first axis of lhs to replace; None: 0"`
	LhsEnd   op.Opt[int] `op:"lhs_end" doc:"axis after the last to replace; None: all"`
	RhsBegin op.Opt[int] `op:"rhs_begin" doc:"first axis of rhs to copy; None: 0"`
	RhsEnd   op.Opt[int] `op:"rhs_end" doc:"axis after the last to copy; None: all"`
}

// ExpandDimsParams are the parameters of ExpandDims.
type ExpandDimsParams struct {
	Axis int `op:"axis,required" doc:"where the new axis is; negative counts from the end of the output"`
}

// SqueezeParams are the parameters of Squeeze.
type SqueezeParams struct {
	Axis []int `op:"axis" doc:"axes to remove, of extent one; none: all such axes"`
}

// The operators that change the shape and leave the elements in order.
var (
	Reshape     = op.Declare[ReshapeParams]("Reshape")
	ReshapeLike = op.Declare[ReshapeLikeParams]("reshape_like")
	Flatten     = op.Declare[op.NoParams]("Flatten")
	ExpandDims  = op.Declare[ExpandDimsParams]("expand_dims")
	Squeeze     = op.Declare[SqueezeParams]("squeeze")
	// ShapeLike gives its first input the shape of the second.
	ShapeLike = op.Declare[op.NoParams]("_shape_like")
)

func init() {
	Reshape.Define(reshaping(
		"Reshape changes the shape. Of the special numbers in shape, 0 copies the extent of the "+
			"input at that place,"+
			" -1 is computed from the size, -2 copies all extents that remain, -3 joins two and "+
			"-4 splits one into the"+
			" two numbers that follow, of which one may be -1.", inferReshape, "reshape"))
	Flatten.Define(reshaping("Flatten joins all axes but the first: the output has shape (N, "+
		"rest).", inferFlatten, "_npx_batch_flatten", "flatten"))
	ExpandDims.Define(reshaping("ExpandDims inserts an axis of extent one.", inferExpandDims,
		"_npi_expand_dims"))
	Squeeze.Define(reshaping("Squeeze removes axes of extent one: the given ones, or all. One "+
		"axis remains of an array of size one.", inferSqueeze))
	s := reshaping("ReshapeLike gives lhs the shape of rhs, or replaces the given axes of lhs "+
		"by the given axes of rhs.", inferReshapeLike, "_npx_reshape_like")
	s.Inputs, s.Ignores, s.InferType = Inputs[ReshapeLikeParams]("lhs", "rhs"), []int{1},
		firstType[ReshapeLikeParams]
	s.GradStorage = func(_ ReshapeLikeParams, in, _ []op.Storage) []op.Storage {
		return []op.Storage{op.Dense, in[1]} // the gradient by rhs is zero
	}
	ReshapeLike.Define(s)
	b := reshaping("", func(p op.NoParams, in, out []dtype.Shape) error {
		if in[0].Known() && in[1].Known() && in[0].Size() != in[1].Size() {
			return op.Errorf("like", "shape %v, want %d elements", in[1], in[0].Size())
		}
		return op.SameShape(p, in[1:], out)
	})
	b.Hidden, b.Inputs, b.Ignores, b.InferType = true, Inputs[op.NoParams]("data", "like"),
		[]int{1}, firstType[op.NoParams]
	ShapeLike.Define(b)
}

// reshaping is the definition that all operators of this file share.
func reshaping[P any](doc string, infer func(p P, in, out []dtype.Shape) error,
	aliases ...string) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Doc: doc, Aliases: aliases, Identity: true, Inplace: [][2]int{{0, 0}},
			Reshapes: true},
		Infer: infer,
		Grad: func(g *op.Grad, _ P) []op.Entry {
			in := make([]op.Entry, len(g.Node.In))
			in[0] = ShapeLike.Apply(none, g.Head(0), g.In(0))
			return in
		},
		Neutral: op.Always[P],
		Ref:     move[P],
	}
}

func inferFlatten(_ op.NoParams, in, out []dtype.Shape) error {
	if err := op.Require("output", &out[0], unknown(2)); err != nil {
		return err
	}
	s := in[0]
	if len(s) == 0 {
		if s != nil {
			return op.Errorf("data", "shape (), want at least one axis")
		}
		return nil
	}
	if err := op.Require("output", &out[0], dtype.Shape{s[0], s[1:].Size()}); err != nil {
		return err
	}
	s[0] = out[0][0]
	completeExtent(s, out[0])
	return nil
}

func inferExpandDims(p ExpandDimsParams, in, out []dtype.Shape) error {
	if in[0] == nil && out[0] == nil {
		return nil
	}
	rank := len(in[0]) + 1
	if in[0] == nil {
		rank = len(out[0])
	}
	a, err := Axis("axis", p.Axis, rank)
	if err != nil {
		return err
	}
	if out[0] != nil {
		if len(out[0]) != rank {
			return op.Errorf("output", "shape %v, want %d axes", out[0], rank)
		}
		if err := op.Require("data", &in[0], slices.Delete(out[0].Clone(), a, a+1)); err != nil {
			return err
		}
	}
	return op.Require("output", &out[0], slices.Insert(in[0].Clone(), a, 1))
}

func inferSqueeze(p SqueezeParams, in, out []dtype.Shape) error {
	s := in[0]
	if s == nil {
		return nil
	}
	drop := make([]bool, len(s))
	if len(p.Axis) == 0 {
		if !s.Known() {
			return nil
		}
		for i, d := range s {
			drop[i] = d == 1
		}
	}
	for _, axis := range p.Axis {
		a, err := Axis("axis", axis, len(s))
		if err != nil {
			return err
		}
		if s[a] != 1 && s[a] != -1 {
			return op.Errorf("axis", "axis %d of %v has extent %d, want 1", a, s, s[a])
		}
		drop[a], s[a] = true, 1
	}
	if err := op.Require("output", &out[0], ReducedShape(s, drop, false)); err != nil {
		return err
	}
	k := 0
	for i := range s {
		if !drop[i] {
			s[i] = out[0][k]
			k++
		}
	}
	return nil
}

func inferReshapeLike(p ReshapeLikeParams, in, out []dtype.Shape) error {
	if in[1] == nil || in[0] == nil {
		return nil
	}
	lb, le, err := span("lhs", p.LhsBegin, p.LhsEnd, len(in[0]))
	if err != nil {
		return err
	}
	rb, re, err := span("rhs", p.RhsBegin, p.RhsEnd, len(in[1]))
	if err != nil {
		return err
	}
	want := append(dtype.Shape{}, slices.Concat(in[0][:lb], in[1][rb:re], in[0][le:])...)
	if in[0].Known() && want.Known() && want.Size() != in[0].Size() {
		return op.Errorf("rhs", "shape %v makes %v of lhs of shape %v, want as many elements",
			in[1], want, in[0])
	}
	return op.Require("output", &out[0], want)
}

// span returns a range of axes; negative bounds count from the end.
func span(arg string, begin, end op.Opt[int], rank int) (int, int, error) {
	b, e := begin.Or(0), end.Or(rank)
	if b < 0 {
		b += rank
	}
	if e < 0 {
		e += rank
	}
	if b < 0 || e > rank || b > e {
		return 0, 0, op.Errorf(arg, "axes from %d to %d, want a range within %d axes", b, e, rank)
	}
	return b, e, nil
}
