package rnn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// Cell is one step of a recurrent network.
type Cell interface {
	// Step computes the output and the new states from the input of one step, of shape (n, …), and
	// the states.
	Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array)
	// States returns the shapes of the states for a batch of n sequences.
	States(n int) []nd.Shape
}

// starter is a cell that keeps something from step to step beside its states: start returns a cell
// for one sequence that has the same parameters.
type starter interface{ start() Cell }

// begin returns a cell for one sequence.
func begin(c Cell) Cell {
	if s, ok := c.(starter); ok {
		return s.start()
	}
	return c
}

// step calls a cell for the container that holds it in place, nil if there is no container. c is the
// cell itself, or the cell that it has started.
func step(place *Cell, c Cell, x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	var call *gluon.Call
	if place != nil {
		call = gluon.EnterPart(place, x)
	}
	y, next := c.Step(x, states)
	return call.Leave(y, next...), next
}

// enter begins a call of a cell, which embeds h, with its input and its states.
func enter(h *gluon.Hooks, c Cell, x *nd.Array, states []*nd.Array) *gluon.Call {
	return h.Enter(c, append([]*nd.Array{x}, states...)...)
}

// oneTape puts the input and the states on one tape, if one of them is on a tape.
func oneTape(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	all := gluon.OneTape(append([]*nd.Array{x}, states...))
	return all[0], all[1:]
}

// Hooked gives hooks to a cell that has none: a Stack, or a cell of another package. Its parts and
// states are the parts and states of the cell. It is gluon.Hooked for cells.
//
//	stack := &rnn.Hooked{Cell: rnn.Stack{&rnn.LSTMCell{Hidden: 20}, &rnn.Dropout{Rate: 0.5}}}
//	stack.OnForward(func(c *gluon.Call) { log.Print(c.Out[0].Shape()) })
type Hooked struct {
	gluon.Hooks
	Cell Cell

	of *Hooked // nil: itself
}

// Declare does nothing: the cell declares its parameters.
func (h *Hooked) Declare() {}

// Held returns the cell.
func (h *Hooked) Held() any { return h.Cell }

// States returns the shapes of the cell's states.
func (h *Hooked) States(n int) []nd.Shape { return h.Cell.States(n) }

func (h *Hooked) start() Cell { return &Hooked{Cell: begin(h.Cell), of: h} }

// Step calls the cell.
func (h *Hooked) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	of := original(h, h.of)
	call := enter(&of.Hooks, of, x, states)
	y, next := h.Cell.Step(x, states)
	return call.Leave(y, next...), next
}

// unroll reads a sequence with the cell: in one call if the cell does, else by its steps.
func (h *Hooked) unroll(q *sequence, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if _, whole := h.Cell.(unroller); !whole {
		return q.bySteps(nil, h, states)
	}
	call := enter(&h.Hooks, h, q.x, states)
	y, next := q.run(nil, h.Cell, states)
	return call.Leave(y, next...), next
}

// original returns the cell of which c is the start of one sequence: of, or c itself if of is nil.
func original[C any](c, of *C) *C {
	if of != nil {
		return of
	}
	return c
}

// BeginState returns the states with which a sequence begins: zeros, where x is.
func BeginState(c Cell, n int, x *nd.Array) []*nd.Array {
	return zeros(c.States(n), x)
}

// zeros returns arrays of zeros on the device and engine of x, with its element type.
func zeros(shapes []nd.Shape, x *nd.Array) []*nd.Array {
	list := make([]*nd.Array, len(shapes))
	for i, s := range shapes {
		list[i] = nd.Zeros(s, nd.On(x.Device()), nd.Using(x.Engine()), nd.As(x.DType()))
	}
	return list
}

// function applies an activation by its name.
func function(x *nd.Array, name string) *nd.Array {
	switch name {
	case "tanh":
		return x.Tanh()
	case "relu":
		return x.Relu()
	case "sigmoid":
		return x.Sigmoid()
	}
	return nd.Activation(x, nd.ActivationParams{ActType: name})
}

// or returns name, or another one if it is empty.
func or(name, other string) string {
	if name == "" {
		return other
	}
	return name
}
