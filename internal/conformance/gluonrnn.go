package conformance

import (
	"fmt"
	"slices"
	"strings"

	"gomx/device"
	"gomx/dtype"
	"gomx/gluon/rnn"
	nd "gomx/ndarray"
)

// rnnCall is how a recurrent block is called: as a layer, or a cell that is unrolled.
type rnnCall struct {
	Kind           string
	States         int  // inputs behind the data that are begin states
	SequenceLength bool `json:"sequence_length"` // one more input has the lengths

	Length       int       // of the sequence
	Layout       string    // NTC or TNC
	MergeOutputs bool      `json:"merge_outputs"` // the only way in which gomx returns outputs
	ValidLength  []float32 `json:"valid_length"`
}

// network makes the block of a spec, and the function that calls it.
func (c *rnnCall) network(s *blockSpec, dev device.Device) (any, func([]*nd.Array) []*nd.Array,
	error) {
	if c.Kind == "layer" {
		return c.layer(s, dev)
	}
	cell, err := s.cell()
	if err != nil {
		return nil, nil, err
	}
	var opts []rnn.Option
	if c.Layout == "TNC" {
		opts = append(opts, rnn.TimeFirst())
	}
	if c.ValidLength != nil {
		a := NewArray(dtype.Float32, dtype.Shape{len(c.ValidLength)})
		copy(Elements[float32](a), c.ValidLength)
		n, err := a.upload(dev)
		if err != nil {
			return nil, nil, err
		}
		opts = append(opts, rnn.ValidLength(n))
	}
	return cell, func(in []*nd.Array) []*nd.Array {
		with := opts
		if c.States > 0 {
			with = append(slices.Clone(opts), rnn.Begin(in[1:]...))
		}
		y, states := rnn.Unroll(cell, in[0], with...)
		return append([]*nd.Array{y}, states...)
	}, nil
}

// layer makes a layer that is computed by one operator.
func (c *rnnCall) layer(s *blockSpec, dev device.Device) (any, func([]*nd.Array) []*nd.Array,
	error) {
	a := s.arguments()
	l, err := buildRNN(a, s)
	if err != nil {
		return nil, nil, err
	}
	return l, func(in []*nd.Array) []*nd.Array {
		var opts []rnn.Option
		if c.States > 0 {
			opts = append(opts, rnn.Begin(in[1:1+c.States]...))
		}
		// MXNet's kernels for processors do not read the lengths of sequences, ours do.
		if c.SequenceLength && dev.Kind != device.KindCPU {
			opts = append(opts, rnn.ValidLength(in[len(in)-1]))
		}
		y, states := l.Run(in[0], opts...)
		if c.States == 0 {
			return []*nd.Array{y}
		}
		return append([]*nd.Array{y}, states...)
	}, a.left(s.Class)
}

// buildRNN makes a layer of a class of gluon.rnn.
func buildRNN(a *blockArgs, s *blockSpec) (*rnn.Layer, error) {
	l := &rnn.Layer{Hidden: arg(a, "hidden_size", 0), Layers: arg(a, "num_layers", 1),
		Bidirectional: arg(a, "bidirectional", false), Dropout: arg(a, "dropout", 0.0),
		BatchFirst: arg(a, "layout", "TNC") == "NTC", InSize: arg(a, "input_size", 0)}
	arg(a, "use_sequence_length", false) // an input decides here
	switch s.Class {
	case "LSTM":
		l.Mode, l.Projection = rnn.LSTM, arg(a, "projection_size", 0)
	case "GRU":
		l.Mode = rnn.GRU
	case "RNN":
		l.Mode = "rnn_" + arg(a, "activation", "relu")
	default:
		return nil, missing("layer %s", s.Class)
	}
	return l, nil
}

// cell makes the cell of a spec.
func (s *blockSpec) cell() (rnn.Cell, error) {
	var parts []rnn.Cell
	for i := range s.Children {
		c, err := s.Children[i].cell()
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	a := s.arguments()
	c, err := s.makeCell(a, parts)
	if err != nil {
		return nil, err
	}
	return c, a.left(s.Class)
}

func (s *blockSpec) makeCell(a *blockArgs, parts []rnn.Cell) (rnn.Cell, error) {
	if s.Class == "SequentialRNNCell" || s.Class == "HybridSequentialRNNCell" {
		return rnn.Stack(parts), nil
	}
	if want := map[string]int{"BidirectionalCell": 2, "ResidualCell": 1, "ZoneoutCell": 1,
		"VariationalDropoutCell": 1}[s.Class]; len(parts) != want {
		return nil, fmt.Errorf("%s of %d cells, want %d", s.Class, len(parts), want)
	}
	hidden, in := arg(a, "hidden_size", 0), arg(a, "input_size", 0)
	switch s.Class {
	case "RNNCell":
		return &rnn.RNNCell{Hidden: hidden, InSize: in, Activation: arg(a, "activation", "")}, nil
	case "LSTMCell", "LSTMPCell":
		return &rnn.LSTMCell{Hidden: hidden, InSize: in, Activation: arg(a, "activation", ""),
			RecurrentActivation: arg(a, "recurrent_activation", ""),
			Projection:          arg(a, "projection_size", 0)}, nil
	case "GRUCell":
		return &rnn.GRUCell{Hidden: hidden, InSize: in, Activation: arg(a, "activation", ""),
			RecurrentActivation: arg(a, "recurrent_activation", "")}, nil
	case "DropoutCell":
		return &rnn.Dropout{Rate: arg(a, "rate", 0.0), Axes: a.ints("axes", 0)}, nil
	case "ResidualCell":
		return &rnn.Residual{Cell: parts[0]}, nil
	case "ZoneoutCell":
		return &rnn.Zoneout{Cell: parts[0], Outputs: arg(a, "zoneout_outputs", 0.0),
			Kept: arg(a, "zoneout_states", 0.0)}, nil
	case "VariationalDropoutCell":
		return &rnn.VariationalDropout{Cell: parts[0], Inputs: arg(a, "drop_inputs", 0.0),
			Hidden: arg(a, "drop_states", 0.0), Outputs: arg(a, "drop_outputs", 0.0)}, nil
	case "BidirectionalCell":
		return &rnn.Bidirectional{Left: parts[0], Right: parts[1]}, nil
	}
	return s.convCell(a)
}

// convCell makes a cell with convolutions.
func (s *blockSpec) convCell(a *blockArgs) (rnn.Cell, error) {
	conf := rnn.ConvConfig{Input: a.ints("input_shape", 1), Hidden: arg(a, "hidden_channels", 0),
		Kernel: a.ints("i2h_kernel", 1), HKernel: a.ints("h2h_kernel", 1),
		Pad:      a.ints("i2h_pad", 1),
		Dilation: a.ints("i2h_dilate", 1), HDilation: a.ints("h2h_dilate", 1),
		Activation: arg(a, "activation", "")}
	if layout := arg(a, "conv_layout", ""); layout != "" && !strings.HasPrefix(layout, "NC") {
		return nil, missing("conv_layout %s", layout)
	}
	kind, ok := strings.CutPrefix(s.Class, "Conv")
	if !ok || len(kind) < 2 {
		return nil, missing("cell %s", s.Class)
	}
	switch kind[2:] {
	case "RNNCell":
		return &rnn.ConvRNNCell{ConvConfig: conf}, nil
	case "LSTMCell":
		return &rnn.ConvLSTMCell{ConvConfig: conf}, nil
	case "GRUCell":
		return &rnn.ConvGRUCell{ConvConfig: conf}, nil
	}
	return nil, missing("cell %s", s.Class)
}
