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

// basis is the part that all single cells have.
type basis struct {
	own    *Params // made at the first use; nil: the cell has been given others
	steps  int     // steps composed since the last reset
	begins int     // first states made since the last reset
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
func both(x, h *sym.Symbol, p *Params, name string, size int, bias ...sym.Option) (i2h,
	h2h *sym.Symbol) {
	of := func(part string, in *sym.Symbol, bias ...sym.Option) *sym.Symbol {
		return sym.FullyConnected(in, sym.FullyConnectedParams{NumHidden: size},
			sym.Name(name+part), sym.With("weight", p.Get(part+"_weight")),
			sym.With("bias", p.Get(part+"_bias", bias...)))
	}
	return of("i2h", x, bias...), of("h2h", h)
}

// activate composes an activation.
func activate(x *sym.Symbol, kind string, opts ...sym.Option) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: kind}, opts...)
}

// Activate composes an activation of x; opts name the result.
type Activate func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol

// activationOf returns the activation that the operator Activation has under a name.
func activationOf(kind string) Activate {
	return func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		return activate(x, kind, opts...)
	}
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
	Hidden     int      // size of the output
	Activation string   // "tanh" by default
	Activate   Activate // composes the activation; nil: the operator Activation
	Prefix     string   // of the names; "rnn_" by default
	Params     *Params  // variables of the parameters; nil: the cell has its own
	basis
}

// States returns 1.
func (c *RNNCell) States() int { return 1 }

func (c *RNNCell) params() *Params { return c.choose(c.Params, c.prefix()) }

func (c *RNNCell) prefix() string { return or(c.Prefix, "rnn_") }

// Begin returns a state of zeros.
func (c *RNNCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 1, 0, c.Hidden) }

// Step composes the output, which is the new state.
func (c *RNNCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := both(x, states[0], c.params(), name, c.Hidden)
	activation := c.Activate
	if activation == nil {
		activation = activationOf(or(c.Activation, "tanh"))
	}
	y := activation(sym.ElemwiseAdd(i2h, h2h), sym.Name(name+"out"))
	return y, []*sym.Symbol{y}
}

// LSTMCell is the long short-term memory of Hochreiter and Schmidhuber.
//
// MXNet: rnn.LSTMCell.
type LSTMCell struct {
	Hidden     int             // size of the output
	ForgetBias nd.Opt[float64] // first value of the forget gate's bias; 1 by default
	Prefix     string          // of the names; "lstm_" by default
	Params     *Params         // variables of the parameters; nil: the cell has its own
	basis
}

// States returns 2.
func (c *LSTMCell) States() int { return 2 }

func (c *LSTMCell) params() *Params { return c.choose(c.Params, c.prefix()) }

func (c *LSTMCell) prefix() string { return or(c.Prefix, "lstm_") }

// Begin returns two states of zeros: the output and the memory.
func (c *LSTMCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 2, 0, c.Hidden) }

// Step composes the output and the new states.
func (c *LSTMCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := both(x, states[0], c.params(), name, 4*c.Hidden, sym.Init(fmt.Sprintf(
		`["lstmbias", {"forget_bias": %s}]`, number(c.ForgetBias.Or(1)))))
	return lstm(sym.ElemwiseAdd(i2h, h2h), states[1], name, activationOf("tanh"))
}

// lstm composes the output and the new states from the sums of the gates.
func lstm(sums, last *sym.Symbol, name string, a Activate) (*sym.Symbol, []*sym.Symbol) {
	gates := sym.SliceChannel(sums, sym.SliceChannelParams{NumOutputs: 4}, sym.Name(name+"slice"))
	sigmoid := activationOf("sigmoid")
	in, forget := sigmoid(gates.At(0), sym.Name(name+"i")), sigmoid(gates.At(1), sym.Name(name+"f"))
	change, out := a(gates.At(2), sym.Name(name+"c")), sigmoid(gates.At(3), sym.Name(name+"o"))
	memory := sym.ElemwiseAdd(sym.ElemwiseMul(forget, last), sym.ElemwiseMul(in, change),
		sym.Name(name+"state"))
	y := sym.ElemwiseMul(out, a(memory), sym.Name(name+"out"))
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
	Hidden int     // size of the output
	Prefix string  // of the names; "gru_" by default
	Params *Params // variables of the parameters; nil: the cell has its own
	basis
}

// States returns 1.
func (c *GRUCell) States() int { return 1 }

func (c *GRUCell) params() *Params { return c.choose(c.Params, c.prefix()) }

func (c *GRUCell) prefix() string { return or(c.Prefix, "gru_") }

// Begin returns a state of zeros.
func (c *GRUCell) Begin() []*sym.Symbol { return c.begin(c.prefix(), "NC", 1, 0, c.Hidden) }

// Step composes the output, which is the new state.
func (c *GRUCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	name := c.next(c.prefix())
	i2h, h2h := both(x, states[0], c.params(), name+"_", 3*c.Hidden)
	return gru(i2h, h2h, states[0], name, activationOf("tanh"))
}

// gru composes the output, which is the new state, from the contributions of the input and of the
// last output to the gates.
func gru(i2h, h2h, last *sym.Symbol, name string, a Activate) (*sym.Symbol, []*sym.Symbol) {
	three := sym.SliceChannelParams{NumOutputs: 3}
	i := sym.SliceChannel(i2h, three, sym.Name(name+"_i2h_slice"))
	h := sym.SliceChannel(h2h, three, sym.Name(name+"_h2h_slice"))
	reset := activate(sym.ElemwiseAdd(i.At(0), h.At(0)), "sigmoid", sym.Name(name+"_r_act"))
	update := activate(sym.ElemwiseAdd(i.At(1), h.At(1)), "sigmoid", sym.Name(name+"_z_act"))
	candidate := a(sym.ElemwiseAdd(i.At(2), sym.ElemwiseMul(reset, h.At(2))),
		sym.Name(name+"_h_act"))
	keep := sym.RMinusScalar(update, sym.ScalarParams{Scalar: 1})
	y := sym.ElemwiseAdd(sym.ElemwiseMul(keep, candidate), sym.ElemwiseMul(update, last),
		sym.Name(name+"out"))
	return y, []*sym.Symbol{y}
}
