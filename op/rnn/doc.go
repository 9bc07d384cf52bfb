// Package rnn defines recurrent networks and the operators on sequences of different lengths.
//
// Names, attributes, shapes and semantics are those of MXNet 1.9.1. Sequences lie step by step: data
// has shape (steps, batch, …). SequenceMask and SequenceLast also know (batch, steps, …).
//
// # RNN
//
// RNN is a whole network: layers of one kind of cell, in one direction or both, with dropout
// between layers. All its parameters are one vector:
//
//	p := rnn.RNNParams{Mode: "lstm", StateSize: 200, NumLayers: 2}
//	y := rnn.RNN.Node(p, data, parameters, state, stateCell).Entry(0)
//
// The vector has first the weights of all layers, then all biases; weightsOf knows where they are. Cells
// with several gates have their blocks of rows in the order i, f, g, o (LSTM) and r, z, n (GRU).
//
// # What the gradient reads
//
// A hidden last output called reserve holds what the gradient (_backward_RNN) needs of every cell at
// every step: activated gates, memory, output and dropout mask. It is not computed where no gradient
// is taken, and its memory is planned as that of every other array.
//
// # Lengths
//
// With use_sequence_length an operator has one more input, (batch), of any element type. A recurrent
// network then treats every sequence as if it were alone: it stops at its end, and the backward
// direction starts there. A length outside 0 to steps is an error;
// SequenceMask takes longer ones for the end of data, SequenceLast wants at least one step.
//
// # Kernels
//
// The reference takes one sequence at a time through plain loops in float64. The kernels of tiers go and c share one
// algorithm for whole batches of float32: one matrix product per layer and direction for the inputs of all steps,
// one per step for the state, and in the gradient one per matrix of weights. Sequences of different
// lengths are left to the reference.
package rnn
