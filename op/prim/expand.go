package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// BroadcastToParams are the parameters of BroadcastTo.
type BroadcastToParams struct {
	Shape []int `op:"shape" doc:"shape of the output; zero keeps an extent"`
}

// BroadcastAxisParams are the parameters of BroadcastAxis.
type BroadcastAxisParams struct {
	Axis []int `op:"axis" doc:"axes of extent one"`
	Size []int `op:"size" doc:"their extents in the output"`
}

// BroadcastLikeParams are the parameters of BroadcastLike.
type BroadcastLikeParams struct {
	LhsAxes []int `op:"lhs_axes" doc:"axes of the first input to repeat; none: all"`
	RhsAxes []int `op:"rhs_axes" doc:"axes of the second input that give their extents"`
}

// The operators that repeat axes of extent one, and the operator that sums repeated elements.
var (
	BroadcastTo   = op.Declare[BroadcastToParams]("broadcast_to")
	BroadcastAxis = op.Declare[BroadcastAxisParams]("broadcast_axis")
	BroadcastLike = op.Declare[BroadcastLikeParams]("broadcast_like")
	SumLike       = op.Declare[op.NoParams]("_sum_like")
)

func init() {
	BroadcastTo.Define(op.Spec[BroadcastToParams]{
		Traits: op.Traits{Doc: "BroadcastTo repeats axes of extent one to the given shape.",
			Moves: true},
		Infer:   inferBroadcastTo,
		Grad:    sumLikeGrad[BroadcastToParams],
		Neutral: op.Always[BroadcastToParams],
		Ref:     broadcastRef[BroadcastToParams],
	})
	BroadcastAxis.Define(op.Spec[BroadcastAxisParams]{
		Traits: op.Traits{
			Doc:     "BroadcastAxis repeats the given axes, of extent one, to the given extents.",
			Aliases: []string{"broadcast_axes"},
			Moves:   true,
		},
		Infer:   inferBroadcastAxis,
		Grad:    sumLikeGrad[BroadcastAxisParams],
		Neutral: op.Always[BroadcastAxisParams],
		Ref:     broadcastRef[BroadcastAxisParams],
	})
	BroadcastLike.Define(op.Spec[BroadcastLikeParams]{
		Traits: op.Traits{
			Doc: "BroadcastLike repeats axes of extent one of lhs to the extents of rhs, for all " +
				"axes or for the given pairs of axes.",
			Ignores: []int{1},
			Moves:   true,
		},
		Inputs: Inputs[BroadcastLikeParams]("lhs", "rhs"),
		Infer:  inferBroadcastLike,
		InferType: func(p BroadcastLikeParams, in, out []dtype.Type) error {
			return op.SameType(p, in[:1], out)
		},
		Grad:    sumLikeGrad[BroadcastLikeParams],
		Neutral: op.Always[BroadcastLikeParams],
		Ref:     broadcastRef[BroadcastLikeParams],
	})
	SumLike.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Inplace: [][2]int{{0, 0}}},
		Inputs: Inputs[op.NoParams]("data", "like"),
		Infer:  inferSumLike,
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{BroadcastLike.Apply(BroadcastLikeParams{}, g.Head(0), g.In(0)), {}}
		},
		Neutral: op.Always[op.NoParams],
		Ref:     sumLike,
	})
}

// sumLikeGrad sums the gradient over the repeated axes.
func sumLikeGrad[P any](g *op.Grad, _ P) []op.Entry {
	in := make([]op.Entry, len(g.Node.In))
	in[0] = SumLike.Apply(none, g.Head(0), g.In(0))
	return in
}

func broadcastRef[P any](_ P, c *op.Call) error {
	out, in := c.Out[0], c.In[0]
	loop.Copy(out.Shape, loop.Dense(out), loop.View{Tensor: in, Strides: loop.Broadcast(in.Shape,
		out.Shape)})
	return nil
}

func inferBroadcastTo(p BroadcastToParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	lead := len(p.Shape) - len(in[0])
	if lead < 0 {
		return op.Errorf("shape", "%v for data of shape %v, want at least as many axes",
			dtype.Shape(p.Shape), in[0])
	}
	want := dtype.Shape(p.Shape).Clone()
	for i, d := range want {
		if i < lead {
			continue
		}
		have := in[0][i-lead]
		switch {
		case d == 0:
			want[i] = have
		case have != -1 && have != 1 && have != d:
			return op.Errorf("shape", "%v for data of shape %v, want equal extents or ones in data",
				dtype.Shape(p.Shape), in[0])
		}
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	for i, d := range p.Shape {
		if d == 0 && i >= lead {
			in[0][i-lead] = out[0][i]
		}
	}
	return nil
}

func inferBroadcastAxis(p BroadcastAxisParams, in, out []dtype.Shape) error {
	if len(p.Axis) != len(p.Size) {
		return op.Errorf("size", "%d extents for %d axes", len(p.Size), len(p.Axis))
	}
	if in[0] == nil {
		return nil
	}
	want, own := in[0].Clone(), unknown(len(in[0]))
	for k, axis := range p.Axis {
		a, err := Axis("axis", axis, len(want))
		if err != nil {
			return err
		}
		own[a], want[a] = 1, p.Size[k]
	}
	if err := op.Require("data", &in[0], own); err != nil {
		return err
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	for i := range own {
		if own[i] == -1 {
			in[0][i] = out[0][i]
		}
	}
	return nil
}

func inferBroadcastLike(p BroadcastLikeParams, in, out []dtype.Shape) error {
	if len(p.LhsAxes) != len(p.RhsAxes) {
		return op.Errorf("rhs_axes", "%d axes for %d of lhs", len(p.RhsAxes), len(p.LhsAxes))
	}
	if in[0] == nil || in[1] == nil {
		return nil
	}
	if len(p.LhsAxes) == 0 {
		if !broadcastsTo(in[0], in[1]) {
			return op.Errorf("rhs", "shape %v does not take lhs of shape %v", in[1], in[0])
		}
		return op.SameShape(p, in[1:], out)
	}
	want := in[0].Clone()
	for k := range p.LhsAxes {
		a, err := Axis("lhs_axes", p.LhsAxes[k], len(in[0]))
		if err != nil {
			return err
		}
		b, err := Axis("rhs_axes", p.RhsAxes[k], len(in[1]))
		if err != nil {
			return err
		}
		if have := in[0][a]; !extends(have, in[1][b]) {
			return op.Errorf("lhs", "axis %d has extent %d, want 1 or %d", a, have, in[1][b])
		}
		want[a] = in[1][b]
	}
	return op.Require("output", &out[0], want)
}

// inferSumLike checks that the output, which is like the second input, broadcasts to the first.
func inferSumLike(p op.NoParams, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in[1:], out); err != nil {
		return err
	}
	data, like := in[0], in[1]
	if data == nil || like == nil {
		return nil
	}
	if !broadcastsTo(like, data) {
		return op.Errorf("like", "shape %v, want one that broadcasts to %v", like, data)
	}
	return nil
}

// broadcastsTo reports whether repeating axes of extent one may turn a shape into another, as far
// as they are known.
func broadcastsTo(from, to dtype.Shape) bool {
	lead := len(to) - len(from)
	if lead < 0 {
		return false
	}
	for i, d := range from {
		if !extends(d, to[lead+i]) {
			return false
		}
	}
	return true
}

func extends(from, to int) bool { return from == 1 || from == to || from == -1 || to == -1 }

// sumLike sums over the axes that broadcasting repeated.
func sumLike(_ op.NoParams, c *op.Call) error {
	in, out := c.In[0], c.Out[0]
	if in.Shape.Size() == out.Shape.Size() {
		loop.Move(out, in)
		return nil
	}
	acc := make([]float64, out.Shape.Size())
	add := fold{f: func(acc, x float64) float64 { return acc + x }}
	foldFloat(add, acc, in.Shape, in, [][]int{in.Shape.Strides(), loop.Broadcast(out.Shape,
		in.Shape)})
	loop.Store(out, 0, acc)
	return nil
}
