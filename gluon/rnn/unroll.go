package rnn

import (
	"fmt"

	nd "gomx/ndarray"
	"gomx/op"
)

// Option changes how a sequence is read.
type Option func(*sequence)

// TimeFirst says that sequences have shape (steps, n, …); otherwise they have (n, steps, …).
func TimeFirst() Option { return func(q *sequence) { q.axis = 0 } }

// Begin gives the states with which the sequence begins; zeros without it.
func Begin(states ...*nd.Array) Option { return func(q *sequence) { q.states = states } }

// ValidLength gives the number of steps of each sequence, of shape (n). Outputs behind it are zero,
// and the last states belong to the last valid step.
func ValidLength(n *nd.Array) Option { return func(q *sequence) { q.valid = n } }

// sequence is a batch of sequences and the way in which it is read.
type sequence struct {
	x      *nd.Array
	axis   int // of the steps
	states []*nd.Array
	valid  *nd.Array // nil: all have the same length
}

// unroller is a cell that reads sequences as a whole.
type unroller interface {
	unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array)
}

// Unroll reads sequences with a cell. It returns the outputs of all steps, of the layout of x, and
// the last states.
func Unroll(c Cell, x *nd.Array, opts ...Option) (*nd.Array, []*nd.Array) {
	q := &sequence{x: x, axis: 1}
	for _, o := range opts {
		o(q)
	}
	if x.Rank() < 2 {
		panic(misuse("Unroll", "the input has shape %v, want steps and batch", x.Shape()))
	}
	states := q.states
	if states == nil {
		states = BeginState(c, x.Shape()[1-q.axis], x)
	}
	if want := len(c.States(0)); len(states) != want {
		panic(misuse("Unroll", "%d states, want %d", len(states), want))
	}
	q.x, states = oneTape(x, states)
	return q.run(nil, c, states)
}

// run reads the sequence with a cell; see step.
func (q *sequence) run(place *Cell, c Cell, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if u, ok := c.(unroller); ok {
		return u.unroll(q, states)
	}
	return q.bySteps(place, c, states)
}

// bySteps is run by the steps of the cell.
func (q *sequence) bySteps(place *Cell, c Cell, states []*nd.Array) (*nd.Array, []*nd.Array) {
	c = begin(c)
	steps := q.x.Shape()[q.axis]
	outs := make([]*nd.Array, steps)
	history := make([][]*nd.Array, len(states))
	for t, x := range q.steps() {
		outs[t], states = step(place, c, x, states)
		for i, s := range states {
			history[i] = append(history[i], s)
		}
	}
	if q.valid != nil {
		states = make([]*nd.Array, len(history))
		for i, list := range history {
			states[i] = nd.SequenceLast(nd.Stack(list, nd.StackParams{}),
				nd.SequenceParams{UseSequenceLength: true}, nd.With("sequence_length", q.valid))
		}
	}
	return q.mask(nd.Stack(outs, nd.StackParams{Axis: q.axis})), states
}

// steps cuts the sequence into its steps.
func (q *sequence) steps() []*nd.Array {
	return nd.SliceChannel(q.x, nd.SliceChannelParams{NumOutputs: q.x.Shape()[q.axis],
		Axis: nd.Some(q.axis), SqueezeAxis: true})
}

// mask sets the steps behind the end of each sequence to zero.
func (q *sequence) mask(x *nd.Array) *nd.Array {
	if q.valid == nil {
		return x
	}
	return nd.SequenceMask(x, nd.SequenceMaskParams{UseSequenceLength: true, Axis: q.axis},
		nd.With("sequence_length", q.valid))
}

// reverse reverses the order of the steps of each sequence, up to its end.
func (q *sequence) reverse(x *nd.Array) *nd.Array {
	if q.valid == nil {
		return x.Flip(q.axis)
	}
	if q.axis == 1 {
		x = x.SwapAxes(0, 1)
	}
	x = nd.SequenceReverse(x, nd.SequenceParams{UseSequenceLength: true},
		nd.With("sequence_length", q.valid))
	if q.axis == 1 {
		x = x.SwapAxes(0, 1)
	}
	return x
}

func misuse(what, format string, args ...any) *op.Error {
	return &op.Error{Op: "rnn." + what, Msg: fmt.Sprintf(format, args...), Site: op.CallSite()}
}
