// Package rnn defines recurrent networks and the operators on sequences of different lengths.
//
// Names, attributes, shapes and semantics equal MXNet 1.9.1's. The first axis of data is the steps:
// its shape is (steps, batch, …). SequenceMask and SequenceLast also take (batch, steps, …).
//
// # RNN
//
// RNN is a whole network: layers of one kind of cell, in one direction or both, with dropout
// between layers. All its parameters are one vector:
//
//	p := rnn.RNNParams{Mode: "lstm", StateSize: 200, NumLayers: 2}
//	y := rnn.RNN.Node(p, data, parameters, state, stateCell).Entry(0)
//
// The vector has first the weights of all layers, then all biases; weightsOf returns the parts.
// Cells with several gates have their blocks of rows in the order i, f, g, o (LSTM) and r, z, n
// (GRU).
//
// # What the gradient reads
//
// A hidden last output called reserve holds the data of every cell at every step that the gradient
// (_backward_RNN) reads: activated gates, memory, output and dropout mask. It is not computed
// without a gradient, and its memory is planned like the memory of other arrays.
//
// # Lengths
//
// With use_sequence_length an operator has one more input, of shape (batch) and any element type. A
// recurrent network then treats every sequence as if it were alone: it stops at its end, and the
// backward direction starts there. A length outside 0 to steps is an error; SequenceMask clips
// larger lengths to steps, SequenceLast requires at least one step.
//
// # Kernels
//
// The reference computes one sequence at a time with plain loops in float64. The kernels of tiers
// go and c share one algorithm for whole batches of float32: one matrix product per layer and
// direction for the inputs of all steps, one per step for the state, and in the gradient one per
// matrix of weights. The reference computes sequences of different lengths.
package rnn
