package rnn_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/rnn"
)

// One cell that adds up what it reads: its weights are one, its biases zero.
func ExampleRNN() {
	data, parameters, state := op.Var("data"), op.Var("parameters"), op.Var("state")
	n := rnn.RNN.Node(rnn.RNNParams{Mode: "rnn_relu", StateSize: 1, NumLayers: 1, StateOutputs: true},
		data.Entry(0), parameters.Entry(0), state.Entry(0))
	out, err := optest.Eval([]op.Entry{n.Entry(0), n.Entry(1)}, map[*op.Node]op.Tensor{
		data:       optest.F([]int{4, 1, 1}, 1, 2, 3, 4),
		parameters: optest.F([]int{4}, 1, 1, 0, 0),
		state:      optest.F([]int{1, 1, 1}, 100),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(op.Slice[float32](out[0]), op.Slice[float32](out[1]))
	// Output: [101 103 106 110] [110]
}

func ExampleSequenceLast() {
	data, lengths := op.Var("data"), op.Var("lengths")
	last := rnn.SequenceLast.Apply(rnn.SequenceParams{UseSequenceLength: true}, data.Entry(0), lengths.Entry(0))
	out, err := optest.Eval([]op.Entry{last}, map[*op.Node]op.Tensor{
		data:    optest.F([]int{3, 2}, 1, 2, 3, 4, 5, 6),
		lengths: optest.F([]int{2}, 3, 1),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(op.Slice[float32](out[0]))
	// Output: [5 2]
}
