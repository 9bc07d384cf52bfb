package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SliceParams are the parameters of Slice.
type SliceParams struct {
	Begin []op.Opt[int] `op:"begin,required" doc:"first index per axis; None: the end at which the step begins"`
	End   []op.Opt[int] `op:"end,required" doc:"index after the last per axis; None: through the other end"`
	Step  []op.Opt[int] `op:"step" doc:"distance per axis, may be negative; None: 1"`
}

// SliceAxisParams are the parameters of SliceAxis.
type SliceAxisParams struct {
	Axis  int         `op:"axis,required" doc:"axis to cut"`
	Begin int         `op:"begin,required" doc:"first index"`
	End   op.Opt[int] `op:"end,required" doc:"index after the last; None: through the end"`
}

// SliceLikeParams are the parameters of SliceLike.
type SliceLikeParams struct {
	Axes []int `op:"axes" doc:"axes to cut; none: all"`
}

// SliceAssignScalarParams are the parameters of SliceAssignScalar.
type SliceAssignScalarParams struct {
	Scalar float64       `op:"scalar" doc:"the number to write"`
	Begin  []op.Opt[int] `op:"begin,required" doc:"first index per axis"`
	End    []op.Opt[int] `op:"end,required" doc:"index after the last per axis"`
	Step   []op.Opt[int] `op:"step" doc:"distance per axis, may be negative"`
}

// The operators that cut out a part of an array, or write one.
var (
	Slice             = op.Declare[SliceParams]("slice")
	SliceAxis         = op.Declare[SliceAxisParams]("slice_axis")
	SliceLike         = op.Declare[SliceLikeParams]("slice_like")
	SliceAssign       = op.Declare[SliceParams]("_slice_assign")
	SliceAssignScalar = op.Declare[SliceAssignScalarParams]("_slice_assign_scalar")
	sliceGrad         = op.Declare[SliceParams]("_backward_slice")
	sliceAxisGrad     = op.Declare[SliceAxisParams]("_backward_slice_axis")
	sliceLikeGrad     = op.Declare[SliceLikeParams]("_backward_slice_like")
)

func init() {
	defineSlicing()
	defineAssigning()
	defineSliceGrads()
}

// forward reports whether no axis is walked backward: a slice that goes backward may have the shape
// of its input, too.
func (p SliceParams) forward() bool {
	for _, step := range p.Step {
		if step.Or(1) < 0 {
			return false
		}
	}
	return true
}

func defineSlicing() {
	Slice.Define(op.Spec[SliceParams]{
		Traits: op.Traits{
			Doc: "Slice cuts out the elements from begin up to end in steps, along the first " +
				"axes. Negative indices count from the end.",
			Aliases: []string{"_npi_slice", "_npx_slice", "_sparse_slice", "crop"},
			Moves:   true,
		},
		Infer: func(p SliceParams, in, out []dtype.Shape) error {
			return inferWindow(p.windows, &in[0], &out[0])
		},
		Grad: func(g *op.Grad, p SliceParams) []op.Entry {
			return []op.Entry{sliceGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Neutral: SliceParams.forward,
		Ref: func(p SliceParams, c *op.Call) error {
			return cutOut(p.windows, c.Out[0], c.In[0])
		},
		Storage: sliceStorage, Sparse: sliceStored,
	})
	SliceAxis.Define(op.Spec[SliceAxisParams]{
		Traits: op.Traits{
			Doc: "SliceAxis cuts out the elements from begin up to end along one axis. Negative " +
				"indices count from the end.",
			Moves: true,
		},
		Infer: func(p SliceAxisParams, in, out []dtype.Shape) error {
			return inferWindow(p.windows, &in[0], &out[0])
		},
		Grad: func(g *op.Grad, p SliceAxisParams) []op.Entry {
			return []op.Entry{sliceAxisGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Neutral: op.Always[SliceAxisParams],
		Ref: func(p SliceAxisParams, c *op.Call) error {
			return cutOut(p.windows, c.Out[0], c.In[0])
		},
	})
	SliceLike.Define(op.Spec[SliceLikeParams]{
		Traits: op.Traits{
			Doc: "SliceLike cuts data down to the extents of shape_like, along the given axes or " +
				"all. Negative axes count from the end of data.",
			Ignores: []int{1},
			Moves:   true,
		},
		Inputs: Inputs[SliceLikeParams]("data", "shape_like"),
		Infer: func(p SliceLikeParams, in, out []dtype.Shape) error {
			return inferSliceLike(p, in, &out[0])
		},
		InferType: firstType[SliceLikeParams],
		Grad: func(g *op.Grad, p SliceLikeParams) []op.Entry {
			return []op.Entry{sliceLikeGrad.Apply(p, g.Head(0), g.In(0)), {}}
		},
		Neutral: op.Always[SliceLikeParams],
		Ref: func(_ SliceLikeParams, c *op.Call) error {
			loop.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), loop.Dense(c.In[0]))
			return nil
		},
	})
}

func defineAssigning() {
	SliceAssign.Define(op.Spec[SliceParams]{
		Traits: op.Traits{
			Doc:     "SliceAssign is lhs with the part that Slice cuts out replaced by rhs.",
			Aliases: []string{"_crop_assign", "_npi_slice_assign"},
			Inplace: [][2]int{{0, 0}},
			Moves:   true,
		},
		Inputs: Inputs[SliceParams]("lhs", "rhs"),
		Infer: func(p SliceParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return inferWindow(p.windows, &in[0], &in[1])
		},
		Grad: func(g *op.Grad, p SliceParams) []op.Entry {
			dy := g.Head(0)
			hole := SliceAssignScalarParams{Begin: p.Begin, End: p.End, Step: p.Step}
			return []op.Entry{SliceAssignScalar.Apply(hole, dy), Slice.Apply(p, dy)}
		},
		Ref: func(p SliceParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			return putIn(p.windows, c.Out[0], c.In[1])
		},
	})
	SliceAssignScalar.Define(op.Spec[SliceAssignScalarParams]{
		Traits: op.Traits{
			Doc:     "SliceAssignScalar is data with the part that Slice cuts out set to a number.",
			Aliases: []string{"_crop_assign_scalar", "_npi_slice_assign_scalar"},
			Inplace: [][2]int{{0, 0}},
			Moves:   true,
		},
		Infer: op.SameShape[SliceAssignScalarParams],
		Grad: func(g *op.Grad, p SliceAssignScalarParams) []op.Entry {
			p.Scalar = 0
			return []op.Entry{SliceAssignScalar.Apply(p, g.Head(0))}
		},
		Ref: func(p SliceAssignScalarParams, c *op.Call) error {
			if len(p.Begin) == 0 {
				loop.Fill(c.Out[0], p.Scalar)
				return nil
			}
			loop.Move(c.Out[0], c.In[0])
			cell := op.Tensor{Desc: op.Plain(c.Out[0].DType, dtype.Shape{1}),
				Data: op.TensorOf(make([]int64, 1)).Data}
			loop.Store(cell, 0, []float64{p.Scalar})
			return putIn(SliceParams{Begin: p.Begin, End: p.End, Step: p.Step}.windows, c.Out[0],
				cell)
		},
	})
}

func defineSliceGrads() {
	sliceGrad.Define(sliceBack(SliceParams.windows, Slice))
	sliceAxisGrad.Define(sliceBack(SliceAxisParams.windows, SliceAxis))
	s := sliceBack(func(SliceLikeParams, dtype.Shape) ([]window, error) { return nil, nil },
		op.Handle[SliceLikeParams]{})
	s.Infer = func(p SliceLikeParams, in, out []dtype.Shape) error {
		if err := op.SameShape(p, in[1:], out); err != nil || in[0] == nil || in[1] == nil {
			return err
		}
		bad := len(in[0]) != len(in[1])
		for i := 0; !bad && i < len(in[0]); i++ {
			bad = in[1][i] != -1 && in[0][i] > in[1][i]
		}
		if bad {
			return op.Errorf("grad", "shape %v, want a part of %v", in[0], in[1])
		}
		return nil
	}
	s.Grad = func(g *op.Grad, p SliceLikeParams) []op.Entry {
		return []op.Entry{SliceLike.Apply(p, g.Head(0), g.In(0)), {}}
	}
	sliceLikeGrad.Define(s)
}

// sliceBack defines the operator that writes its first input into zeros of the shape of the second.
func sliceBack[P any](windows func(p P, s dtype.Shape) ([]window, error),
	forward op.Handle[P]) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Moves: true},
		Inputs: Inputs[P]("grad", "like"),
		Infer: func(p P, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[1:], out); err != nil {
				return err
			}
			return inferWindow(func(s dtype.Shape) ([]window, error) { return windows(p, s) },
				&in[1], &in[0])
		},
		Grad: func(g *op.Grad, p P) []op.Entry {
			return []op.Entry{forward.Apply(p, g.Head(0)), {}}
		},
		Ref: func(p P, c *op.Call) error {
			loop.Clear(c.Out[0])
			return putIn(func(s dtype.Shape) ([]window, error) { return windows(p, s) }, c.Out[0],
				c.In[0])
		},
	}
}

// window is the part cut out of one axis: n elements from begin on, step apart.
type window struct{ begin, step, n int }

// windowOf applies MXNet's rules to one axis of extent d; n is -1 when d is unknown.
func windowOf(axis, d int, begin, end, step op.Opt[int]) (window, error) {
	w := window{step: step.Or(1), n: -1}
	if w.step == 0 {
		return w, op.Errorf("step", "0 for axis %d, want another number", axis)
	}
	if d == -1 {
		return w, nil
	}
	first, last, low := 0, d, 0
	if w.step < 0 {
		first, last, low = d-1, -1, -1
	}
	clamp := func(v op.Opt[int], none int) int {
		if !v.IsSet() {
			return none
		}
		i := v.Value()
		if i < 0 {
			i += d
		}
		return max(low, min(i, d+low))
	}
	b, e := clamp(begin, first), clamp(end, last)
	w.begin, w.n = b, 0
	if span := e - b; span > 0 && w.step > 0 {
		w.n = (span + w.step - 1) / w.step
	} else if span < 0 && w.step < 0 {
		w.n = (span + w.step + 1) / w.step
	}
	return w, nil
}

func (p SliceParams) windows(s dtype.Shape) ([]window, error) {
	if len(p.Begin) > len(s) || len(p.End) != len(p.Begin) {
		return nil, op.Errorf("begin", "%d begins and %d ends for data of shape %v", len(p.Begin),
			len(p.End), s)
	}
	if len(p.Step) != 0 && len(p.Step) != len(p.Begin) {
		return nil, op.Errorf("step", "%d steps for %d begins", len(p.Step), len(p.Begin))
	}
	list := make([]window, len(p.Begin))
	for i := range list {
		var step op.Opt[int]
		if len(p.Step) > 0 {
			step = p.Step[i]
		}
		w, err := windowOf(i, s[i], p.Begin[i], p.End[i], step)
		if err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

func (p SliceAxisParams) windows(s dtype.Shape) ([]window, error) {
	a, err := Axis("axis", p.Axis, len(s))
	if err != nil {
		return nil, err
	}
	list := make([]window, a+1)
	for i := range list {
		list[i] = window{step: 1, n: s[i]}
	}
	list[a], err = windowOf(a, s[a], op.Some(p.Begin), p.End, op.Opt[int]{})
	return list, err
}

// inferWindow infers the shape of the part cut out, and extents of axes that are not cut.
func inferWindow(windows func(dtype.Shape) ([]window, error), whole, cut *dtype.Shape) error {
	if *whole == nil {
		return nil
	}
	list, err := windows(*whole)
	if err != nil {
		return err
	}
	want := (*whole).Clone()
	for i, w := range list {
		want[i] = w.n
	}
	if err := op.Require("output", cut, want); err != nil {
		return err
	}
	for i := len(list); i < len(want); i++ {
		(*whole)[i] = (*cut)[i]
	}
	return nil
}

func inferSliceLike(p SliceLikeParams, in []dtype.Shape, out *dtype.Shape) error {
	data, like := in[0], in[1]
	if data == nil || like == nil {
		return nil
	}
	if len(p.Axes) == 0 && len(data) != len(like) {
		return op.Errorf("shape_like", "shape %v, want %d axes", like, len(data))
	}
	cutAxes := make([]bool, len(data))
	want := data.Clone()
	if len(p.Axes) == 0 {
		want = like.Clone()
		for i := range cutAxes {
			cutAxes[i] = true
		}
	}
	for _, axis := range p.Axes {
		a, err := Axis("axes", axis, len(data))
		if err != nil {
			return err
		}
		if a >= len(like) {
			return op.Errorf("shape_like", "shape %v, want an axis %d", like, a)
		}
		want[a], cutAxes[a] = like[a], true
	}
	for i, d := range want {
		if d > data[i] && data[i] != -1 {
			return op.Errorf("shape_like", "extent %d of axis %d, want at most %d", d, i, data[i])
		}
	}
	if err := op.Require("output", out, want); err != nil {
		return err
	}
	for i := range data {
		if !cutAxes[i] {
			data[i] = (*out)[i]
		}
	}
	return nil
}

// windowView views the part cut out of t.
func windowView(t op.Tensor, list []window) loop.View {
	v := loop.Dense(t)
	for i, w := range list {
		v.Off += w.begin * v.Strides[i]
		v.Strides[i] *= w.step
	}
	return v
}

func cutOut(windows func(dtype.Shape) ([]window, error), out, in op.Tensor) error {
	list, err := windows(in.Shape)
	if err != nil {
		return err
	}
	loop.Copy(out.Shape, loop.Dense(out), windowView(in, list))
	return nil
}

// putIn writes in, which may be a single element, over the part of out that is cut out.
func putIn(windows func(dtype.Shape) ([]window, error), out, in op.Tensor) error {
	list, err := windows(out.Shape)
	if err != nil {
		return err
	}
	shape := out.Shape.Clone()
	for i, w := range list {
		shape[i] = w.n
	}
	if len(list) == 0 {
		shape = in.Shape
	}
	loop.Copy(shape, windowView(out, list), loop.View{Tensor: in, Strides: loop.Broadcast(in.Shape,
		shape)})
	return nil
}
