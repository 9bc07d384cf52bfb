package rnn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SequenceMaskParams configures SequenceMask.
type SequenceMaskParams struct {
	UseSequenceLength bool    `op:"use_sequence_length" doc:"each sequence has its own length, given by the input sequence_length"`
	Value             float64 `op:"value" doc:"what elements after the end become"`
	Axis              int     `op:"axis" min:"0" doc:"axis of the steps, 0 or 1; the other axis is the batch"`
}

// SequenceParams configures SequenceLast and SequenceReverse.
type SequenceParams struct {
	UseSequenceLength bool `op:"use_sequence_length" doc:"each sequence has its own length, given by the input sequence_length"`
	Axis              int  `op:"axis" min:"0" doc:"axis of the steps, 0 or 1; the other axis is the batch. SequenceReverse supports 0 only"`
}

// The operators on sequences of different lengths.
var (
	SequenceMask    = op.Declare[SequenceMaskParams]("SequenceMask")
	SequenceLast    = op.Declare[SequenceParams]("SequenceLast")
	SequenceReverse = op.Declare[SequenceParams]("SequenceReverse")
	lastGrad        = op.Declare[SequenceParams]("_backward_SequenceLast")
)

func init() {
	SequenceMask.Define(op.Spec[SequenceMaskParams]{
		Traits: op.Traits{
			Doc: "SequenceMask sets the steps after the end of each sequence to a value. Data " +
				"has shape (steps, batch, …), or (batch, steps, …) with axis 1. Without " +
				"use_sequence_length the output equals data.",
			Aliases: []string{"_npx_sequence_mask"},
			Inplace: [][2]int{{0, 0}},
		},
		Inputs: func(p SequenceMaskParams) []op.Input {
			return sequenceInputs(p.UseSequenceLength)
		},
		Infer: func(p SequenceMaskParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return inferLengths(p.Axis, &in[0], in[1:], &out[0])
		},
		InferType: func(_ SequenceMaskParams, in, out []dtype.Type) error {
			return sequenceTypes(in, out)
		},
		Grad: func(g *op.Grad, p SequenceMaskParams) []op.Entry {
			p.Value = 0
			return onData(g, SequenceMask.Node(p, withLengths(g)...))
		},
		Ref: sequenceMask,
	})
	SequenceReverse.Define(op.Spec[SequenceParams]{
		Traits: op.Traits{
			Doc: "SequenceReverse reverses each sequence. Data has shape (steps, batch, …). With " +
				"use_sequence_length only the steps up to the end of each sequence are reversed; " +
				"later steps stay.",
			Moves: true,
		},
		Inputs: func(p SequenceParams) []op.Input { return sequenceInputs(p.UseSequenceLength) },
		Infer: func(p SequenceParams, in, out []dtype.Shape) error {
			if p.Axis != 0 {
				return op.Errorf("axis", "%d, want 0", p.Axis)
			}
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return inferLengths(p.Axis, &in[0], in[1:], &out[0])
		},
		InferType: func(_ SequenceParams, in, out []dtype.Type) error {
			return sequenceTypes(in, out)
		},
		Grad: func(g *op.Grad, p SequenceParams) []op.Entry {
			return onData(g, SequenceReverse.Node(p, withLengths(g)...))
		},
		Ref: sequenceReverse,
	})
	defineSequenceLast()
}

func defineSequenceLast() {
	SequenceLast.Define(op.Spec[SequenceParams]{
		Traits: op.Traits{
			Doc: "SequenceLast returns the last step of each sequence: from data of shape " +
				"(steps, batch, …), or (batch, steps, …) with axis 1, an output of shape (batch, " +
				"…). Without use_sequence_length it is the last step of data.",
			Moves: true,
		},
		Inputs: func(p SequenceParams) []op.Input { return sequenceInputs(p.UseSequenceLength) },
		Infer: func(p SequenceParams, in, out []dtype.Shape) error {
			return inferLast(p, &in[0], in[1:], &out[0])
		},
		InferType: func(_ SequenceParams, in, out []dtype.Type) error {
			return sequenceTypes(in, out)
		},
		Grad: func(g *op.Grad, p SequenceParams) []op.Entry {
			return onData(g, lastGrad.Node(p, append(withLengths(g), g.In(0))...))
		},
		Ref: func(p SequenceParams, c *op.Call) error {
			return lastSteps(p, c.In[0].Shape, c.In[1:],
				func(seq, at, n int) { moveRun(c.Out[0], seq*n, c.In[0], at, n) })
		},
	})
	lastGrad.Define(op.Spec[SequenceParams]{
		Traits: op.Traits{Hidden: true, Moves: true},
		Inputs: func(p SequenceParams) []op.Input {
			return append(sequenceInputs(p.UseSequenceLength), op.Input{Name: "like"})
		},
		Infer: func(p SequenceParams, in, out []dtype.Shape) error {
			like := len(in) - 1
			if err := op.SameShape(p, in[like:], out); err != nil {
				return err
			}
			err := inferLast(p, &in[like], in[1:like], &in[0])
			out[0] = in[like].Clone()
			return err
		},
		InferType: func(p SequenceParams, in, out []dtype.Type) error {
			like := len(in) - 1
			ends := []dtype.Type{in[0], in[like]}
			if err := op.SameType(p, ends, out); err != nil {
				return err
			}
			in[0], in[like] = ends[0], ends[1]
			return sequenceTypes(in[:like], out)
		},
		Grad: func(g *op.Grad, p SequenceParams) []op.Entry {
			lengths := g.Node.In[1 : len(g.Node.In)-1]
			return onData(g, SequenceLast.Node(p, append([]op.Entry{g.Head(0)}, lengths...)...))
		},
		Ref: func(p SequenceParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			return lastSteps(p, c.Out[0].Shape, c.In[1:len(c.In)-1],
				func(seq, at, n int) { moveRun(c.Out[0], at, c.In[0], seq*n, n) })
		},
	})
}

// onData returns the only output of a node as the gradient of data, and zeros for the other inputs.
func onData(g *op.Grad, n *op.Node) []op.Entry {
	in := make([]op.Entry, len(g.Node.In))
	in[0] = n.Entry(0)
	return in
}

// withLengths returns the gradient of the output and, if it exists, the input of lengths.
func withLengths(g *op.Grad) []op.Entry {
	return append([]op.Entry{g.Head(0)}, g.Node.In[1:]...)
}

func sequenceInputs(lengths bool) []op.Input {
	if lengths {
		return []op.Input{{Name: "data"}, {Name: "sequence_length"}}
	}
	return []op.Input{{Name: "data"}}
}

// sequenceTypes infers one type for data and output, and for lengths of unknown type.
func sequenceTypes(in, out []dtype.Type) error {
	if err := op.SameType(op.NoParams{}, in[:1], out); err != nil {
		return err
	}
	if len(in) > 1 && in[1] == dtype.Unknown {
		in[1] = in[0]
	}
	return nil
}

// inferLengths infers the shape of the lengths, if they exist, and from it the batch of data and
// output.
func inferLengths(axis int, data *dtype.Shape, lengths []dtype.Shape, out *dtype.Shape) error {
	if err := checkAxis(axis, *data); err != nil || *data == nil || len(lengths) == 0 {
		return err
	}
	batch := (*data)[1-axis]
	if err := fit("sequence_length", &lengths[0], dtype.Shape{batch}, &batch); err != nil {
		return err
	}
	(*data)[1-axis] = batch
	if out != nil {
		*out = data.Clone()
	}
	return nil
}

func checkAxis(axis int, data dtype.Shape) error {
	if axis > 1 {
		return op.Errorf("axis", "%d, want 0 or 1", axis)
	}
	if data != nil && len(data) < 2 {
		return op.Errorf("data", "shape %v, want at least 2 axes", data)
	}
	return nil
}

func inferLast(p SequenceParams, data *dtype.Shape, lengths []dtype.Shape, out *dtype.Shape) error {
	if *data == nil && *out != nil {
		*data = make(dtype.Shape, len(*out)+1)
		for i := range *data {
			(*data)[i] = -1
		}
	}
	if err := checkAxis(p.Axis, *data); err != nil || *data == nil {
		return err
	}
	d := *data
	if d[p.Axis] == 0 {
		return op.Errorf("data", "shape %v, want at least one step along axis %d", d, p.Axis)
	}
	want := append(dtype.Shape{d[1-p.Axis]}, d[2:]...)
	if err := op.Require("output", out, want); err != nil {
		return err
	}
	d[1-p.Axis] = (*out)[0]
	copy(d[2:], (*out)[1:])
	if err := inferLengths(p.Axis, data, lengths, nil); err != nil {
		return err
	}
	(*out)[0] = d[1-p.Axis]
	return nil
}

// runs are the steps of sequences in an array: size elements at offset of(seq, step).
type runs struct{ axis, steps, batch, size int }

func runsOf(axis int, s dtype.Shape) runs {
	return runs{axis, s[axis], s[1-axis], s[2:].Size()}
}

func (r runs) of(seq, step int) int {
	if r.axis == 0 {
		return (step*r.batch + seq) * r.size
	}
	return (seq*r.steps + step) * r.size
}

// ends returns the length of every sequence; a length outside least to most is an error.
func (r runs) ends(lengths []op.Tensor, least, most int) ([]int, error) {
	ends := make([]int, r.batch)
	for i := range ends {
		ends[i] = r.steps
	}
	if len(lengths) == 0 {
		return ends, nil
	}
	for i, v := range loop.Ints(lengths[0]) {
		if v < int64(least) || v > int64(most) {
			return nil, op.Errorf("sequence_length", "%d for sequence %d, want %d to %d", v, i,
				least, most)
		}
		ends[i] = int(v)
	}
	return ends, nil
}

// moveRun copies n elements.
func moveRun(dst op.Tensor, to int, src op.Tensor, from, n int) {
	loop.Copy(dtype.Shape{n}, loop.View{Tensor: dst, Off: to, Strides: []int{1}},
		loop.View{Tensor: src, Off: from, Strides: []int{1}})
}

func sequenceMask(p SequenceMaskParams, c *op.Call) error {
	r := runsOf(p.Axis, c.In[0].Shape)
	ends, err := r.ends(c.In[1:], 0, math.MaxInt) // lengths above steps mask nothing
	if err != nil {
		return err
	}
	loop.Move(c.Out[0], c.In[0])
	fill := make([]float64, r.size)
	for i := range fill {
		fill[i] = p.Value
	}
	for seq, end := range ends {
		for step := end; step < r.steps; step++ {
			loop.Store(c.Out[0], r.of(seq, step), fill)
		}
	}
	return nil
}

func sequenceReverse(p SequenceParams, c *op.Call) error {
	r := runsOf(p.Axis, c.In[0].Shape)
	ends, err := r.ends(c.In[1:], 0, r.steps)
	if err != nil {
		return err
	}
	for seq, end := range ends {
		for step := range r.steps {
			from := step
			if step < end {
				from = end - 1 - step
			}
			moveRun(c.Out[0], r.of(seq, step), c.In[0], r.of(seq, from), r.size)
		}
	}
	return nil
}

// lastSteps calls f with the offset and size of the last step of every sequence in an array of
// shape s.
func lastSteps(p SequenceParams, s dtype.Shape, lengths []op.Tensor, f func(seq, at, n int)) error {
	r := runsOf(p.Axis, s)
	ends, err := r.ends(lengths, 1, r.steps)
	if err != nil {
		return err
	}
	for seq, end := range ends {
		f(seq, r.of(seq, end-1), r.size)
	}
	return nil
}
