package rnn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// Kinds of recurrent layers.
const (
	LSTM = "lstm"
	GRU  = "gru"
	Tanh = "rnn_tanh" // the simple cell with tanh
	ReLU = "rnn_relu" // the simple cell with relu
)

// Layer is one or several recurrent layers, computed by one operator.
//
// MXNet: gluon.rnn.LSTM, GRU and RNN.
type Layer struct {
	gluon.Hooks
	Mode          string  // LSTM, GRU, Tanh or ReLU; LSTM by default
	Hidden        int     // hidden units of each direction
	Layers        int     // 0 is 1
	Bidirectional bool    // read sequences in both directions; outputs are joined
	BatchFirst    bool    // sequences have shape (n, steps, size), otherwise (steps, n, size)
	Dropout       float64 // share of a layer's outputs that the next one does not see, in training
	InSize        int     // 0: found by the first call
	Projection    int     // size of the outputs of an LSTM; 0: Hidden
	Clip          Clip    `gluon:"-"`
	Init          Inits   `gluon:"-"`

	Cells []gluon.Declarer `gluon:"_unfused"` // parameters by layer: *Gates or *Pair
}

// Clip limits the memories of an LSTM after each step. Min and Max are given together. NaN replaces
// values that are no numbers by a limit; it has no effect without limits. The operator RNN does not
// clip, neither does MXNet's on processors; symbols that Export writes have the limits.
//
// MXNet: state_clip_min, state_clip_max and state_clip_nan of gluon.rnn.LSTM.
type Clip struct {
	Min, Max nd.Opt[float64]
	NaN      bool
}

// Pair holds the parameters of both directions of a layer.
type Pair struct {
	Left  *Gates `gluon:"l_cell"`
	Right *Gates `gluon:"r_cell"`
}

// Declare does nothing: the layer declares the parameters.
func (*Pair) Declare() {}

// mode is the kind of cell.
func (l *Layer) mode() string { return or(l.Mode, LSTM) }

// gateCount is the number of gates of the kinds of cells.
var gateCount = map[string]int{LSTM: 4, GRU: 3, Tanh: 1, ReLU: 1}

// size is the size of the output of one direction.
func (l *Layer) size() int {
	if l.Projection > 0 {
		return l.Projection
	}
	return l.Hidden
}

func (l *Layer) directions() int {
	if l.Bidirectional {
		return 2
	}
	return 1
}

// Declare declares the parameters.
func (l *Layer) Declare() {
	n := gateCount[l.mode()]
	if n == 0 {
		panic(misuse("Layer", "mode %q, want %s, %s, %s or %s", l.Mode, LSTM, GRU, Tanh, ReLU))
	}
	for k := len(l.Cells); k < max(1, l.Layers); k++ {
		in := l.InSize
		if k > 0 {
			in = l.size() * l.directions()
		}
		gates := func() *Gates {
			g := new(Gates)
			g.declare(n, l.Hidden, in, l.size(), l.Init)
			return g
		}
		if l.Bidirectional {
			l.Cells = append(l.Cells, &Pair{gates(), gates()})
		} else {
			l.Cells = append(l.Cells, gates())
		}
	}
}

// all returns the gates of all layers and directions.
func (l *Layer) all() (list []*Gates) {
	for _, c := range l.Cells {
		switch c := c.(type) {
		case *Gates:
			list = append(list, c)
		case *Pair:
			list = append(list, c.Left, c.Right)
		}
	}
	return list
}

// States returns the shapes of the states for n sequences.
func (l *Layer) States(n int) []nd.Shape {
	k := max(1, l.Layers) * l.directions()
	list := []nd.Shape{{k, n, l.size()}}
	if l.mode() == LSTM {
		list = append(list, nd.Shape{k, n, l.Hidden})
	}
	return list
}

// Forward returns the outputs of all steps for sequences that begin with states of zero.
func (l *Layer) Forward(x *nd.Array) *nd.Array {
	y, _ := l.Run(x)
	return y
}

// Run returns the outputs of all steps and the last states. Begin gives the first states,
// ValidLength the lengths of the sequences; TimeFirst has no effect, as BatchFirst decides.
func (l *Layer) Run(x *nd.Array, opts ...Option) (*nd.Array, []*nd.Array) {
	l.Declare()
	call, q := l.Enter(l, x), &sequence{}
	for _, o := range opts {
		o(q)
	}
	if x.Rank() != 3 {
		panic(misuse("Layer", "the input has shape %v, want three axes", x.Shape()))
	}
	if l.BatchFirst {
		x = x.SwapAxes(0, 1)
	}
	states := q.states
	if states == nil {
		states = zeros(l.States(x.Shape()[1]), x)
	}
	if want := len(l.States(0)); len(states) != want {
		panic(misuse("Layer", "%d states, want %d", len(states), want))
	}
	x, states = oneTape(x, states)
	out := l.compute(x, states, q.valid)
	if l.BatchFirst {
		out[0] = out[0].SwapAxes(0, 1)
	}
	return call.Leave(out[0], out[1:]...), out[1:]
}

// compute calls the operator.
func (l *Layer) compute(x *nd.Array, states []*nd.Array, valid *nd.Array) []*nd.Array {
	p := nd.RNNParams{StateSize: l.Hidden, NumLayers: max(1, l.Layers),
		Bidirectional: l.Bidirectional, Mode: l.mode(), P: l.Dropout, StateOutputs: true,
		UseSequenceLength: valid != nil, StateClipMin: l.Clip.Min, StateClipMax: l.Clip.Max,
		StateClipNaN: l.Clip.NaN}
	if l.Projection > 0 {
		p.ProjectionSize = nd.Some(l.Projection)
	}
	var with []nd.Input
	if len(states) > 1 {
		with = append(with, nd.With("state_cell", states[1]))
	}
	if valid != nil {
		with = append(with, nd.With("sequence_length", valid))
	}
	return nd.RNN(x, l.parameters(x), states[0], p, with...)
}

// parameters joins all parameters into the vector of the operator: the weights of all layers, then
// the biases.
func (l *Layer) parameters(x *nd.Array) *nd.Array {
	in := x.Shape()[2]
	var list []*nd.Array
	add := func(p *gluon.Param, extents ...int) {
		list = append(list, p.At(x, extents...).Reshape(-1))
	}
	for _, g := range l.all() {
		add(g.I2HWeight, 0, in)
		add(g.H2HWeight)
		if g.H2RWeight != nil {
			add(g.H2RWeight)
		}
	}
	for _, g := range l.all() {
		add(g.I2HBias)
		add(g.H2HBias)
	}
	return nd.RNNParamConcat(list, nd.ConcatParams{Dim: nd.Some(0)})
}
