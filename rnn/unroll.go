package rnn

import (
	"slices"

	sym "gomx/symbol"
)

// Option changes how Unroll reads a sequence.
type Option func(*sequence)

// TimeFirst says that sequences have the shape (steps, n, size).
func TimeFirst() Option { return func(q *sequence) { q.axis = 0 } }

// BeginWith gives the first states instead of zeros.
func BeginWith(states ...*sym.Symbol) Option {
	return func(q *sequence) { q.states = states }
}

// sequence is a sequence as one symbol or as one symbol for each step.
type sequence struct {
	length int
	axis   int           // of the steps
	whole  *sym.Symbol   // nil: steps has the sequence
	steps  []*sym.Symbol // nil: whole has the sequence
	states []*sym.Symbol // first states; nil: zeros
}

// Unroll composes all steps of a sequence: x and the result have the shape (n, steps, size). It
// returns the states after the last step, too.
func Unroll(c Cell, length int, x *sym.Symbol, opts ...Option) (*sym.Symbol, []*sym.Symbol) {
	y, states := unroll(c, &sequence{length: length, axis: 1, whole: x}, true, opts)
	return y.joined(), states
}

// UnrollSteps is Unroll for a symbol of shape (n, size) for each step, and returns a symbol for
// each step.
func UnrollSteps(c Cell, steps []*sym.Symbol, opts ...Option) (y, states []*sym.Symbol) {
	q, states := unroll(c, &sequence{length: len(steps), axis: 1, steps: steps}, false, opts)
	return q.apart(), states
}

func unroll(c Cell, q *sequence, merge bool, opts []Option) (*sequence, []*sym.Symbol) {
	for _, o := range opts {
		o(q)
	}
	if q.length < 1 {
		panic(misuse("Unroll", "%d steps, want at least 1", q.length))
	}
	restart(c)
	begin := q.states
	if begin == nil {
		begin = c.Begin()
	}
	return q.run(c, begin, merge)
}

// unroller is a cell that composes whole sequences; merge asks for the result as one symbol.
type unroller interface {
	unroll(q *sequence, states []*sym.Symbol, merge bool) (*sequence, []*sym.Symbol)
}

// run composes a sequence by the steps of a cell, or as the cell itself does.
func (q *sequence) run(c Cell, states []*sym.Symbol, merge bool) (*sequence, []*sym.Symbol) {
	if u, ok := c.(unroller); ok {
		return u.unroll(q, states, merge)
	}
	out := q.with(nil)
	for _, x := range q.apart() {
		var y *sym.Symbol
		y, states = c.Step(x, states)
		out.steps = append(out.steps, y)
	}
	return out, states
}

// with returns a sequence of the same form.
func (q *sequence) with(whole *sym.Symbol) *sequence {
	return &sequence{length: q.length, axis: q.axis, whole: whole}
}

// apart returns the steps; it splits the sequence once.
func (q *sequence) apart() []*sym.Symbol {
	if q.steps == nil {
		s := sym.SliceChannel(q.whole, sym.SliceChannelParams{NumOutputs: q.length,
			Axis: sym.Some(q.axis), SqueezeAxis: true})
		for i := range q.length {
			q.steps = append(q.steps, s.At(i))
		}
	}
	return q.steps
}

// joined returns the sequence as one symbol; it joins the steps once.
func (q *sequence) joined() *sym.Symbol {
	if q.whole == nil {
		list := make([]*sym.Symbol, len(q.steps))
		for i, s := range q.steps {
			list[i] = sym.ExpandDims(s, sym.ExpandDimsParams{Axis: q.axis})
		}
		q.whole = sym.Concat(list, sym.ConcatParams{Dim: sym.Some(q.axis)})
	}
	return q.whole
}

// reversed returns the steps in the opposite order.
func (q *sequence) reversed() *sequence {
	r := q.with(nil)
	r.steps = slices.Clone(q.apart())
	slices.Reverse(r.steps)
	return r
}
