//go:build cuda

package rnn_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/rnn"
)

// TestCUDALargeLayers has more numbers in a state than a block has threads.
func TestCUDALargeLayers(t *testing.T) {
	for _, mode := range modes {
		p := rnn.RNNParams{Mode: mode, StateSize: 70, NumLayers: 2, Bidirectional: true, StateOutputs: true, UseSequenceLength: mode != "gru"}
		lengths := []float64{6, 2, 0, 5}
		in := network(p, 6, 9, lengths)
		for i := range op.Slice[float32](in[1]) {
			op.Slice[float32](in[1])[i] *= 0.1 // states stay moderate
		}
		optest.Run(t, rnn.RNN.Op, optest.Case{Name: mode, Params: p, In: in, Const: []int{len(in) - 1}, NoDiff: true})
	}
}
