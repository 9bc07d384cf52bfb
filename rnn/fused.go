package rnn

import (
	"encoding/json"
	"fmt"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// Kinds of Fused.
const (
	LSTM = "lstm"
	GRU  = "gru"
	Tanh = "rnn_tanh" // the simple cell with tanh
	ReLU = "rnn_relu" // the simple cell with relu
)

// Fused computes all layers, directions and steps by the operator RNN. Its parameters are one
// vector. It has no step: use Unroll, or Unfuse it.
//
// MXNet: rnn.FusedRNNCell.
type Fused struct {
	Mode          string          // LSTM, GRU, Tanh or ReLU; LSTM by default
	Hidden        int             // hidden units of each direction
	Layers        int             // 0 is 1
	Bidirectional bool            // read sequences in both directions; outputs are joined
	Dropout       float64         // share of a layer's outputs that the next one does not see
	KeepStates    bool            // Unroll returns the last states
	ForgetBias    nd.Opt[float64] // first value of the forget gates' biases; 1 by default
	Prefix        string          // of the names; Mode and an underscore by default
	Params        *Params         // variable of the parameters; nil: the cell has its own
	basis
}

func (f *Fused) mode() string    { return or(f.Mode, LSTM) }
func (f *Fused) prefix() string  { return or(f.Prefix, f.mode()+"_") }
func (f *Fused) params() *Params { return f.choose(f.Params, f.prefix()) }

func (f *Fused) layers() int { return max(1, f.Layers) }

// directions are the letters of the directions in names.
func (f *Fused) directions() []string {
	if f.Bidirectional {
		return []string{"l", "r"}
	}
	return []string{"l"}
}

// Begin returns states of zeros for all layers and directions: the outputs and for LSTM the
// memories.
func (f *Fused) Begin() []*sym.Symbol {
	return f.begin(f.prefix(), "LNC", f.States(), f.layers()*len(f.directions()), 0, f.Hidden)
}

// States returns 2 for LSTM and 1 for other modes.
func (f *Fused) States() int {
	if f.mode() == LSTM {
		return 2
	}
	return 1
}

// Step panics.
func (f *Fused) Step(*sym.Symbol, []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	panic(misuse("Fused", "it computes all steps at once and has no step: use Unroll"))
}

// parameters returns the variable of all parameters. Its initializer applies the model's
// initializer to each gate.
func (f *Fused) parameters() *sym.Symbol {
	mode, _ := json.Marshal(f.mode())
	return f.params().Get("parameters", sym.Init(fmt.Sprintf(
		`["fusedrnn", {"init": null, "num_hidden": %d, "num_layers": %d, "mode": %s, `+
			`"bidirectional": %v, "forget_bias": %s}]`, f.Hidden, f.layers(), mode,
		f.Bidirectional, number(f.ForgetBias.Or(1)))))
}

func (f *Fused) unroll(q *sequence, states []*sym.Symbol, _ bool) (*sequence, []*sym.Symbol) {
	x := q.joined()
	swap := sym.SwapAxisParams{Dim1: 0, Dim2: 1}
	if q.axis == 1 {
		x = sym.SwapAxis(x, swap)
	}
	opts := []sym.Option{sym.Name(f.prefix() + "rnn"), sym.With("parameters", f.parameters()),
		sym.With("state", states[0])}
	if f.mode() == LSTM {
		opts = append(opts, sym.With("state_cell", states[1]))
	}
	y := sym.RNN(x, sym.RNNParams{StateSize: f.Hidden, NumLayers: f.layers(), Mode: f.mode(),
		Bidirectional: f.Bidirectional, P: f.Dropout, StateOutputs: f.KeepStates}, opts...)
	var last []*sym.Symbol
	if f.KeepStates {
		for i := range states {
			last = append(last, y.At(1+i))
		}
		y = y.At(0)
	}
	if q.axis == 1 {
		y = sym.SwapAxis(y, swap)
	}
	return q.with(y), last
}

// Unfuse returns the cells of all layers and directions, with Params of their own. They have the
// parameters of f, once these are divided; see Unpack.
func (f *Fused) Unfuse() Stack {
	one := func(direction string, layer int) Cell {
		prefix := fmt.Sprintf("%s%s%d_", f.prefix(), direction, layer)
		switch f.mode() {
		case LSTM:
			return &LSTMCell{Hidden: f.Hidden, Prefix: prefix, ForgetBias: f.ForgetBias}
		case GRU:
			return &GRUCell{Hidden: f.Hidden, Prefix: prefix}
		case Tanh:
			return &RNNCell{Hidden: f.Hidden, Prefix: prefix}
		case ReLU:
			return &RNNCell{Hidden: f.Hidden, Prefix: prefix, Activation: "relu"}
		}
		panic(misuse("Fused", "mode %q, want %s, %s, %s or %s", f.Mode, LSTM, GRU, Tanh, ReLU))
	}
	var s Stack
	for i := range f.layers() {
		if f.Bidirectional {
			s = append(s, &Bidirectional{Left: one("l", i), Right: one("r", i),
				Prefix: fmt.Sprintf("%sbi_l%d_", f.prefix(), i)})
		} else {
			s = append(s, one("l", i))
		}
		if f.Dropout > 0 && i < f.layers()-1 {
			s = append(s, Dropout{Rate: f.Dropout})
		}
	}
	return s
}
