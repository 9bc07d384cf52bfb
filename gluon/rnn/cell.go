package rnn

import nd "gomx/ndarray"

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
