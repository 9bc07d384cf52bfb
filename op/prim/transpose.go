package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TransposeParams are the parameters of Transpose.
type TransposeParams struct {
	Axes []int `op:"axes" doc:"which axis of the input becomes each axis of the output; none: reverse the axes"`
}

// SwapAxisParams are the parameters of SwapAxis.
type SwapAxisParams struct {
	Dim1 int `op:"dim1" doc:"first axis"`
	Dim2 int `op:"dim2" doc:"second axis"`
}

// Transpose and SwapAxis permute axes.
var (
	Transpose = op.Declare[TransposeParams]("transpose")
	SwapAxis  = op.Declare[SwapAxisParams]("SwapAxis")
)

func init() {
	Transpose.Define(op.Spec[TransposeParams]{
		Traits: op.Traits{
			Doc: "Transpose permutes axes: axis i of the output is axis axes[i] of the input. " +
				"Without axes their order is reversed.",
			Moves: true,
		},
		Infer: inferPermutation(transposeAxes),
		Grad: func(g *op.Grad, p TransposeParams) []op.Entry {
			perm, err := transposeAxes(p, len(p.Axes))
			if err != nil {
				panic(op.WithOp(err, "transpose", g.Node.Name, g.Node.Site))
			}
			back := make([]int, len(perm)) // none when the axes are reversed, which undoes itself
			for i, a := range perm {
				back[a] = i
			}
			return []op.Entry{Transpose.Apply(TransposeParams{Axes: back}, g.Head(0))}
		},
		Ref: permute(transposeAxes),
	})
	SwapAxis.Define(op.Spec[SwapAxisParams]{
		Traits: op.Traits{Doc: "SwapAxis exchanges two axes.", Aliases: []string{"_npi_swapaxes",
			"swapaxes"}, Moves: true},
		Infer: inferPermutation(swapAxes),
		Grad: func(g *op.Grad, p SwapAxisParams) []op.Entry {
			return []op.Entry{SwapAxis.Apply(p, g.Head(0))}
		},
		Ref: permute(swapAxes),
	})
}

// transposeAxes returns the axis of the input for each axis of the output.
func transposeAxes(p TransposeParams, rank int) ([]int, error) {
	perm := make([]int, rank)
	if len(p.Axes) == 0 {
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(p.Axes) != rank {
		return nil, op.Errorf("axes", "%v for data with %d axes", dtype.Shape(p.Axes), rank)
	}
	seen := make([]bool, rank)
	for i, axis := range p.Axes {
		a, err := Axis("axes", axis, rank)
		if err != nil {
			return nil, err
		}
		if seen[a] {
			return nil, op.Errorf("axes", "%v names axis %d twice", dtype.Shape(p.Axes), a)
		}
		perm[i], seen[a] = a, true
	}
	return perm, nil
}

func swapAxes(p SwapAxisParams, rank int) ([]int, error) {
	a, err := Axis("dim1", p.Dim1, rank)
	if err != nil {
		return nil, err
	}
	b, err := Axis("dim2", p.Dim2, rank)
	if err != nil {
		return nil, err
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[a], perm[b] = b, a
	return perm, nil
}

func inferPermutation[P any](axes func(p P, rank int) ([]int, error)) func(p P, in,
	out []dtype.Shape) error {
	return func(p P, in, out []dtype.Shape) error {
		rank := max(len(in[0]), len(out[0]))
		if in[0] == nil && out[0] == nil {
			return nil
		}
		perm, err := axes(p, rank)
		if err != nil {
			return err
		}
		if err := op.Require("data", &in[0], unknown(rank)); err != nil {
			return err
		}
		want := make(dtype.Shape, rank)
		for i, a := range perm {
			want[i] = in[0][a]
		}
		if err := op.Require("output", &out[0], want); err != nil {
			return err
		}
		for i, a := range perm {
			in[0][a] = out[0][i]
		}
		return nil
	}
}

func permute[P any](axes func(p P, rank int) ([]int, error)) func(p P, c *op.Call) error {
	return func(p P, c *op.Call) error {
		in, out := c.In[0], c.Out[0]
		perm, err := axes(p, len(in.Shape))
		if err != nil {
			return err
		}
		dense, st := in.Shape.Strides(), make([]int, len(perm))
		for i, a := range perm {
			st[i] = dense[a]
		}
		loop.Copy(out.Shape, loop.Dense(out), loop.View{Tensor: in, Strides: st})
		return nil
	}
}
