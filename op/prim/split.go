package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SliceChannelParams are the parameters of SliceChannel.
type SliceChannelParams struct {
	NumOutputs  int         `op:"num_outputs,required" min:"1" max:"16384" doc:"number of parts"`
	Axis        op.Opt[int] `op:"axis" default:"1" doc:"axis to cut"`
	SqueezeAxis bool        `op:"squeeze_axis" doc:"remove the axis, which must be cut into parts of extent one"`
}

// SplitV2Params are the parameters of SplitV2.
type SplitV2Params struct {
	Indices     []int       `op:"indices,required" doc:"where parts begin; the first is 0"`
	Axis        op.Opt[int] `op:"axis" default:"1" doc:"axis to cut"`
	SqueezeAxis bool        `op:"squeeze_axis" doc:"remove the axis, which must be cut into parts of extent one"`
	Sections    int         `op:"sections" min:"0" max:"16384" doc:"number of equal parts; zero: cut at indices"`
}

// SliceChannel cuts an array into equal parts, SplitV2 at given places too.
var (
	SliceChannel = op.Declare[SliceChannelParams]("SliceChannel")
	SplitV2      = op.Declare[SplitV2Params]("_split_v2")
	joinChannel  = op.Declare[SliceChannelParams]("_backward_SliceChannel")
	joinV2       = op.Declare[SplitV2Params]("_split_v2_backward")
)

func init() {
	slice := splitting("SliceChannel cuts an array along an axis into parts of equal extent. "+
		"Known as split too.",
		joinChannel, SliceChannelParams.cut, func(p SliceChannelParams) int { return p.NumOutputs },
		"split")
	slice.Outputs = func(p SliceChannelParams) []string { return allNumbered(p.NumOutputs) }
	SliceChannel.Define(slice)
	joinChannel.Define(joining(SliceChannel, SliceChannelParams.cut,
		func(p SliceChannelParams) int { return p.NumOutputs }))
	SplitV2.Define(splitting("SplitV2 cuts an array along an axis into equal parts, or at the "+
		"given places.", joinV2, SplitV2Params.cut, SplitV2Params.parts, "_npi_split"))
	joinV2.Define(joining(SplitV2, SplitV2Params.cut, SplitV2Params.parts))
}

// cut says how an axis is cut.
type cut struct {
	axis    int
	squeeze bool
	equal   int   // number of equal parts; zero: begins
	begins  []int // where parts begin
}

func (p SliceChannelParams) cut() cut {
	return cut{axis: p.Axis.Value(), squeeze: p.SqueezeAxis, equal: p.NumOutputs}
}

func (p SplitV2Params) cut() cut {
	return cut{axis: p.Axis.Value(), squeeze: p.SqueezeAxis, equal: p.Sections, begins: p.Indices}
}

func (p SplitV2Params) parts() int {
	if p.Sections > 0 {
		return p.Sections
	}
	return len(p.Indices)
}

// extents returns the extents of n parts of an axis of extent d, -1 where unknown.
func (c cut) extents(d, n int) ([]int, error) {
	list := make([]int, n)
	for i := range list {
		switch {
		case c.equal == 0 && c.begins[i] < 0:
			return nil, op.Errorf("indices", "%v, want no negative numbers", dtype.Shape(c.begins))
		case c.equal > 0 && d == -1:
			list[i] = -1
		case c.equal > 0:
			if d%n != 0 {
				return nil, op.Errorf("data", "extent %d of axis %d, want a multiple of %d", d,
					c.axis, n)
			}
			list[i] = d / n
		case i+1 < n:
			list[i] = c.begins[i+1] - c.begins[i]
		case d == -1:
			list[i] = -1
		default:
			list[i] = d - c.begins[i]
		}
		if list[i] < -1 || list[i] < 0 && d != -1 {
			return nil, op.Errorf("indices", "%v, want ascending numbers up to %d",
				dtype.Shape(c.begins), d)
		}
	}
	return list, nil
}

// infer infers parts from the whole and the whole from its parts.
func (c cut) infer(whole *dtype.Shape, parts []dtype.Shape) error {
	if len(parts) == 0 {
		return op.Errorf("indices", "(), want the beginning of at least one part")
	}
	if *whole == nil {
		for _, s := range parts {
			if s == nil {
				continue
			}
			rank := len(s)
			if c.squeeze {
				rank++
			}
			*whole = unknown(rank)
			break
		}
	}
	if *whole == nil {
		return nil
	}
	axis, err := Axis("axis", c.axis, len(*whole))
	if err != nil {
		return err
	}
	w := *whole
	if c.squeeze && w[axis] == -1 {
		w[axis] = len(parts)
	}
	ext, err := c.extents(w[axis], len(parts))
	if err != nil {
		return err
	}
	for i := range parts {
		if err := c.inferPart(w, &parts[i], axis, ext[i]); err != nil {
			return err
		}
	}
	c.inferWhole(w, parts, axis)
	return nil
}

// inferPart merges the whole into a part, and all but the axis of the part into the whole.
func (c cut) inferPart(w dtype.Shape, part *dtype.Shape, axis, extent int) error {
	want := w.Clone()
	want[axis] = extent
	if c.squeeze {
		if extent != 1 {
			return op.Errorf("squeeze_axis", "parts have extent %d along axis %d, want 1", extent,
				axis)
		}
		want = append(want[:axis], want[axis+1:]...)
	}
	if err := op.Require("output", part, want); err != nil {
		return err
	}
	for i := range w {
		switch {
		case i < axis:
			w[i] = (*part)[i]
		case i > axis && c.squeeze:
			w[i] = (*part)[i-1]
		case i > axis:
			w[i] = (*part)[i]
		}
	}
	return nil
}

// inferWhole computes the extent of the axis from the parts.
func (c cut) inferWhole(w dtype.Shape, parts []dtype.Shape, axis int) {
	if w[axis] != -1 || c.squeeze {
		return
	}
	last := parts[len(parts)-1][axis]
	if c.equal == 0 && last != -1 {
		w[axis] = c.begins[len(parts)-1] + last
	}
	for _, s := range parts {
		if c.equal > 0 && s[axis] != -1 {
			w[axis] = s[axis] * len(parts)
		}
	}
}

func splitting[P any](doc string, back op.Handle[P], at func(P) cut, parts func(P) int,
	alias string) op.Spec[P] {
	return op.Spec[P]{
		Traits:  op.Traits{Doc: doc, Aliases: []string{alias}, Multi: true, Moves: true},
		Outputs: func(p P) []string { return numbered(parts(p)) },
		Infer:   func(p P, in, out []dtype.Shape) error { return at(p).infer(&in[0], out) },
		Grad: func(g *op.Grad, p P) []op.Entry {
			heads := make([]op.Entry, parts(p))
			for i := range heads {
				heads[i] = g.Head(i)
			}
			return []op.Entry{back.Apply(p, heads...)}
		},
		Ref: func(p P, c *op.Call) error {
			return at(p).walk(c.In[0], c.Out, func(part op.Tensor, whole loop.View) {
				loop.Copy(part.Shape, loop.Dense(part), whole)
			})
		},
	}
}

func joining[P any](forward op.Handle[P], at func(P) cut, parts func(P) int) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Hidden: true, Moves: true},
		Inputs: func(p P) []op.Input { return args(parts(p)) },
		Infer:  func(p P, in, out []dtype.Shape) error { return at(p).infer(&out[0], in) },
		Grad: func(g *op.Grad, p P) []op.Entry {
			return g.Each(forward.Node(p, g.Head(0)))
		},
		Ref: func(p P, c *op.Call) error {
			return at(p).walk(c.Out[0], c.In, func(part op.Tensor, whole loop.View) {
				loop.Copy(part.Shape, whole, loop.Dense(part))
			})
		},
	}
}

// walk visits the parts and their places in the whole.
func (c cut) walk(whole op.Tensor, parts []op.Tensor, f func(part op.Tensor,
	place loop.View)) error {
	axis, err := Axis("axis", c.axis, len(whole.Shape))
	if err != nil {
		return err
	}
	begin := 0
	ext, err := c.extents(whole.Shape[axis], len(parts))
	if err != nil {
		return err
	}
	for i, t := range parts {
		v := part(whole, axis, begin)
		if c.squeeze {
			v.Strides = append(append([]int{}, v.Strides[:axis]...), v.Strides[axis+1:]...)
		}
		if t.Data != nil {
			f(t, v)
		}
		begin += ext[i]
	}
	return nil
}
