package prim

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TileParams are the parameters of Tile.
type TileParams struct {
	Reps []int `op:"reps,required" doc:"how often each axis repeats; aligned at the last axes"`
}

// RepeatParams are the parameters of Repeat.
type RepeatParams struct {
	Repeats int         `op:"repeats,required" min:"0" doc:"how often each element repeats"`
	Axis    op.Opt[int] `op:"axis" doc:"axis along which elements repeat; None: flatten first"`
}

// ReverseParams are the parameters of Reverse.
type ReverseParams struct {
	Axis []int `op:"axis,required" doc:"axes to reverse"`
}

// The operators that repeat or reverse elements along axes.
var (
	Tile       = op.Declare[TileParams]("tile")
	Repeat     = op.Declare[RepeatParams]("repeat")
	Reverse    = op.Declare[ReverseParams]("reverse")
	tileGrad   = op.Declare[TileParams]("_backward_tile")
	repeatGrad = op.Declare[RepeatParams]("_backward_repeat")
)

func init() {
	Tile.Define(op.Spec[TileParams]{
		Traits: op.Traits{
			Doc: "Tile lays copies of the whole array side by side along every axis. No copies " +
				"along an axis, 0 in reps, give an array without elements, as under MXNet's " +
				"NumPy shapes.",
			Aliases: []string{"_npi_tile"},
			Moves:   true,
		},
		Infer: inferTile,
		Grad: func(g *op.Grad, p TileParams) []op.Entry {
			return []op.Entry{tileGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p TileParams, c *op.Call) error {
			shape, src := tilePlan(p, c.In[0].Shape)
			loop.Copy(shape, denseAs(c.Out[0], shape), loop.View{Tensor: c.In[0], Strides: src})
			return nil
		},
	})
	Repeat.Define(op.Spec[RepeatParams]{
		Traits: op.Traits{
			Doc:     "Repeat repeats every element, along an axis or of the flattened array.",
			Aliases: []string{"_np_repeat"},
			Moves:   true,
		},
		Infer: inferRepeat,
		Grad: func(g *op.Grad, p RepeatParams) []op.Entry {
			return []op.Entry{repeatGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p RepeatParams, c *op.Call) error {
			shape, src, err := repeatPlan(p, c.In[0].Shape)
			if err != nil {
				return err
			}
			loop.Copy(shape, denseAs(c.Out[0], shape), loop.View{Tensor: c.In[0], Strides: src})
			return nil
		},
	})
	Reverse.Define(op.Spec[ReverseParams]{
		Traits: op.Traits{
			Doc: "Reverse reverses the order of elements along the given axes, twice along an " +
				"axis that is given twice. Known as flip too.",
			Aliases: []string{"flip"},
			Moves:   true,
		},
		Infer: op.SameShape[ReverseParams],
		Grad: func(g *op.Grad, p ReverseParams) []op.Entry {
			return []op.Entry{Reverse.Apply(p, g.Head(0))}
		},
		Ref: reverse,
	})
	tileGrad.Define(summing(inferTile, Tile, func(p TileParams, s dtype.Shape) (dtype.Shape, []int,
		error) {
		shape, st := tilePlan(p, s)
		return shape, st, nil
	}))
	repeatGrad.Define(summing(inferRepeat, Repeat, repeatPlan))
}

// summing defines the gradient of an operator that repeats elements: the sum over the copies.
// The plan is a shape of the copies and the strides that lead each to its original.
func summing[P any](infer func(P, []dtype.Shape, []dtype.Shape) error, forward op.Handle[P],
	plan func(P, dtype.Shape) (dtype.Shape, []int, error)) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: Inputs[P]("grad", "like"),
		Infer: func(p P, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[1:], out); err != nil {
				return err
			}
			return infer(p, in[1:], in[:1])
		},
		Grad: func(g *op.Grad, p P) []op.Entry {
			return []op.Entry{forward.Apply(p, g.Head(0)), {}}
		},
		Ref: func(p P, c *op.Call) error {
			shape, st, err := plan(p, c.In[1].Shape)
			if err != nil {
				return err
			}
			acc := make([]float64, c.Out[0].Shape.Size())
			add := fold{f: func(acc, x float64) float64 { return acc + x }}
			foldFloat(add, acc, shape, c.In[0], [][]int{shape.Strides(), st})
			loop.Store(c.Out[0], 0, acc)
			return nil
		},
	}
}

// denseAs views t, dense, in another shape of the same size.
func denseAs(t op.Tensor, shape dtype.Shape) loop.View {
	return loop.View{Tensor: t, Strides: shape.Strides()}
}

// tilePlan returns the output as (rep, extent) pairs per axis, and the strides of the input.
func tilePlan(p TileParams, in dtype.Shape) (dtype.Shape, []int) {
	rank := max(len(in), len(p.Reps))
	shape, st := make(dtype.Shape, 0, 2*rank), make([]int, 0, 2*rank)
	dense := in.Strides()
	for i := range rank {
		rep, d, step := 1, 1, 0
		if k := i - (rank - len(p.Reps)); k >= 0 {
			rep = p.Reps[k]
		}
		if k := i - (rank - len(in)); k >= 0 {
			d, step = in[k], dense[k]
		}
		shape, st = append(shape, rep, d), append(st, 0, step)
	}
	return shape, st
}

func inferTile(p TileParams, in, out []dtype.Shape) error {
	if i := slices.IndexFunc(p.Reps, func(r int) bool { return r < 0 }); i >= 0 {
		return op.Errorf("reps", "%v has a negative number", dtype.Shape(p.Reps))
	}
	if in[0] == nil {
		return nil
	}
	pairs, _ := tilePlan(p, in[0])
	want := make(dtype.Shape, len(pairs)/2)
	for i := range want {
		want[i] = pairs[2*i : 2*i+2].Size()
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	for i, d := range out[0] {
		k := i - (len(want) - len(in[0]))
		if rep := pairs[2*i]; k >= 0 && d != -1 && rep > 0 {
			if d%rep != 0 {
				return op.Errorf("output", "extent %d of axis %d, want a multiple of %d", d, i, rep)
			}
			in[0][k] = d / rep
		}
	}
	return nil
}

// repeatPlan returns the output with an extra axis for the copies, and the strides of the input.
func repeatPlan(p RepeatParams, in dtype.Shape) (dtype.Shape, []int, error) {
	axis, given := p.Axis.Get()
	if !given {
		return dtype.Shape{in.Size(), p.Repeats}, []int{1, 0}, nil
	}
	a, err := Axis("axis", axis, len(in))
	if err != nil {
		return nil, nil, err
	}
	return slices.Insert(in.Clone(), a+1, p.Repeats), slices.Insert(in.Strides(), a+1, 0), nil
}

func inferRepeat(p RepeatParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	shape, _, err := repeatPlan(p, in[0])
	if err != nil {
		return err
	}
	axis, given := p.Axis.Get()
	if !given {
		return op.Require("output", &out[0], dtype.Shape{shape.Size()})
	}
	a, _ := Axis("axis", axis, len(in[0]))
	want := in[0].Clone()
	want[a] = shape[a : a+2].Size()
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	for i, d := range out[0] {
		switch {
		case i != a:
			in[0][i] = d
		case d != -1 && p.Repeats > 0:
			if d%p.Repeats != 0 {
				return op.Errorf("output", "extent %d of axis %d, want a multiple of %d", d, i,
					p.Repeats)
			}
			in[0][i] = d / p.Repeats
		}
	}
	return nil
}

func reverse(p ReverseParams, c *op.Call) error {
	v := loop.Dense(c.In[0])
	for _, axis := range p.Axis {
		a, err := Axis("axis", axis, len(v.Strides))
		if err != nil {
			return err
		}
		v.Off += (v.Shape[a] - 1) * v.Strides[a]
		v.Strides[a] = -v.Strides[a]
	}
	loop.Copy(v.Shape, loop.Dense(c.Out[0]), v)
	return nil
}
