package rnn

import (
	"gomx/dtype"
	"gomx/op"
)

// RNNParams configures RNN.
type RNNParams struct {
	StateSize         int             `op:"state_size,required" min:"1" doc:"size of the state of one layer and direction"`
	NumLayers         int             `op:"num_layers,required" min:"1" max:"16384" doc:"number of stacked layers"`
	Bidirectional     bool            `op:"bidirectional" doc:"read every sequence in both directions"`
	Mode              string          `op:"mode,required" enum:"rnn_relu|rnn_tanh|lstm|gru" doc:"kind of cell"`
	P                 float64         `op:"p" min:"0" doc:"dropout probability, below 1, of the outputs of a layer before the next; in training only"`
	StateOutputs      bool            `op:"state_outputs" doc:"also return the last states"`
	ProjectionSize    op.Opt[int]     `op:"projection_size" min:"1" doc:"size to which an LSTM projects its outputs"`
	StateClipMin      op.Opt[float64] `op:"lstm_state_clip_min" doc:"accepted for compatibility, without effect as in MXNet's kernels for CPUs"`
	StateClipMax      op.Opt[float64] `op:"lstm_state_clip_max" doc:"accepted for compatibility, without effect as in MXNet's kernels for CPUs"`
	StateClipNaN      bool            `op:"lstm_state_clip_nan" doc:"accepted for compatibility, without effect as in MXNet's kernels for CPUs"`
	UseSequenceLength bool            `op:"use_sequence_length" doc:"each sequence has its own length, given by the input sequence_length"`
}

// net holds the sizes of a network: its parameters, and the extents of data, -1 for unknown ones.
type net struct {
	cell         *cell
	layers, dirs int
	hidden       int // size of the state of a cell
	out          int // size of its output: hidden unless projected
	projected    bool
	drops        bool // outputs may be dropped between layers
	lengths      bool // sequences have different lengths

	steps, batch, input int
}

func newNet(p RNNParams) (net, error) {
	n := net{cell: cells[p.Mode], layers: p.NumLayers, dirs: 1, hidden: p.StateSize,
		out:   p.StateSize,
		drops: p.P > 0 && p.NumLayers > 1, lengths: p.UseSequenceLength, steps: -1, batch: -1,
		input: -1}
	if p.Bidirectional {
		n.dirs = 2
	}
	if size, ok := p.ProjectionSize.Get(); ok {
		if !n.cell.memory {
			return n, op.Errorf("projection_size", "%d for mode %s, want it with lstm only", size,
				p.Mode)
		}
		n.out, n.projected = size, true
	}
	if p.P >= 1 {
		return n, op.Errorf("p", "%v, want less than 1", p.P)
	}
	if p.StateClipMin.IsSet() != p.StateClipMax.IsSet() {
		return n, op.Errorf("lstm_state_clip_min",
			"lstm_state_clip_min and lstm_state_clip_max want to be given together")
	}
	return n, nil
}

// bound returns the sizes for data of a known shape.
func bound(p RNNParams, data dtype.Shape) (net, error) {
	n, err := newNet(p)
	n.steps, n.batch, n.input = data[0], data[1], data[2]
	return n, err
}

// inputSize returns the number of inputs of a layer per step.
func (n *net) inputSize(layer int) int {
	if layer == 0 {
		return n.input
	}
	return n.dirs * n.out
}

// rows returns the number of rows of weight matrices: the rows of all gates.
func (n *net) rows() int { return n.cell.gates * n.hidden }

// weightSize is the size of the weights of one direction of a layer, biases not counted.
func (n *net) weightSize(layer int) int {
	size := n.rows() * (n.inputSize(layer) + n.out)
	if n.projected {
		size += n.out * n.hidden
	}
	return size
}

// paramSize returns the size of the vector of all parameters.
func (n *net) paramSize() int {
	size := 0
	for l := range n.layers {
		size += n.dirs * (n.weightSize(l) + 2*n.rows())
	}
	return size
}

// inputOf returns the input size that belongs to a vector of paramSize parameters; ok is false if
// there is none.
func (n *net) inputOf(paramSize int) (input int, ok bool) {
	m := *n
	m.input = 0
	rest, unit := paramSize-m.paramSize(), n.dirs*n.rows()
	return rest / unit, rest > 0 && rest%unit == 0
}

// weights are the parameters of one direction of one layer.
type weights[F any] struct {
	x, h []F // weights of the input, (rows, input), and of the state, (rows, out)
	proj []F // (out, hidden), nil unless projected
	bx   []F
	bh   []F
}

// places holds the offsets of the weights and of the biases of one direction of one layer.
type places struct{ weights, biases int }

// placesOf returns the offsets: first are all weights, layer by layer and direction by direction,
// then all biases in the same order.
func (n *net) placesOf(layer, dir int) (p places) {
	for l := range n.layers {
		if l < layer {
			p.weights += n.dirs * n.weightSize(l)
		}
		p.biases += n.dirs * n.weightSize(l)
	}
	p.weights += dir * n.weightSize(layer)
	p.biases += (layer*n.dirs + dir) * 2 * n.rows()
	return p
}

// weightsOf returns the parameters of one direction of one layer as parts of flat.
func weightsOf[F any](n *net, flat []F, layer, dir int) weights[F] {
	p := n.placesOf(layer, dir)
	at, biases := p.weights, p.biases
	cut := func(from *int, size int) []F {
		s := flat[*from : *from+size : *from+size]
		*from += size
		return s
	}
	w := weights[F]{x: cut(&at, n.rows()*n.inputSize(layer)), h: cut(&at, n.rows()*n.out)}
	if n.projected {
		w.proj = cut(&at, n.out*n.hidden)
	}
	w.bx, w.bh = cut(&biases, n.rows()), cut(&biases, n.rows())
	return w
}

// reserveSize returns the number of elements of the reserve of one direction of one layer.
func (n *net) reserveSize() int {
	perCell := (n.cell.kept+n.cell.extra)*n.hidden + n.out
	if n.drops {
		perCell += n.out
	}
	return n.steps * n.batch * perCell
}

// reserve is the data of one direction of one layer that the forward pass keeps for the gradient.
// Each part has a row per step and sequence.
type reserve[F any] struct {
	gates []F // activated gates; empty if the gradient reads the output only
	extra []F // LSTM: memory; GRU: factor of the reset gate
	h     []F // outputs
	mask  []F // dropout mask of the outputs for the next layer, 0 or 1/(1-p); empty without dropout
}

// reserveOf returns the reserve of one direction of one layer as parts of flat.
func reserveOf[F any](n *net, flat []F, layer, dir int) reserve[F] {
	at, cells := (layer*n.dirs+dir)*n.reserveSize(), n.steps*n.batch
	cut := func(size int) []F {
		s := flat[at : at+size : at+size]
		at += size
		return s
	}
	r := reserve[F]{gates: cut(cells * n.cell.kept * n.hidden), extra: cut(cells * n.cell.extra *
		n.hidden), h: cut(cells * n.out)}
	if n.drops {
		r.mask = cut(cells * n.out)
	}
	return r
}
