package onnx

import (
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// rnnRows are recurrent layers.
var rnnRows = map[string]row{
	"LSTM": {3, recurrent("lstm", 4, lstmActivations)},
	"GRU":  {3, recurrent("gru", 3, []string{"Sigmoid", "Tanh"})},
	"RNN":  {3, recurrent("rnn", 1, []string{"Tanh"})},
}

// lstmActivations are the usual activations of an LSTM.
var lstmActivations = []string{"Sigmoid", "Tanh", "Tanh"}

// layer is a recurrent layer while it is imported.
type layer struct {
	c                    *call
	kind                 string
	gates, size, width   int // width: extent of the input
	steps, batch, passes int // passes: directions
	typ                  dtype.Type
	activations          []string // of one direction
	clip                 float64
	rounds               bool // states are rounded to 8 bits before each product
	known                known
	parts                map[[2]int]*sym.Symbol // results of part, by input and direction
}

// gates is a constant matrix of weights, a row for each gate: real numbers, or integers of 8 bits
// with a scale for each row.
type gates struct {
	real         *sym.Symbol
	whole        *operand
	steps        []float64   // scales of whole
	codes, scale *sym.Symbol // constants of whole and steps, made by stored
}

// stored returns constants of the integers and of their scales.
func (g *gates) stored(c *call) (codes, scale *sym.Symbol) {
	if g.codes == nil {
		g.codes = c.constant(nd.FromSlice(g.whole.q, g.whole.shape...))
		g.scale = c.numbers(dtype.Float32, g.steps, len(g.steps), 1)
	}
	return g.codes, g.scale
}

// known holds the weights at inputs 1 and 2, one for each direction.
type known struct {
	weights [3][]*gates
	// The inputs as a whole are scale·(rows - zero), rows being uint8 of shape (steps·batch, width)
	rows, scale, zero *sym.Symbol
}

// recurrent makes an importer: gomx's operator where it does the same, steps one by one elsewhere.
func recurrent(kind string, gates int, usual []string) importer {
	return recurrence(kind, gates, usual, nil)
}

// recurrence is recurrent; with known weights, of which some may be missing, states are rounded to
// 8 bits before they are multiplied.
func recurrence(kind string, gates int, usual []string, weights *known) importer {
	return func(c *call) []*sym.Symbol {
		w := c.in[1].shape
		if c.in[0].rank() != 3 || len(w) != 3 || c.in[2].rank() != 3 {
			return c.fail("shapes %v, %v and %v, want three axes each", c.in[0].shape, w,
				c.in[2].shape)
		}
		l := &layer{c: c, kind: kind, gates: gates, size: c.in[2].shape[2], width: w[2],
			passes: w[0], typ: c.in[0].typ, clip: c.float("clip", 0),
			parts: map[[2]int]*sym.Symbol{}}
		if weights != nil {
			l.rounds, l.known = true, *weights
		}
		x := c.x(0)
		l.steps, l.batch = c.in[0].shape[0], c.in[0].shape[1]
		if c.num("layout", 0) == 1 {
			l.steps, l.batch = l.batch, l.steps
			x = sym.SwapAxis(x, sym.SwapAxisParams{Dim1: 0, Dim2: 1})
		}
		if !l.check() {
			return nil
		}
		l.activations = c.texts("activations")
		same := true
		for i, a := range l.activations {
			same = same && a == usual[i%len(usual)]
		}
		if len(l.activations) == 0 {
			l.activations = usual
		}
		special := kind == "lstm" && c.has(7) || c.num("input_forget", 0) != 0 || c.has(4) ||
			kind == "gru" && c.num("linear_before_reset", 0) == 0
		if same && !special && !l.rounds && l.clip == 0 && l.typ == dtype.Float32 &&
			c.text("direction", "forward") != "reverse" {
			return l.results(l.whole(x))
		}
		if same && !special && l.inBytes() {
			return l.results(l.bytes())
		}
		return l.results(l.unrolled(x))
	}
}

// check compares the shapes of weights with each other.
func (l *layer) check() bool {
	c := l.c
	want := 1
	if c.text("direction", "forward") == "bidirectional" {
		want = 2
	}
	rows := l.gates * l.size
	switch {
	case l.passes != want:
		c.fail("weights for %d directions, want %d", l.passes, want)
	case l.size < 1 || l.steps < 1 || l.steps > 1<<14:
		c.fail("%d steps of states of size %d", l.steps, l.size)
	case c.in[1].shape[1] != rows || !c.in[2].shape.Equal(dtype.Shape{want, rows, l.size}):
		c.fail("weights of shapes %v and %v, want %d rows", c.in[1].shape, c.in[2].shape, rows)
	case c.has(3) && !c.in[3].shape.Equal(dtype.Shape{want, 2 * rows}):
		c.fail("biases of shape %v, want %v", c.in[3].shape, dtype.Shape{want, 2 * rows})
	case c.in[0].shape[2] != l.width:
		c.fail("inputs of extent %d, weights for %d", c.in[0].shape[2], l.width)
	}
	if c.has(4) {
		for _, n := range c.ints(4) {
			if c.err == nil && n != l.steps {
				c.fail("sequence_lens with %d of %d steps: only whole sequences are imported", n,
					l.steps)
			}
		}
	}
	return c.err == nil
}

// weights are the known weights at an input, empty where they are computed when the graph runs.
func (l *layer) weights(i, direction int) *gates {
	if i >= len(l.known.weights) || l.known.weights[i] == nil {
		return &gates{}
	}
	return l.known.weights[i][direction]
}

// part takes one direction of an input of two or more axes: its first axis disappears.
func (l *layer) part(i, direction int) *sym.Symbol {
	if w := l.weights(i, direction); w.real != nil {
		return w.real
	}
	key := [2]int{i, direction}
	if l.parts[key] == nil {
		s := cut(l.c.x(i), 0, direction, direction+1)
		l.parts[key] = folded(l.c, l.c.reshape(s, l.c.in[i].shape[1:]))
	}
	return l.parts[key]
}

// gate takes rows of one gate.
func (l *layer) gate(s *sym.Symbol, g int) *sym.Symbol {
	return cut(s, 0, g*l.size, (g+1)*l.size)
}

// bias is the bias of a direction, of inputs or of states.
func (l *layer) bias(direction, of int) *sym.Symbol {
	rows := l.gates * l.size
	if !l.c.has(3) {
		return l.c.filled(dtype.Shape{rows}, 0, l.typ)
	}
	return folded(l.c, cut(l.part(3, direction), 0, of*rows, (of+1)*rows))
}

// initial is the first state at an input, zeros without one, of shape (directions, batch, size).
func (l *layer) initial(i int) *sym.Symbol {
	c, shape := l.c, dtype.Shape{l.passes, l.batch, l.size}
	if !c.has(i) {
		return c.filled(shape, 0, l.typ)
	}
	s := c.x(i)
	if c.num("layout", 0) == 1 {
		s = sym.SwapAxis(s, sym.SwapAxisParams{Dim1: 0, Dim2: 1})
	}
	return c.expand(s, shape)
}

// whole uses gomx's RNN: gates in MXNet's order, all parameters in one vector.
func (l *layer) whole(x *sym.Symbol) (y, h, cell *sym.Symbol) {
	order, mode := []int{0}, "rnn_tanh"
	switch l.kind {
	case "lstm":
		order, mode = lstmOrder, "lstm"
	case "gru":
		order, mode = []int{1, 0, 2}, "gru" // z, r, h of ONNX
	}
	arrange := func(s *sym.Symbol, n int) *sym.Symbol {
		var parts []*sym.Symbol
		for _, g := range order {
			parts = append(parts, l.gate(s, g))
		}
		if len(parts) > 1 {
			s = sym.Concat(parts, sym.ConcatParams{Dim: sym.Some(0)})
		}
		return l.c.reshape(s, dtype.Shape{n})
	}
	rows := l.gates * l.size
	var all []*sym.Symbol
	for d := range l.passes {
		all = append(all, arrange(l.part(1, d), rows*l.width), arrange(l.part(2, d), rows*l.size))
	}
	for d := range l.passes {
		all = append(all, arrange(l.bias(d, 0), rows), arrange(l.bias(d, 1), rows))
	}
	opts := []sym.Option{sym.With("parameters", folded(l.c, sym.Concat(all,
		sym.ConcatParams{Dim: sym.Some(0)}))), sym.With("state", l.initial(5))}
	if l.kind == "lstm" {
		opts = append(opts, sym.With("state_cell", l.initial(6)))
	}
	if l.c.err != nil {
		return nil, nil, nil
	}
	s := sym.RNN(x, sym.RNNParams{StateSize: l.size, NumLayers: 1, Bidirectional: l.passes == 2,
		Mode: mode, StateOutputs: true}, opts...)
	y = l.c.reshape(s.At(0), dtype.Shape{l.steps, l.batch, l.passes, l.size})
	y = sym.Transpose(y, sym.TransposeParams{Axes: []int{0, 2, 1, 3}})
	if l.kind == "lstm" {
		cell = s.At(2)
	}
	return y, s.At(1), cell
}

// lstmOrder has MXNet's order of the gates of ONNX: i, o, f, c there.
var lstmOrder = []int{0, 2, 3, 1}

// unrolled computes the steps one by one.
func (l *layer) unrolled(x *sym.Symbol) (y, h, cell *sym.Symbol) {
	var ys, hs, cells []*sym.Symbol
	for d := range l.passes {
		back := d == 1 || l.c.text("direction", "forward") == "reverse"
		h := l.state(5, d)
		var cell *sym.Symbol
		if l.kind == "lstm" {
			cell = l.state(6, d)
		}
		outs := make([]*sym.Symbol, l.steps)
		in := l.inputs(x, d)
		for i := range l.steps {
			t := i
			if back {
				t = l.steps - 1 - i
			}
			h, cell = l.step(cut(in, 0, t*l.batch, (t+1)*l.batch), h, cell, d)
			if l.c.err != nil {
				return nil, nil, nil
			}
			outs[t] = l.c.reshape(h, dtype.Shape{1, l.batch, l.size})
		}
		ys = append(ys, l.c.reshape(join(outs, 0), dtype.Shape{l.steps, 1, l.batch, l.size}))
		hs = append(hs, l.c.reshape(h, dtype.Shape{1, l.batch, l.size}))
		if cell != nil {
			cells = append(cells, l.c.reshape(cell, dtype.Shape{1, l.batch, l.size}))
		}
	}
	if cells != nil {
		cell = join(cells, 0)
	}
	return join(ys, 1), join(hs, 0), cell
}

// join is Concat of one or more symbols.
func join(list []*sym.Symbol, axis int) *sym.Symbol {
	if len(list) == 1 {
		return sym.Identity(list[0])
	}
	return sym.Concat(list, sym.ConcatParams{Dim: sym.Some(axis)})
}

// state is the first state of a direction, of shape (batch, size).
func (l *layer) state(i, d int) *sym.Symbol {
	return l.c.reshape(cut(l.initial(i), 0, d, d+1), dtype.Shape{l.batch, l.size})
}

// linear is x·Wᵀ + b.
func linear(x, w, b *sym.Symbol) *sym.Symbol {
	return sym.BroadcastAdd(sym.Dot(x, w, sym.DotParams{TransposeB: true}), b)
}

// act applies activation i of a direction, after the clip.
func (l *layer) act(x *sym.Symbol, i, d int) *sym.Symbol {
	n := map[string]int{"lstm": 3, "gru": 2, "rnn": 1}[l.kind]
	if l.clip > 0 {
		x = atMost(atLeast(x, -l.clip), l.clip)
	}
	k := d*n + i
	if k >= len(l.activations) {
		k = i
	}
	name := ""
	if k < len(l.activations) {
		name = l.activations[k]
	}
	if y := plain(x, name); y != nil {
		return y
	}
	l.c.fail("activation %q is not imported", name)
	return x
}

// step computes the next state from the products of the inputs with all gates, (batch, rows).
func (l *layer) step(x, h, cell *sym.Symbol, d int) (nextH, nextCell *sym.Symbol) {
	if l.rounds {
		h = rounded(h)
	}
	mul, add := sym.BroadcastMul, sym.BroadcastAdd
	gate := func(s *sym.Symbol, g int) *sym.Symbol { return cut(s, 1, g*l.size, (g+1)*l.size) }
	if l.kind == "gru" && l.c.num("linear_before_reset", 0) == 0 {
		r, rb := l.part(2, d), l.bias(d, 1)
		first := l.gates - 1 // the last gate reads other states
		s := add(cut(x, 1, 0, first*l.size), linear(h, cut(r, 0, 0, first*l.size),
			cut(rb, 0, 0, first*l.size)))
		z, reset := l.act(gate(s, 0), 0, d), l.act(gate(s, 1), 0, d)
		n := l.act(add(gate(x, 2), linear(mul(reset, h), l.gate(r, 2), l.gate(rb, 2))), 1, d)
		return blend(z, n, h), nil
	}
	rec := l.products(h, d)
	if l.kind == "gru" {
		z := l.act(add(gate(x, 0), gate(rec, 0)), 0, d)
		reset := l.act(add(gate(x, 1), gate(rec, 1)), 0, d)
		return blend(z, l.act(add(gate(x, 2), mul(reset, gate(rec, 2))), 1, d), h), nil
	}
	s := add(x, rec)
	if l.kind == "rnn" {
		return l.act(s, 0, d), nil
	}
	both := func(g int) *sym.Symbol { return gate(s, g) }
	peep := func(s, c *sym.Symbol, g int) *sym.Symbol {
		if !l.c.has(7) {
			return s
		}
		return add(s, mul(cut(l.part(7, d), 0, g*l.size, (g+1)*l.size), c))
	}
	i := l.act(peep(both(0), cell, 0), 0, d)
	f := sym.RMinusScalar(i, sym.ScalarParams{Scalar: 1})
	if l.c.num("input_forget", 0) == 0 {
		f = l.act(peep(both(2), cell, 2), 0, d)
	}
	nextCell = add(mul(f, cell), mul(i, l.act(both(3), 1, d)))
	o := l.act(peep(both(1), nextCell, 1), 0, d)
	return mul(o, l.act(nextCell, 2, d)), nextCell
}

// inputs are the products of all inputs with all gates, and the bias of inputs, of shape
// (steps·batch, gates).
func (l *layer) inputs(x *sym.Symbol, d int) *sym.Symbol {
	w := l.weights(1, d)
	if w.whole == nil {
		return linear(l.c.reshape(x, dtype.Shape{l.steps * l.batch, l.width}), l.part(1, d),
			l.bias(d, 0))
	}
	return l.integers(w, l.bias(d, 0))
}

// products are the products of a state with all gates, and the bias of states.
func (l *layer) products(h *sym.Symbol, d int) *sym.Symbol {
	rb := l.bias(d, 1)
	w := l.weights(2, d)
	if w.whole == nil {
		return linear(h, l.part(2, d), rb)
	}
	codes, scale := w.stored(l.c)
	return sym.WeightOnlyFullyConnected(h, sym.WeightOnlyParams{NumHidden: l.gates * l.size, Bits: 8,
		NoFlatten: true}, sym.With("weight", codes), sym.With("scale", scale), sym.With("bias", rb))
}

// blend is (1 - z)·n + z·h.
func blend(z, n, h *sym.Symbol) *sym.Symbol {
	rest := sym.RMinusScalar(z, sym.ScalarParams{Scalar: 1})
	return sym.BroadcastAdd(sym.BroadcastMul(rest, n), sym.BroadcastMul(z, h))
}

// results puts the axes into the order of the attribute layout.
func (l *layer) results(y, h, cell *sym.Symbol) []*sym.Symbol {
	list := []*sym.Symbol{y, h, cell}
	if cell == nil {
		list = list[:2]
	}
	if slices.Contains(list, nil) {
		return nil
	}
	if l.c.num("layout", 0) == 1 {
		list[0] = sym.Transpose(y, sym.TransposeParams{Axes: []int{2, 0, 1, 3}})
		for i := range list[1:] {
			list[1+i] = sym.SwapAxis(list[1+i], sym.SwapAxisParams{Dim1: 0, Dim2: 1})
		}
	}
	return list
}
