package rnn

import (
	"fmt"

	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// Cell is a recurrent cell that composes symbols.
type Cell interface {
	// Step composes one step from its input, of shape (n, size), and the states: it returns the
	// output and the new states.
	Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol)
	// Begin returns the states with which a sequence begins: zeros.
	Begin() []*sym.Symbol
	// States returns the number of states.
	States() int
}

// resetter is a cell that numbers its steps: reset begins with 0 again.
type resetter interface{ reset() }

// restart prepares a cell for a new sequence.
func restart(c Cell) {
	if r, ok := c.(resetter); ok {
		r.reset()
	}
}

// variables are the variables that a cell has made, by their names without the cell's prefix.
type variables map[string]*sym.Symbol

// variable returns the variable of a parameter.
func (v *variables) variable(prefix, name string, opts ...sym.Option) *sym.Symbol {
	if *v == nil {
		*v = variables{}
	}
	if (*v)[name] == nil {
		(*v)[name] = sym.Var(prefix+name, opts...)
	}
	return (*v)[name]
}

// basis is the part that all single cells have.
type basis struct {
	vars   variables
	steps  int // steps composed since the last reset
	begins int // first states made since the last reset
}

func (b *basis) reset() { b.steps, b.begins = 0, 0 }

// next returns the beginning of the names of the next step: lstm_t0_.
func (b *basis) next(prefix string) string {
	b.steps++
	return fmt.Sprintf("%st%d_", prefix, b.steps-1)
}

// begin makes count first states of a shape in which 0 stands for the batch.
func (b *basis) begin(prefix, layout string, count int, shape ...int) (list []*sym.Symbol) {
	for range count {
		list = append(list, sym.Zeros(sym.InitParams{Shape: shape}, sym.Attr("__layout__", layout),
			sym.Name(fmt.Sprintf("%sbegin_state_%d", prefix, b.begins))))
		b.begins++
	}
	return list
}

// both composes the contributions of the input and of the last output to n gates of hidden units.
func (b *basis) both(x, h *sym.Symbol, prefix, name string, size int, bias ...sym.Option) (i2h,
	h2h *sym.Symbol) {
	of := func(part string, in *sym.Symbol, bias ...sym.Option) *sym.Symbol {
		weight := b.vars.variable(prefix, part+"_weight")
		return sym.FullyConnected(in, sym.FullyConnectedParams{NumHidden: size},
			sym.Name(name+part), sym.With("weight", weight),
			sym.With("bias", b.vars.variable(prefix, part+"_bias", bias...)))
	}
	return of("i2h", x, bias...), of("h2h", h)
}

// activate composes an activation.
func activate(x *sym.Symbol, kind string, opts ...sym.Option) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: kind}, opts...)
}

// or returns s, or another text if s is empty.
func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// misuse is the error of a wrong use.
func misuse(what, format string, args ...any) *op.Error {
	return &op.Error{Op: "rnn." + what, Msg: fmt.Sprintf(format, args...), Site: op.CallSite()}
}

// RNNCell is the simple recurrent cell: activation(W·x + b + R·h + c).
//
// MXNet: rnn.RNNCell.
type RNNCell struct {
	Hidden     int    // size of the output
	Activation string // "tanh" by default
	Prefix     string // of the names; "rnn_" by default
	basis
}

// States returns 1.
func (c *RNNCell) States() int { return 1 }

func (c *RNNCell) prefix() string { return or(c.Prefix, "rnn_") }

// Begin returns a state of zeros.
func (c *RNNCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 1, 0, c.Hidden) }

// Step composes the output, which is the new state.
func (c *RNNCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.prefix(), name, c.Hidden)
	y := activate(sym.ElemwiseAdd(i2h, h2h), or(c.Activation, "tanh"), sym.Name(name+"out"))
	return y, []*sym.Symbol{y}
}

// LSTMCell is the long short-term memory of Hochreiter and Schmidhuber.
//
// MXNet: rnn.LSTMCell.
type LSTMCell struct {
	Hidden     int             // size of the output
	ForgetBias nd.Opt[float64] // first value of the forget gate's bias; 1 by default
	Prefix     string          // of the names; "lstm_" by default
	basis
}

// States returns 2.
func (c *LSTMCell) States() int { return 2 }

func (c *LSTMCell) prefix() string { return or(c.Prefix, "lstm_") }

// Begin returns two states of zeros: the output and the memory.
func (c *LSTMCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 2, 0, c.Hidden) }

// Step composes the output and the new states.
func (c *LSTMCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.prefix(), name, 4*c.Hidden, sym.Init(fmt.Sprintf(
		`["lstmbias", {"forget_bias": %s}]`, number(c.ForgetBias.Or(1)))))
	gates := sym.SliceChannel(sym.ElemwiseAdd(i2h, h2h), sym.SliceChannelParams{NumOutputs: 4},
		sym.Name(name+"slice"))
	gate := func(i int, letter, kind string) *sym.Symbol {
		return activate(gates.At(i), kind, sym.Name(name+letter))
	}
	in, forget := gate(0, "i", "sigmoid"), gate(1, "f", "sigmoid")
	change, out := gate(2, "c", "tanh"), gate(3, "o", "sigmoid")
	memory := sym.ElemwiseAdd(sym.ElemwiseMul(forget, states[1]), sym.ElemwiseMul(in, change),
		sym.Name(name+"state"))
	y := sym.ElemwiseMul(out, activate(memory, "tanh"), sym.Name(name+"out"))
	return y, []*sym.Symbol{y, memory}
}

// number writes a number as Python does: with a decimal point.
func number(v float64) string {
	if v == float64(int(v)) {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}

// GRUCell is the gated recurrent unit of Cho et al., in the form that cuDNN computes.
//
// MXNet: rnn.GRUCell.
type GRUCell struct {
	Hidden int    // size of the output
	Prefix string // of the names; "gru_" by default
	basis
}

// States returns 1.
func (c *GRUCell) States() int { return 1 }

func (c *GRUCell) prefix() string { return or(c.Prefix, "gru_") }

// Begin returns a state of zeros.
func (c *GRUCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 1, 0, c.Hidden) }

// Step composes the output, which is the new state.
func (c *GRUCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.prefix(), name+"_", 3*c.Hidden)
	three := sym.SliceChannelParams{NumOutputs: 3}
	i := sym.SliceChannel(i2h, three, sym.Name(name+"_i2h_slice"))
	h := sym.SliceChannel(h2h, three, sym.Name(name+"_h2h_slice"))
	reset := activate(sym.ElemwiseAdd(i.At(0), h.At(0)), "sigmoid", sym.Name(name+"_r_act"))
	update := activate(sym.ElemwiseAdd(i.At(1), h.At(1)), "sigmoid", sym.Name(name+"_z_act"))
	candidate := activate(sym.ElemwiseAdd(i.At(2), sym.ElemwiseMul(reset, h.At(2))), "tanh",
		sym.Name(name+"_h_act"))
	keep := sym.RMinusScalar(update, sym.ScalarParams{Scalar: 1})
	y := sym.ElemwiseAdd(sym.ElemwiseMul(keep, candidate), sym.ElemwiseMul(update, states[0]),
		sym.Name(name+"out"))
	return y, []*sym.Symbol{y}
}
