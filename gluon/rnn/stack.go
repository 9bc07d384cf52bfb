package rnn

import nd "gomx/ndarray"

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

// start returns the cells for one sequence.
func (s Stack) start() Cell {
	list := make(Stack, len(s))
	for i, c := range s {
		list[i] = begin(c)
	}
	return list
}

// Step calls the cells.
func (s Stack) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	var out []*nd.Array
	for _, c := range s {
		n := len(c.States(0))
		var next []*nd.Array
		x, next = c.Step(x, states[:n])
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
	for _, c := range s {
		n := len(c.States(0))
		part := *q
		part.x = x
		var next []*nd.Array
		x, next = part.run(c, states[:n])
		states = states[n:]
		out = append(out, next...)
	}
	return x, out
}

// Dropout drops elements of the input in training; it has no states.
//
// MXNet: gluon.rnn.DropoutCell.
type Dropout struct {
	Rate float64 // share that is dropped
	Axes []int   // axes along which elements are dropped together
}

// States returns none.
func (d *Dropout) States(int) []nd.Shape { return nil }

// Step drops elements.
func (d *Dropout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if d.Rate > 0 {
		x = nd.Dropout(x, nd.DropoutParams{P: nd.Some(d.Rate), Axes: d.Axes})
	}
	return x, states
}

// Residual adds the input of a cell to its output.
//
// MXNet: gluon.rnn.ResidualCell.
type Residual struct {
	Cell Cell `gluon:"base_cell"`
}

// Declare does nothing: the cell declares its parameters.
func (r *Residual) Declare() {}

// States returns the shapes of the cell's states.
func (r *Residual) States(n int) []nd.Shape { return r.Cell.States(n) }

func (r *Residual) start() Cell { return &Residual{begin(r.Cell)} }

// Step calls the cell and adds the input.
func (r *Residual) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	y, states := r.Cell.Step(x, states)
	return y.Add(x), states
}

// unroll reads a sequence with the cell and adds the input.
func (r *Residual) unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array) {
	y, states := q.run(r.Cell, states)
	return y.Add(q.mask(q.x)), states
}

// Zoneout keeps a share of the old outputs and states in training (Krueger et al., Zoneout).
//
// MXNet: gluon.rnn.ZoneoutCell.
type Zoneout struct {
	Cell    Cell    `gluon:"base_cell"`
	Outputs float64 // share of outputs that stay
	Kept    float64 // share of states that stay

	last *nd.Array // output of the step before
}

// Declare does nothing: the cell declares its parameters.
func (z *Zoneout) Declare() {}

// States returns the shapes of the cell's states.
func (z *Zoneout) States(n int) []nd.Shape { return z.Cell.States(n) }

func (z *Zoneout) start() Cell {
	return &Zoneout{Cell: begin(z.Cell), Outputs: z.Outputs, Kept: z.Kept}
}

// Step calls the cell and keeps a share of the old values.
func (z *Zoneout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	y, next := z.Cell.Step(x, states)
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
	return y, next
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
	Cell    Cell    `gluon:"base_cell"`
	Inputs  float64 // share of inputs that is dropped
	Hidden  float64 // share of the first state that is dropped
	Outputs float64 // share of outputs that is dropped

	masks [3]*nd.Array // of inputs, of the first state and of outputs
}

// Declare does nothing: the cell declares its parameters.
func (v *VariationalDropout) Declare() {}

// States returns the shapes of the cell's states.
func (v *VariationalDropout) States(n int) []nd.Shape { return v.Cell.States(n) }

func (v *VariationalDropout) start() Cell {
	return &VariationalDropout{Cell: begin(v.Cell), Inputs: v.Inputs, Hidden: v.Hidden,
		Outputs: v.Outputs}
}

// Step calls the cell.
func (v *VariationalDropout) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if len(states) > 0 {
		states = append([]*nd.Array{v.drop(1, states[0], v.Hidden)}, states[1:]...)
	}
	y, next := v.Cell.Step(v.drop(0, x, v.Inputs), states)
	return v.drop(2, y, v.Outputs), next
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
// and joins their outputs. It has no step: use Unroll.
//
// MXNet: gluon.rnn.BidirectionalCell.
type Bidirectional struct {
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
	n := len(b.Left.States(0))
	left, l := q.run(b.Left, states[:n])
	back := *q
	back.x = q.reverse(q.x)
	right, r := back.run(b.Right, states[n:])
	y := nd.Concat([]*nd.Array{left, q.reverse(right)}, nd.ConcatParams{Dim: nd.Some(2)})
	return y, append(l, r...)
}
