package export

import (
	"gomx/dtype"
	"gomx/op/rnn"
)

// rnnRules are recurrent layers and operators on sequences.
var rnnRules = rules{
	rnn.RNN.Op: on(recurrent), rnn.SequenceMask.Op: on(sequenceMask),
	rnn.SequenceLast.Op: on(sequenceLast), rnn.SequenceReverse.Op: on(sequenceReverse),
}

// cell describes a kind of recurrent cell.
type cell struct {
	kind  string // of the ONNX operator
	gates []int  // the gates in ONNX's order, by their numbers in MXNet's
	attrs func(dirs int) []*attribute
}

// cells are the kinds of cells by mode. ONNX orders the gates of an LSTM as input, output, forget
// and cell, and the gates of a GRU as update, reset and new.
var cells = map[string]cell{
	"lstm": {"LSTM", []int{0, 3, 1, 2}, func(int) []*attribute { return nil }},
	"gru": {"GRU", []int{1, 0, 2}, func(int) []*attribute {
		return []*attribute{num("linear_before_reset", 1)}
	}},
	"rnn_tanh": {"RNN", []int{0}, func(dirs int) []*attribute { return same("Tanh", dirs) }},
	"rnn_relu": {"RNN", []int{0}, func(dirs int) []*attribute { return same("Relu", dirs) }},
}

// same is one activation for each direction.
func same(name string, dirs int) []*attribute {
	return []*attribute{texts("activations", []string{name, name}[:dirs]...)}
}

// stack is an RNN while it is exported.
type stack struct {
	*call
	p       rnn.RNNParams
	cell    cell
	dirs    int
	weights []value // of input and state, by layer and direction
	biases  []value
	lengths value
}

// recurrent makes an ONNX operator of each layer.
func recurrent(c *call, p rnn.RNNParams) []value {
	if p.ProjectionSize.IsSet() {
		return c.fail("ONNX has no projection of the outputs of an LSTM")
	}
	s := &stack{call: c, p: p, cell: cells[p.Mode], dirs: 1}
	if p.Bidirectional {
		s.dirs = 2
	}
	x, states := c.x(0), []value{c.x(2)}
	if p.Mode == "lstm" {
		states = append(states, c.x(3))
	}
	if p.UseSequenceLength {
		s.lengths = c.cast(c.x(len(c.node.In)-1), dtype.Int32)
	}
	s.cut(x.shape[2])
	last := make([][]value, len(states))
	for l := range p.NumLayers {
		if l > 0 && p.P > 0 && c.ex.config.training {
			x = c.add("Dropout", x.shape, x.typ, []value{x, c.scalar(dtype.Float32, p.P),
				c.scalar(dtype.Bool, 1)})
		}
		var ends []value
		x, ends = s.layer(l, x, states)
		for i, v := range ends {
			last[i] = append(last[i], v)
		}
	}
	outs := one(x)
	if p.StateOutputs {
		for _, list := range last {
			outs = append(outs, c.concat(0, list...))
		}
	}
	return outs
}

// cut takes the vector of parameters apart: all weights, then all biases.
func (s *stack) cut(input int) {
	rows, h := len(s.cell.gates)*s.p.StateSize, s.p.StateSize
	var shapes []dtype.Shape
	for l := range s.p.NumLayers {
		width := input
		if l > 0 {
			width = s.dirs * h
		}
		for range s.dirs {
			shapes = append(shapes, dtype.Shape{rows, width}, dtype.Shape{rows, h})
		}
	}
	weights := len(shapes)
	for range weights {
		shapes = append(shapes, dtype.Shape{rows})
	}
	sizes := make([]int, len(shapes))
	for i, shape := range shapes {
		sizes[i] = shape.Size()
	}
	for i, v := range s.split(s.x(1), 0, sizes...) {
		v = s.ordered(v, shapes[i][1:])
		if i < weights {
			s.weights = append(s.weights, v)
		} else {
			s.biases = append(s.biases, v)
		}
	}
}

// ordered puts the gates into ONNX's order, under an axis for the direction.
func (s *stack) ordered(v value, rest dtype.Shape) value {
	g, h := len(s.cell.gates), s.p.StateSize
	if g > 1 {
		v = s.reshape(v, dtype.Shape{g, h * rest.Size()})
		v = s.gather(v, s.indices(s.cell.gates...), 0)
	}
	return s.reshape(v, append(dtype.Shape{1, g * h}, rest...))
}

// layer adds the operator of layer l and returns its outputs and its last states.
func (s *stack) layer(l int, x value, states []value) (y value, last []value) {
	var w, r, b []value
	for d := range s.dirs {
		k := 2 * (l*s.dirs + d)
		w, r = append(w, s.weights[k]), append(r, s.weights[k+1])
		b = append(b, s.concat(1, s.biases[k], s.biases[k+1]))
	}
	in := []value{x, s.concat(0, w...), s.concat(0, r...), s.concat(0, b...), s.lengths}
	steps, batch, h := x.shape[0], x.shape[1], s.p.StateSize
	outs := []value{{"", dtype.Shape{steps, s.dirs, batch, h}, x.typ}}
	for _, state := range states {
		in = append(in, s.slice(state, 0, l*s.dirs, (l+1)*s.dirs, 1))
		outs = append(outs, value{"", dtype.Shape{s.dirs, batch, h}, x.typ})
	}
	direction := "forward"
	if s.dirs == 2 {
		direction = "bidirectional"
	}
	made := s.nodes(s.cell.kind, in, outs, append(s.cell.attrs(s.dirs), num("hidden_size", h),
		text("direction", direction))...)
	y = s.reshape(s.transpose(made[0], 0, 2, 1, 3), dtype.Shape{steps, batch, s.dirs * h})
	return y, made[1:]
}

// inside is whether a step lies within its sequence, of shape (steps, batch, 1, …), or with the
// batch first.
func (c *call) inside(x, lengths value, steps int) value {
	rank := len(x.shape)
	shape := make(dtype.Shape, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[1-steps] = x.shape[1-steps]
	return c.test("Less", c.along(dtype.Int64, steps, rank, counting(x.shape[steps])...),
		c.reshape(c.cast(lengths, dtype.Int64), shape))
}

func sequenceMask(c *call, p rnn.SequenceMaskParams) []value {
	x := c.x(0)
	if !p.UseSequenceLength {
		return one(x)
	}
	return one(c.where(c.inside(x, c.x(1), p.Axis), x, c.like(x, p.Value)))
}

func sequenceLast(c *call, p rnn.SequenceParams) []value {
	x, out := c.x(0), c.out(0).shape
	steps := x.shape[p.Axis]
	if !p.UseSequenceLength {
		return one(c.reshape(c.slice(x, p.Axis, steps-1, steps, 1), out))
	}
	if p.Axis == 0 {
		x = c.transpose(x, append([]int{1, 0}, upTo(2, len(x.shape))...)...)
	}
	at := c.minus(c.cast(c.x(1), dtype.Int64), c.scalar(dtype.Int64, 1))
	return one(c.add("GatherND", out, x.typ, []value{x, c.reshape(at, dtype.Shape{x.shape[0], 1})},
		num("batch_dims", 1)))
}

func sequenceReverse(c *call, p rnn.SequenceParams) []value {
	x := c.x(0)
	if !p.UseSequenceLength {
		return one(c.flip(x, 0))
	}
	return one(c.add("ReverseSequence", x.shape, x.typ, []value{x,
		c.cast(c.x(1), dtype.Int64)}, num("time_axis", 0), num("batch_axis", 1)))
}
