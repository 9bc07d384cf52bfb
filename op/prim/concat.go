package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ConcatParams are the parameters of Concat.
type ConcatParams struct {
	NumArgs int         `op:"num_args,auto" max:"16384" doc:"number of inputs"`
	Dim     op.Opt[int] `op:"dim" default:"1" doc:"axis along which the inputs are joined"`
}

// StackParams are the parameters of Stack.
type StackParams struct {
	Axis    int `op:"axis" doc:"where the new axis is; negative counts from the end of the output"`
	NumArgs int `op:"num_args,auto" max:"16384" doc:"number of inputs"`
}

// Concat and Stack join arrays along an axis that exists or a new one. RNNParamConcat is Concat
// for the flattened parameters of a recurrent layer.
var (
	Concat         = op.Declare[ConcatParams]("Concat")
	RNNParamConcat = op.Declare[ConcatParams]("_rnn_param_concat")
	Stack          = op.Declare[StackParams]("stack")
	// ConcatGrad cuts its first input into parts with the shapes of the others: Concat's gradient.
	ConcatGrad = op.Declare[ConcatParams]("_backward_Concat")
	// unstack does the same for Stack.
	unstack = op.Declare[StackParams]("_backward_stack")
)

func init() {
	s := op.Spec[ConcatParams]{
		Traits: op.Traits{
			Doc:      "Concat joins arrays along an axis; all other extents are equal.",
			Aliases:  []string{"_sparse_concat", "concat"},
			Variadic: true,
			Moves:    true,
		},
		Inputs: func(p ConcatParams) []op.Input { return args(p.NumArgs) },
		Infer:  inferConcat,
		Grad: func(g *op.Grad, p ConcatParams) []op.Entry {
			return g.Each(ConcatGrad.Node(p, append([]op.Entry{g.Head(0)}, g.Node.In...)...))
		},
		Neutral: func(p ConcatParams) bool { return p.NumArgs == 1 },
		Ref:     concat,

		Storage: concatStorage, Sparse: concatStored,
	}
	Concat.Define(s)
	s.Storage, s.Sparse = nil, nil
	s.Doc = `RNNParamConcat joins the flattened parameters of a recurrent layer. It is Concat but for inference:
where the extents of several inputs are unknown, they share equally the extent of the output that the others leave.`
	s.Infer = inferShares
	s.Aliases = []string{"_npi_rnn_param_concat"}
	s.GoName = "RNNParamConcat"
	RNNParamConcat.Define(s)
	ConcatGrad.Define(op.Spec[ConcatParams]{
		Traits: op.Traits{Hidden: true, Ignores: fromOne, Moves: true},
		Inputs: func(p ConcatParams) []op.Input {
			return append([]op.Input{{Name: "grad"}}, args(p.NumArgs)...)
		},
		Outputs: func(p ConcatParams) []string { return numbered(p.NumArgs) },
		Infer: func(p ConcatParams, in, out []dtype.Shape) error {
			if err := inferConcat(p, in[1:], in[:1]); err != nil {
				return err
			}
			return eachLike(in[1:], out)
		},
		Grad: func(g *op.Grad, p ConcatParams) []op.Entry {
			in := make([]op.Entry, len(g.Node.In))
			in[0] = Concat.Apply(p, heads(g)...)
			return in
		},
		Ref: concatGrad,
	})
	Stack.Define(op.Spec[StackParams]{
		Traits: op.Traits{Doc: "Stack joins arrays of one shape along a new axis.", Variadic: true,
			Moves: true},
		Inputs: func(p StackParams) []op.Input { return args(p.NumArgs) },
		Infer:  inferStack,
		Grad: func(g *op.Grad, p StackParams) []op.Entry {
			return g.Each(unstack.Node(p, g.Head(0)))
		},
		Ref: stack,
	})
	unstack.Define(op.Spec[StackParams]{
		Traits:  op.Traits{Hidden: true, Moves: true},
		Inputs:  Inputs[StackParams]("grad"),
		Outputs: func(p StackParams) []string { return numbered(p.NumArgs) },
		Infer:   func(p StackParams, in, out []dtype.Shape) error { return inferStack(p, out, in) },
		Grad: func(g *op.Grad, p StackParams) []op.Entry {
			return []op.Entry{Stack.Apply(p, heads(g)...)}
		},
		Ref: stackGrad,
	})
}

// heads lists the gradients flowing into all outputs, zeros where none flows.
func heads(g *op.Grad) []op.Entry {
	list := make([]op.Entry, len(g.OutGrad))
	for i := range list {
		list[i] = g.Head(i)
	}
	return list
}

// fromOne lists the inputs that backward operators of variadic ones only take shapes from.
var fromOne = func() []int {
	list := make([]int, 255)
	for i := range list {
		list[i] = i + 1
	}
	return list
}()

// eachLike infers that shapes are equal one by one.
func eachLike(a, b []dtype.Shape) error {
	for i := range a {
		m, ok := a[i].Merge(b[i])
		if !ok {
			return op.Errorf("", "shape %v, want %v", b[i], a[i])
		}
		a[i], b[i] = m, m.Clone()
	}
	return nil
}

// inferShares is inferConcat in which inputs of unknown extents share the rest of the output.
func inferShares(p ConcatParams, in, out []dtype.Shape) error {
	if err := inferConcat(p, in, out); err != nil || len(out[0]) == 0 {
		return err
	}
	axis, err := Axis("dim", p.Dim.Value(), len(out[0]))
	if err != nil || out[0][axis] == -1 {
		return err
	}
	rest, missing := out[0][axis], 0
	for _, s := range in {
		if s[axis] == -1 {
			missing++
		} else {
			rest -= s[axis]
		}
	}
	switch {
	case missing == 0:
		return nil
	case rest < 0 || rest%missing != 0:
		return op.Errorf("output", "extent %d of axis %d leaves %d for %d inputs, want a "+
			"multiple of their number", out[0][axis], axis, rest, missing)
	}
	for _, s := range in {
		if s[axis] == -1 {
			s[axis] = rest / missing
		}
	}
	return nil
}

func inferConcat(p ConcatParams, in, out []dtype.Shape) error {
	if len(in) == 0 {
		return op.Errorf("num_args", "0, want at least 1")
	}
	common, axis, err := concatCommon(p, in, out[0])
	if common == nil || err != nil {
		return err
	}
	sum, missing := 0, -1
	for i := range in {
		if err := op.Require("arg", &in[i], common); err != nil {
			return err
		}
		switch d := in[i][axis]; {
		case d != -1:
			sum += d
		case missing != -1:
			sum = -1 << 62 // two unknown extents: nothing follows
		default:
			missing = i
		}
	}
	if sum < 0 {
		return op.Require("output", &out[0], common)
	}
	total := out[0]
	if missing == -1 {
		common[axis] = sum
	} else if total != nil && total[axis] != -1 {
		if total[axis] < sum {
			return op.Errorf("output", "extent %d of axis %d, want at least %d", total[axis], axis,
				sum)
		}
		in[missing][axis] = total[axis] - sum
	}
	return op.Require("output", &out[0], common)
}

// concatCommon merges the known extents of all operands except along the axis; nil when not even
// the rank is known.
func concatCommon(p ConcatParams, in []dtype.Shape, out dtype.Shape) (dtype.Shape, int, error) {
	var common dtype.Shape
	axis := 0
	for _, s := range append(append([]dtype.Shape{}, in...), out) {
		if s == nil {
			continue
		}
		a, err := Axis("dim", p.Dim.Value(), len(s))
		if err != nil {
			return nil, 0, err
		}
		s = s.Clone()
		s[a] = -1
		m, ok := common.Merge(s)
		if !ok {
			return nil, 0, op.Errorf("arg", "shapes %v and %v differ in an axis other than %d",
				common, s, a)
		}
		common, axis = m, a
	}
	return common, axis, nil
}

func inferStack(p StackParams, in, out []dtype.Shape) error {
	if len(in) == 0 {
		return op.Errorf("num_args", "0, want at least 1")
	}
	for i := range in {
		one := []dtype.Shape{in[i]}
		if err := inferExpandDimsTo(p.Axis, len(in), one, out); err != nil {
			return err
		}
		in[i] = one[0]
	}
	return nil
}

// inferExpandDimsTo infers the insertion of an axis of extent n.
func inferExpandDimsTo(axis, n int, in, out []dtype.Shape) error {
	if in[0] == nil && out[0] == nil {
		return nil
	}
	if out[0] != nil {
		a, err := Axis("axis", axis, len(out[0]))
		if err != nil {
			return err
		}
		if d, ok := meet(out[0][a], n); !ok {
			return op.Errorf("output", "extent %d of axis %d, want %d", d, a, n)
		}
		out[0][a] = 1
	}
	err := inferExpandDims(ExpandDimsParams{Axis: axis}, in, out)
	if err != nil || out[0] == nil {
		return err
	}
	a, err := Axis("axis", axis, len(out[0]))
	if err != nil {
		return err
	}
	out[0][a] = n
	return nil
}

// numbered names several outputs.
func numbered(n int) []string {
	if n == 1 {
		return []string{"output"}
	}
	return allNumbered(n)
}

// allNumbered names outputs by their numbers, also when there is one.
func allNumbered(n int) []string {
	names := make([]string, n)
	for i, in := range args(n) {
		names[i] = "output" + in.Name[len("arg"):]
	}
	return names
}

// part views the extent n of t from begin on along an axis.
func part(t op.Tensor, axis, begin int) loop.View {
	st := t.Shape.Strides()
	return loop.View{Tensor: t, Off: begin * st[axis], Strides: st}
}

func concat(p ConcatParams, c *op.Call) error {
	out := c.Out[0]
	axis, err := Axis("dim", p.Dim.Value(), len(out.Shape))
	if err != nil {
		return err
	}
	begin := 0
	for _, in := range c.In {
		loop.Copy(in.Shape, part(out, axis, begin), loop.Dense(in))
		begin += in.Shape[axis]
	}
	return nil
}

func concatGrad(p ConcatParams, c *op.Call) error {
	grad := c.In[0]
	axis, err := Axis("dim", p.Dim.Value(), len(grad.Shape))
	if err != nil {
		return err
	}
	begin := 0
	for _, out := range c.Out {
		if out.Data != nil {
			loop.Copy(out.Shape, loop.Dense(out), part(grad, axis, begin))
		}
		begin += out.Shape[axis]
	}
	return nil
}

// layer views element i of an axis of t as an array without that axis.
func layer(t op.Tensor, axis, i int) (loop.View, error) {
	a, err := Axis("axis", axis, len(t.Shape))
	if err != nil {
		return loop.View{}, err
	}
	v := part(t, a, i)
	v.Strides = append(append([]int{}, v.Strides[:a]...), v.Strides[a+1:]...)
	return v, nil
}

func stack(p StackParams, c *op.Call) error {
	for i, in := range c.In {
		v, err := layer(c.Out[0], p.Axis, i)
		if err != nil {
			return err
		}
		loop.Copy(in.Shape, v, loop.Dense(in))
	}
	return nil
}

func stackGrad(p StackParams, c *op.Call) error {
	for i, out := range c.Out {
		if out.Data == nil {
			continue
		}
		v, err := layer(c.In[0], p.Axis, i)
		if err != nil {
			return err
		}
		loop.Copy(out.Shape, loop.Dense(out), v)
	}
	return nil
}
