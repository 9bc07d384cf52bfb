package rnn

import (
	"fmt"

	sym "gomx/symbol"
)

// Stack calls cells one after the other; the output of one is the input of the next. Its states are
// the states of all.
//
// MXNet: rnn.SequentialRNNCell.
type Stack []Cell

// Begin returns the first states of all cells.
func (s Stack) Begin() (list []*sym.Symbol) {
	for _, c := range s {
		list = append(list, c.Begin()...)
	}
	return list
}

// States returns the number of the states of all cells.
func (s Stack) States() (n int) {
	for _, c := range s {
		n += c.States()
	}
	return n
}

func (s Stack) reset() {
	for _, c := range s {
		restart(c)
	}
}

// Step composes a step of each cell.
func (s Stack) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	return s.each(states, func(c Cell, states []*sym.Symbol, _ bool) (next []*sym.Symbol) {
		x, next = c.Step(x, states)
		return next
	}, func() *sym.Symbol { return x })
}

// each calls f for the cells with their states, and returns a result and all new states.
func (s Stack) each(states []*sym.Symbol, f func(c Cell, states []*sym.Symbol,
	last bool) []*sym.Symbol, result func() *sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	var out []*sym.Symbol
	for i, c := range s {
		n := c.States()
		out = append(out, f(c, states[:n], i == len(s)-1)...)
		states = states[n:]
	}
	return result(), out
}

func (s Stack) unroll(q *sequence, states []*sym.Symbol, merge bool) (*sequence, []*sym.Symbol) {
	_, out := s.each(states, func(c Cell, states []*sym.Symbol, last bool) (next []*sym.Symbol) {
		q, next = q.run(c, states, merge && last)
		return next
	}, func() *sym.Symbol { return nil })
	return q, out
}

// Dropout drops elements of its input in training; it has no states.
//
// MXNet: rnn.DropoutCell.
type Dropout struct{ Rate float64 }

// Begin returns none.
func (Dropout) Begin() []*sym.Symbol { return nil }

// States returns 0.
func (Dropout) States() int { return 0 }

// Step drops elements.
func (d Dropout) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	if d.Rate > 0 {
		x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(d.Rate)})
	}
	return x, states
}

func (d Dropout) unroll(q *sequence, states []*sym.Symbol, _ bool) (*sequence, []*sym.Symbol) {
	if q.whole != nil {
		x, _ := d.Step(q.whole, nil)
		return q.with(x), states
	}
	out := q.with(nil)
	for _, x := range q.steps {
		y, _ := d.Step(x, nil)
		out.steps = append(out.steps, y)
	}
	return out, states
}

// Residual adds the input of a cell to its output.
//
// MXNet: rnn.ResidualCell.
type Residual struct{ Cell Cell }

// Begin returns the first states of the cell.
func (r *Residual) Begin() []*sym.Symbol { return r.Cell.Begin() }

// States returns the number of the cell's states.
func (r *Residual) States() int { return r.Cell.States() }

func (r *Residual) reset() { restart(r.Cell) }

// Step composes a step of the cell and adds the input.
func (r *Residual) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	y, states := r.Cell.Step(x, states)
	return plus(y, x), states
}

func plus(y, x *sym.Symbol) *sym.Symbol {
	return sym.ElemwiseAdd(y, x, sym.Name(y.Name()+"_plus_residual"))
}

func (r *Residual) unroll(q *sequence, states []*sym.Symbol, merge bool) (*sequence,
	[]*sym.Symbol) {
	y, states := q.run(r.Cell, states, merge)
	if merge || y.whole != nil {
		return q.with(plus(y.joined(), q.joined())), states
	}
	out := q.with(nil)
	for i, s := range y.steps {
		out.steps = append(out.steps, plus(s, q.apart()[i]))
	}
	return out, states
}

// Zoneout keeps a share of the old outputs and states in training (Krueger et al., Zoneout).
//
// MXNet: rnn.ZoneoutCell.
type Zoneout struct {
	Cell    Cell
	Outputs float64 // share of outputs that stay
	Kept    float64 // share of states that stay

	last *sym.Symbol // output of the step before; nil: the sequence begins
}

// Begin returns the first states of the cell.
func (z *Zoneout) Begin() []*sym.Symbol { return z.Cell.Begin() }

// States returns the number of the cell's states.
func (z *Zoneout) States() int { return z.Cell.States() }

func (z *Zoneout) reset() {
	z.last = nil
	restart(z.Cell)
}

// Step composes a step of the cell and keeps a share of the old values.
func (z *Zoneout) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	y, next := z.Cell.Step(x, states)
	stay := func(p float64, now, before *sym.Symbol) *sym.Symbol {
		mask := sym.Dropout(sym.OnesLike(now), sym.DropoutParams{P: sym.Some(p)})
		return sym.Where(mask, now, before)
	}
	if z.Kept > 0 {
		mixed := make([]*sym.Symbol, len(next))
		for i := range next {
			mixed[i] = stay(z.Kept, next[i], states[i])
		}
		next = mixed
	}
	if z.Outputs > 0 {
		if z.last == nil {
			z.last = sym.ZerosLike(y)
		}
		y = stay(z.Outputs, y, z.last)
	}
	z.last = y
	return y, next
}

// Bidirectional reads a sequence with one cell from the begin and with another one from the end,
// and joins their outputs. It has no step: use Unroll.
//
// MXNet: rnn.BidirectionalCell.
type Bidirectional struct {
	Left, Right Cell
	Prefix      string // of the names of outputs; "bi_" by default
}

// Begin returns the first states of both cells.
func (b *Bidirectional) Begin() []*sym.Symbol { return append(b.Left.Begin(), b.Right.Begin()...) }

// States returns the number of the states of both cells.
func (b *Bidirectional) States() int { return b.Left.States() + b.Right.States() }

func (b *Bidirectional) reset() {
	restart(b.Left)
	restart(b.Right)
}

// Step panics: the end of the sequence is not known.
func (b *Bidirectional) Step(*sym.Symbol, []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	panic(misuse("Bidirectional", "it reads sequences from the end and has no step: use Unroll"))
}

func (b *Bidirectional) unroll(q *sequence, states []*sym.Symbol, merge bool) (*sequence,
	[]*sym.Symbol) {
	n := b.Left.States()
	left, l := q.run(b.Left, states[:n], merge)
	right, r := q.reversed().run(b.Right, states[n:], merge)
	last := append(l, r...)
	prefix := or(b.Prefix, "bi_")
	if merge || left.whole != nil && right.whole != nil {
		back := sym.Reverse(right.joined(), sym.ReverseParams{Axis: []int{q.axis}})
		return q.with(sym.Concat([]*sym.Symbol{left.joined(), back},
			sym.ConcatParams{Dim: sym.Some(2)}, sym.Name(prefix+"out"))), last
	}
	out, back := q.with(nil), right.reversed().steps
	for i, s := range left.apart() {
		out.steps = append(out.steps, sym.Concat([]*sym.Symbol{s, back[i]},
			sym.ConcatParams{Dim: sym.Some(1)}, sym.Name(fmt.Sprintf("%st%d", prefix, i))))
	}
	return out, last
}
