package rnn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// Stack calls cells one after the other in each step; the output of one is the input of the next.
// Its states are the states of all.
//
// MXNet: gluon.rnn.SequentialRNNCell.
type Stack []Cell

// Declare does nothing: the cells declare their parameters.
func (Stack) Declare() {}

// States returns the shapes of the states of all cells.
func (s Stack) States(n int) (list []nd.Shape) {
	for _, c := range s {
		list = append(list, c.States(n)...)
	}
	return list
}

func (s Stack) start() Cell {
	list := make(Stack, len(s))
	for i, c := range s {
		list[i] = begin(c)
	}
	return &startedStack{s, list}
}

// startedStack is a stack for one sequence.
type startedStack struct{ of, cells Stack }

// States returns the shapes of the states of all cells.
func (s *startedStack) States(n int) []nd.Shape { return s.of.States(n) }

// Step calls the cells.
func (s *startedStack) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	return s.of.steps(s.cells, x, states)
}

// Step calls the cells.
func (s Stack) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	return s.steps(s, x, states)
}

// steps calls the cells, or cells that they have started.
func (s Stack) steps(cells Stack, x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	var out []*nd.Array
	for i, c := range cells {
		n := len(c.States(0))
		var next []*nd.Array
		x, next = step(&s[i], c, x, states[:n])
		states = states[n:]
		out = append(out, next...)
	}
	return x, out
}

// unroll reads a sequence with one cell after the other, because cells that read in both directions
// have no step.
func (s Stack) unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array) {
	var out []*nd.Array
	x := q.x
	for i, c := range s {
		n := len(c.States(0))
		part := *q
		part.x = x
		var next []*nd.Array
		x, next = part.run(&s[i], c, states[:n])
		states = states[n:]
		out = append(out, next...)
	}
	return x, out
}

// Dropout drops elements of the input in training; it has no states.
//
// MXNet: gluon.rnn.DropoutCell.
type Dropout struct {
	gluon.Hooks
	Rate float64 // share that is dropped
	Axes []int   // axes along which elements are dropped together
}

// Declare does nothing: there are no parameters.
func (d *Dropout) Declare() {}

// States returns none.
func (d *Dropout) States(int) []nd.Shape { return nil }

// Step drops elements.
func (d *Dropout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	call := d.Enter(d, x)
	if d.Rate > 0 {
		x = nd.Dropout(x, nd.DropoutParams{P: nd.Some(d.Rate), Axes: d.Axes})
	}
	return call.Leave(x), states
}

// Residual adds the input of a cell to its output. Unroll calls it once for a whole sequence.
//
// MXNet: gluon.rnn.ResidualCell.
type Residual struct {
	gluon.Hooks
	Cell Cell `gluon:"base_cell"`

	of *Residual // nil: itself
}

// Declare does nothing: the cell declares its parameters.
func (r *Residual) Declare() {}

// States returns the shapes of the cell's states.
func (r *Residual) States(n int) []nd.Shape { return r.Cell.States(n) }

func (r *Residual) start() Cell { return &Residual{Cell: begin(r.Cell), of: r} }

// Step calls the cell and adds the input.
func (r *Residual) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	of := original(r, r.of)
	call := enter(&of.Hooks, of, x, states)
	y, next := step(&of.Cell, r.Cell, x, states)
	return call.Leave(y.Add(x), next...), next
}

// unroll reads a sequence with the cell and adds the input.
func (r *Residual) unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array) {
	call := enter(&r.Hooks, r, q.x, states)
	y, next := q.run(&r.Cell, r.Cell, states)
	return call.Leave(y.Add(q.mask(q.x)), next...), next
}

// Zoneout keeps a share of the old outputs and states in training (Krueger et al., Zoneout).
//
// MXNet: gluon.rnn.ZoneoutCell.
type Zoneout struct {
	gluon.Hooks
	Cell    Cell    `gluon:"base_cell"`
	Outputs float64 // share of outputs that stay
	Kept    float64 // share of states that stay

	of   *Zoneout  // nil: itself
	last *nd.Array // output of the step before
}

// Declare does nothing: the cell declares its parameters.
func (z *Zoneout) Declare() {}

// States returns the shapes of the cell's states.
func (z *Zoneout) States(n int) []nd.Shape { return z.Cell.States(n) }

func (z *Zoneout) start() Cell {
	return &Zoneout{Cell: begin(z.Cell), Outputs: z.Outputs, Kept: z.Kept, of: z}
}

// Step calls the cell and keeps a share of the old values.
func (z *Zoneout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	of := original(z, z.of)
	call := enter(&of.Hooks, of, x, states)
	y, next := step(&of.Cell, z.Cell, x, states)
	if z.Outputs > 0 {
		if z.last == nil {
			z.last = y.ZerosLike()
		}
		y = stay(z.Outputs, y, z.last)
	}
	if z.Kept > 0 {
		mixed := make([]*nd.Array, len(next))
		for i := range next {
			mixed[i] = stay(z.Kept, next[i], states[i])
		}
		next = mixed
	}
	z.last = y
	return call.Leave(y, next...), next
}

// stay returns the new values, but for a random share p of the old ones in training.
func stay(p float64, now, before *nd.Array) *nd.Array {
	return nd.Where(dropMask(now, p), now, before)
}

// dropMask is zero for a random share p of elements in training, and positive elsewhere.
func dropMask(like *nd.Array, p float64) *nd.Array {
	return nd.Dropout(like.OnesLike(), nd.DropoutParams{P: nd.Some(p)})
}

// VariationalDropout drops the same elements in all steps of a sequence (Gal and Ghahramani, A
// Theoretically Grounded Application of Dropout in Recurrent Neural Networks).
//
// MXNet: gluon.contrib.rnn.VariationalDropoutCell.
type VariationalDropout struct {
	gluon.Hooks
	Cell    Cell    `gluon:"base_cell"`
	Inputs  float64 // share of inputs that is dropped
	Hidden  float64 // share of the first state that is dropped
	Outputs float64 // share of outputs that is dropped

	of    *VariationalDropout // nil: itself
	masks [3]*nd.Array        // of inputs, of the first state and of outputs
}

// Declare does nothing: the cell declares its parameters.
func (v *VariationalDropout) Declare() {}

// States returns the shapes of the cell's states.
func (v *VariationalDropout) States(n int) []nd.Shape { return v.Cell.States(n) }

func (v *VariationalDropout) start() Cell {
	return &VariationalDropout{Cell: begin(v.Cell), Inputs: v.Inputs, Hidden: v.Hidden,
		Outputs: v.Outputs, of: v}
}

// Step calls the cell.
func (v *VariationalDropout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	of := original(v, v.of)
	call := enter(&of.Hooks, of, x, states)
	x, states = oneTape(x, states)
	if len(states) > 0 {
		states = append([]*nd.Array{v.drop(1, states[0], v.Hidden)}, states[1:]...)
	}
	y, next := step(&of.Cell, v.Cell, v.drop(0, x, v.Inputs), states)
	return call.Leave(v.drop(2, y, v.Outputs), next...), next
}

// drop applies mask i, which the first step makes.
func (v *VariationalDropout) drop(i int, x *nd.Array, p float64) *nd.Array {
	if p == 0 {
		return x
	}
	if v.masks[i] == nil {
		v.masks[i] = dropMask(x, p)
	}
	return x.Mul(v.masks[i])
}

// Bidirectional reads a sequence with one cell from the begin and with another one from the end,
// and joins their outputs. It has no step: use Unroll, which calls it once for a whole sequence.
//
// MXNet: gluon.rnn.BidirectionalCell.
type Bidirectional struct {
	gluon.Hooks
	Left  Cell `gluon:"l_cell"`
	Right Cell `gluon:"r_cell"`
}

// Declare does nothing: the cells declare their parameters.
func (b *Bidirectional) Declare() {}

// States returns the shapes of the states of both cells.
func (b *Bidirectional) States(n int) []nd.Shape {
	return append(b.Left.States(n), b.Right.States(n)...)
}

// Step panics: the end of the sequence is not known.
func (b *Bidirectional) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	panic(misuse("Bidirectional", "it reads sequences from the end and has no step: use Unroll"))
}

func (b *Bidirectional) unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array) {
	n, call := len(b.Left.States(0)), enter(&b.Hooks, b, q.x, states)
	left, l := q.run(&b.Left, b.Left, states[:n])
	back := *q
	back.x = q.reverse(q.x)
	right, r := back.run(&b.Right, b.Right, states[n:])
	y := nd.Concat([]*nd.Array{left, q.reverse(right)}, nd.ConcatParams{Dim: nd.Some(2)})
	last := append(l, r...)
	return call.Leave(y, last...), last
}
