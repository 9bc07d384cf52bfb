package initializer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// FusedRNN initializes the vector of all parameters of the operator RNN, as the variables of
// MXNet's FusedRNNCell require. It cuts the vector into the weight matrices and biases of single
// gates and gives each one values by its name, as Fill does: by default weights come from the inner
// initializer and biases are 0. The biases of an LSTM's forget gates, of input and of state, are
// ForgetBias.
//
// The name of a part is the parameter's name without its suffix "parameters", then direction (l or
// r), layer, i2h, h2h or h2r (the projection), gate and kind: lstm_l0_i2h_f_weight. The random
// numbers and the rules of Mixed depend on these names.
type FusedRNN struct {
	Init          Initializer     // inner initializer; nil: the initializer of the whole model
	NumHidden     int             // state_size of the operator
	NumLayers     int             // num_layers of the operator
	Mode          string          // rnn_relu, rnn_tanh, lstm or gru
	Bidirectional bool            // bidirectional of the operator
	ForgetBias    op.Opt[float64] // unset: 1
	// projection_size of the operator, 0 for none; MXNet's initializer has no such argument
	ProjectionSize int
}

// fusedText is the text form of FusedRNN.
type fusedText struct {
	Init           *string         `json:"init"` // text form of the inner initializer
	NumHidden      int             `json:"num_hidden"`
	NumLayers      int             `json:"num_layers"`
	Mode           string          `json:"mode"`
	Bidirectional  bool            `json:"bidirectional"`
	ForgetBias     op.Opt[float64] `json:"forget_bias,omitzero"`
	ProjectionSize int             `json:"projection_size,omitempty"`
}

// MarshalJSON writes the arguments of the text form.
func (f FusedRNN) MarshalJSON() ([]byte, error) {
	t := fusedText{NumHidden: f.NumHidden, NumLayers: f.NumLayers, Mode: f.Mode,
		Bidirectional: f.Bidirectional,
		ForgetBias:    f.ForgetBias, ProjectionSize: f.ProjectionSize}
	if f.Init != nil {
		inner, err := Format(f.Init)
		if err != nil {
			return nil, err
		}
		t.Init = &inner
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads the arguments of the text form.
func (f *FusedRNN) UnmarshalJSON(text []byte) error {
	var t fusedText
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return err
	}
	*f = FusedRNN{NumHidden: t.NumHidden, NumLayers: t.NumLayers, Mode: t.Mode,
		Bidirectional: t.Bidirectional,
		ForgetBias:    t.ForgetBias, ProjectionSize: t.ProjectionSize}
	if t.Init == nil {
		return nil
	}
	inner, err := Parse(*t.Init)
	if _, nested := inner.(FusedRNN); nested {
		return fmt.Errorf("init: fusedrnn inside fusedrnn")
	}
	f.Init = inner
	return err
}

// gateNames lists the suffixes of the gates' names by mode, in the order of the vector.
var gateNames = map[string][]string{
	"rnn_relu": {""}, "rnn_tanh": {""}, "lstm": {"_i", "_f", "_c", "_o"}, "gru": {"_r", "_z", "_o"},
}

// Weight fills dst.
func (f FusedRNN) Weight(d Desc, dst []float32) error {
	inner := f.Init
	if inner == nil {
		inner = d.Global
	}
	if inner == nil {
		return fmt.Errorf("fusedrnn: no inner initializer and no initializer of the whole model, " +
			"want one of them")
	}
	parts, err := f.parts(len(dst))
	if err != nil {
		return err
	}
	prefix := d.Name
	if end := len(prefix) - len("parameters"); end >= 0 && prefix[end:] == "parameters" {
		prefix = prefix[:end]
	}
	for _, p := range parts {
		size := p.shape.Size()
		own := Desc{Name: prefix + p.name, Shape: p.shape, Seed: d.Seed, Global: d.Global}
		var err error
		if p.forget {
			err = Constant{Value: f.ForgetBias.Or(1)}.Weight(own, dst[:size])
		} else {
			err = fill(inner, own, dst[:size])
		}
		if err != nil {
			return fmt.Errorf("fusedrnn: %s: %w", own.Name, err)
		}
		dst = dst[size:]
	}
	return nil
}

// part is a matrix or a vector inside the vector of parameters.
type part struct {
	name   string
	shape  dtype.Shape
	forget bool // the part is the bias of a forget gate
}

// parts returns the parts of a vector of size elements, in their order.
func (f FusedRNN) parts(size int) ([]part, error) {
	input, err := f.inputSize(size)
	if err != nil {
		return nil, err
	}
	gates, h, out := gateNames[f.Mode], f.NumHidden, f.outSize()
	var weights, biases []part
	for layer := range f.NumLayers {
		if layer > 0 {
			input = f.directions() * out
		}
		for _, direction := range []string{"l", "r"}[:f.directions()] {
			at := fmt.Sprintf("%s%d", direction, layer)
			for _, from := range []struct {
				name string
				size int
			}{{"_i2h", input}, {"_h2h", out}} {
				for _, g := range gates {
					weights = append(weights, part{name: at + from.name + g + "_weight",
						shape: dtype.Shape{h, from.size}})
					biases = append(biases, part{at + from.name + g + "_bias", dtype.Shape{h},
						g == "_f"})
				}
			}
			if f.ProjectionSize > 0 {
				weights = append(weights, part{name: at + "_h2r_weight", shape: dtype.Shape{out,
					h}})
			}
		}
	}
	return slices.Concat(weights, biases), nil
}

// inputSize returns the number of features of the input of an RNN whose vector of parameters has
// size elements.
func (f FusedRNN) inputSize(size int) (int, error) {
	gates, ok := gateNames[f.Mode]
	switch {
	case !ok:
		return 0, fmt.Errorf("fusedrnn: mode %q, want rnn_relu, rnn_tanh, lstm or gru", f.Mode)
	case f.NumHidden < 1 || f.NumLayers < 1 || f.ProjectionSize < 0:
		return 0, fmt.Errorf("fusedrnn: num_hidden %d, num_layers %d, projection_size %d, want "+
			"at least 1, 1 and 0", f.NumHidden, f.NumLayers, f.ProjectionSize)
	}
	// The sums use floating-point numbers, because arguments from files could overflow integers.
	rows, dirs, out := float64(len(gates))*float64(f.NumHidden), float64(f.directions()),
		float64(f.outSize())
	perLayer := rows * (out + 2)
	if f.ProjectionSize > 0 {
		perLayer += out * float64(f.NumHidden)
	}
	layers := float64(f.NumLayers)
	rest := float64(size) - dirs*(layers*perLayer+(layers-1)*rows*dirs*out)
	input := rest / (dirs * rows)
	if input < 1 || input != float64(int(input)) {
		return 0, fmt.Errorf("fusedrnn: %d parameters fit no input size with num_hidden %d, "+
			"num_layers %d, mode %s, bidirectional %v, projection_size %d",
			size, f.NumHidden, f.NumLayers, f.Mode, f.Bidirectional, f.ProjectionSize)
	}
	return int(input), nil
}

func (f FusedRNN) directions() int {
	if f.Bidirectional {
		return 2
	}
	return 1
}

// outSize returns the number of features of the output of one direction.
func (f FusedRNN) outSize() int {
	if f.ProjectionSize > 0 {
		return f.ProjectionSize
	}
	return f.NumHidden
}
