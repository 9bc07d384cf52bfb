package rnn

import (
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Gates are the parameters of a cell: weights and biases from the input to the hidden units (i2h)
// and from the last output to them (h2h). Gates lie one after the other along the first axis. H2R
// projects the output of an LSTM, and is nil without a projection.
type Gates struct {
	I2HWeight *gluon.Param `gluon:"i2h_weight"`
	H2HWeight *gluon.Param `gluon:"h2h_weight"`
	I2HBias   *gluon.Param `gluon:"i2h_bias"`
	H2HBias   *gluon.Param `gluon:"h2h_bias"`
	H2RWeight *gluon.Param `gluon:"h2r_weight"`
}

// Declare does nothing: the block that holds the gates declares them.
func (*Gates) Declare() {}

// Inits are initializers of the parameters of a cell; a nil one of a weight is the network's, of a
// bias zeros.
type Inits struct{ I2HWeight, H2HWeight, I2HBias, H2HBias, H2RWeight initializer.Initializer }

// declare declares the parameters of n gates of hidden units each; out is the size of the output.
func (g *Gates) declare(n, hidden, in, out int, init Inits) {
	g.I2HWeight = gluon.Need(g.I2HWeight, gluon.Spec{Shape: nd.Shape{n * hidden, in},
		Init: init.I2HWeight})
	g.H2HWeight = gluon.Need(g.H2HWeight, gluon.Spec{Shape: nd.Shape{n * hidden, out},
		Init: init.H2HWeight})
	g.I2HBias = gluon.Need(g.I2HBias, gluon.BiasSpec(n*hidden, init.I2HBias))
	g.H2HBias = gluon.Need(g.H2HBias, gluon.BiasSpec(n*hidden, init.H2HBias))
	if out != hidden {
		g.H2RWeight = gluon.Need(g.H2RWeight, gluon.Spec{Shape: nd.Shape{out, hidden},
			Init: init.H2RWeight})
	}
}

// both returns the contributions of the input and of the last output to n gates.
func (g *Gates) both(x, h *nd.Array, n int) (i2h, h2h *nd.Array) {
	p := nd.FullyConnectedParams{NumHidden: n}
	w := g.I2HWeight.At(x, n, x.Shape().Size()/max(1, x.Shape()[0]))
	return nd.FullyConnected(x, w, g.I2HBias.At(x), p),
		nd.FullyConnected(h, g.H2HWeight.At(x), g.H2HBias.At(x), p)
}

// RNNCell is the simple recurrent cell: activation(W·x + b + R·h + c).
//
// MXNet: gluon.rnn.RNNCell.
type RNNCell struct {
	gluon.Hooks
	Hidden     int
	InSize     int    // 0: found by the first call
	Activation string // "tanh" by default
	Init       Inits  `gluon:"-"`
	Gates
}

// Declare declares the parameters.
func (c *RNNCell) Declare() { c.declare(1, c.Hidden, c.InSize, c.Hidden, c.Init) }

// States returns the shape of the output.
func (c *RNNCell) States(n int) []nd.Shape { return []nd.Shape{{n, c.Hidden}} }

// Step computes the output, which is the new state.
func (c *RNNCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0])
	x, states = oneTape(x, states)
	i, h := c.both(x, states[0], c.Hidden)
	y := function(i.Add(h), or(c.Activation, "tanh"))
	return call.Leave(y, y), []*nd.Array{y}
}

// LSTMCell is the long short-term memory of Hochreiter and Schmidhuber. Its gates are input,
// forget, candidate and output; its states the output and the memory. With Projection the output is
// projected to fewer numbers.
//
// MXNet: gluon.rnn.LSTMCell, gluon.contrib.rnn.LSTMPCell.
type LSTMCell struct {
	gluon.Hooks
	Hidden              int
	InSize              int    // 0: found by the first call
	Projection          int    // 0: none
	Activation          string // "tanh" by default
	RecurrentActivation string // of the gates; "sigmoid" by default
	Init                Inits  `gluon:"-"`
	Gates
}

// size is the size of the output.
func (c *LSTMCell) size() int {
	if c.Projection > 0 {
		return c.Projection
	}
	return c.Hidden
}

// Declare declares the parameters.
func (c *LSTMCell) Declare() { c.declare(4, c.Hidden, c.InSize, c.size(), c.Init) }

// States returns the shapes of the output and the memory.
func (c *LSTMCell) States(n int) []nd.Shape { return []nd.Shape{{n, c.size()}, {n, c.Hidden}} }

// Step computes the output and the new states.
func (c *LSTMCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0], states[1])
	x, states = oneTape(x, states)
	i, h := c.both(x, states[0], 4*c.Hidden)
	y, memory := lstm(i.Add(h), states[1], 1, or(c.Activation, "tanh"),
		or(c.RecurrentActivation, "sigmoid"))
	if c.H2RWeight != nil {
		y = nd.FullyConnected(y, c.H2RWeight.At(x), nil,
			nd.FullyConnectedParams{NumHidden: c.size(), NoBias: true})
	}
	return call.Leave(y, y, memory), []*nd.Array{y, memory}
}

// lstm computes output and memory from the sums of the gates, which lie along axis.
func lstm(sums, memory *nd.Array, axis int, activation, recurrent string) (y, next *nd.Array) {
	g := sums.Split(4, axis)
	next = function(g[1], recurrent).Mul(memory).Add(
		function(g[0], recurrent).Mul(function(g[2], activation)))
	return function(g[3], recurrent).Mul(function(next, activation)), next
}

// GRUCell is the gated recurrent unit of Cho et al., in the form that cuDNN computes. Its gates are
// reset, update and candidate.
//
// MXNet: gluon.rnn.GRUCell.
type GRUCell struct {
	gluon.Hooks
	Hidden              int
	InSize              int    // 0: found by the first call
	Activation          string // "tanh" by default
	RecurrentActivation string // of the gates; "sigmoid" by default
	Init                Inits  `gluon:"-"`
	Gates
}

// Declare declares the parameters.
func (c *GRUCell) Declare() { c.declare(3, c.Hidden, c.InSize, c.Hidden, c.Init) }

// States returns the shape of the output.
func (c *GRUCell) States(n int) []nd.Shape { return []nd.Shape{{n, c.Hidden}} }

// Step computes the output, which is the new state.
func (c *GRUCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0])
	x, states = oneTape(x, states)
	i, h := c.both(x, states[0], 3*c.Hidden)
	y := gru(i, h, states[0], 1, or(c.Activation, "tanh"), or(c.RecurrentActivation, "sigmoid"))
	return call.Leave(y, y), []*nd.Array{y}
}

// gru computes the output from the contributions of input and last output to the gates, which lie
// along axis.
func gru(i2h, h2h, last *nd.Array, axis int, activation, recurrent string) *nd.Array {
	i, h := i2h.Split(3, axis), h2h.Split(3, axis)
	reset := function(i[0].Add(h[0]), recurrent)
	update := function(i[1].Add(h[1]), recurrent)
	candidate := function(i[2].Add(reset.Mul(h[2])), activation)
	return update.RSubScalar(1).Mul(candidate).Add(update.Mul(last))
}
