package rnn

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
)

// RNN is a stack of recurrent layers.
var RNN = op.Declare[RNNParams]("RNN")

// RNNGrad is the gradient of RNN: its inputs are the gradients of the visible outputs, the inputs
// of RNN and the reserve; its outputs are the gradients of data, parameters and states.
var RNNGrad = op.Declare[RNNParams]("_backward_RNN")

func init() {
	RNN.Define(op.Spec[RNNParams]{
		Traits: op.Traits{
			Doc: `RNN runs sequences through layers of recurrent cells.

Data of shape (steps, batch, input) gives outputs of shape (steps, batch, directions·size), size
being state_size, or projection_size if it is given. States have shape
(layers·directions, batch, size), the memory cell of an LSTM (layers·directions, batch, state_size).
With W the weights, b the biases, v and u for input and state, a step is

    rnn_relu, rnn_tanh: h' = f(Wv·x + bv + Wu·h + bu)
    lstm: c' = σ(f)·c + σ(i)·tanh(g), h' = σ(o)·tanh(c'), where (i, f, g, o) = Wv·x + bv + Wu·h + bu
    gru:  h' = (1-z)·n + z·h, where (r, z) = σ(Wv·x + bv + Wu·h + bu),
          n = tanh(Wv·x + bv + r·(Wu·h + bu))

The vector of parameters holds all weights, then all biases. Weights are ordered by layers and,
within a layer, by directions: weights of the input (gates·state_size, input), weights of the state
(gates·state_size, size) and, with a projection, its weights (size, state_size). Biases have the
same order, biases of the input before biases of the state. A variable of parameters without an
initializer gets fusedrnn: the initializer of the model fills the matrix of every gate, biases are 0.
States that are variables are initially zeros.

With use_sequence_length sequence i ends after sequence_length[i] steps: outputs after its end are
zero, the last state is the state at its end, and the backward direction starts there.`,
			GoName:  "RNN",
			Aliases: []string{"_npx_rnn"},
			Multi:   true,
			Once: "the kernel goes back through all steps at once; cells made of basic operators " +
				"can be differentiated again",
			Random:    true,
			Keeps:     true,
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs:  rnnInputs,
		Outputs: func(p RNNParams) []string { return append(visible(p), "reserve") },
		Visible: func(p RNNParams) int { return len(visible(p)) },
		Infer:   inferRNN,
		InferType: func(p RNNParams, in, out []dtype.Type) error {
			return floatTypes(in, out, lengthsAt(p, len(in)-1))
		},
		Grad:  rnnGrad,
		FLOPs: func(_ RNNParams, in, _ []dtype.Shape) int64 { return rnnFLOPs(in[0], in[1]) },
		Ref:   rnnRef,
	})
	RNNGrad.Define(op.Spec[RNNParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of RNN is not provided"},
		Inputs: func(p RNNParams) []op.Input {
			var list []op.Input
			for _, name := range visible(p) {
				list = append(list, op.Input{Name: name + "_grad"})
			}
			return append(append(list, rnnInputs(p)...), op.Input{Name: "reserve"})
		},
		Outputs: func(p RNNParams) []string {
			list := []string{"data", "parameters", "state"}
			if p.Mode == "lstm" {
				list = append(list, "state_cell")
			}
			return list
		},
		Infer: inferRNNGrad,
		InferType: func(p RNNParams, in, out []dtype.Type) error {
			return floatTypes(in, out, lengthsAt(p, len(in)-2))
		},
		FLOPs: func(_ RNNParams, _, out []dtype.Shape) int64 {
			return 2 * rnnFLOPs(out[0], out[1])
		},
		Ref: rnnGradRef,
	})
}

// visible lists the visible outputs.
func visible(p RNNParams) []string {
	switch {
	case !p.StateOutputs:
		return []string{"output"}
	case p.Mode == "lstm":
		return []string{"output", "state_output", "statecell_output"}
	}
	return []string{"output", "state_output"}
}

func rnnInputs(p RNNParams) []op.Input {
	list := []op.Input{{Name: "data"}, {Name: "parameters", Role: op.Param, Init: paramsInit(p)},
		{Name: "state", Role: op.State, Init: "zeros"}}
	if p.Mode == "lstm" {
		list = append(list, op.Input{Name: "state_cell", Role: op.State, Init: "zeros"})
	}
	if p.UseSequenceLength {
		list = append(list, op.Input{Name: "sequence_length"})
	}
	return list
}

// paramsInit returns the default initializer of the vector of parameters, in MXNet's text form:
// matrices of single gates get values from the initializer of the model, biases are 0.
func paramsInit(p RNNParams) string {
	projection := ""
	if size, ok := p.ProjectionSize.Get(); ok {
		projection = fmt.Sprintf(`, "projection_size": %d`, size)
	}
	return fmt.Sprintf(`["fusedrnn", {"init": null, "num_hidden": %d, "num_layers": %d, "mode": %q, "bidirectional": %v, "forget_bias": 0.0%s}]`,
		p.StateSize, p.NumLayers, p.Mode, p.Bidirectional, projection)
}

// lengthsAt returns the index of the lengths of sequences, -1 if there are none; at is the index if
// there are.
func lengthsAt(p RNNParams, at int) int {
	if p.UseSequenceLength {
		return at
	}
	return -1
}

func rnnGrad(g *op.Grad, p RNNParams) []op.Entry {
	n := len(visible(p))
	var in []op.Entry
	for i := range n {
		in = append(in, g.Head(i))
	}
	in = append(append(in, g.Node.In...), g.Out(n))
	return g.Each(RNNGrad.Node(p, in...))
}

// rnnFLOPs counts a product with every parameter for every step of every sequence.
func rnnFLOPs(data, parameters dtype.Shape) int64 {
	return 2 * int64(parameters.Size()) * int64(data[0]*data[1])
}
