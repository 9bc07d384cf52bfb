// Package rnn has recurrent layers and cells.
//
// A [Layer] computes whole sequences by one operator, in one or several layers and in one or both
// directions:
//
//	encoder := &rnn.Layer{Mode: rnn.LSTM, Hidden: 200, Layers: 2, Dropout: 0.5}
//	y, states := encoder.Run(x, rnn.Begin(h, c))     // x has shape (steps, n, size)
//
// A [Cell] is one step. [Unroll] reads sequences with it:
//
//	cell := rnn.Stack{&rnn.LSTMCell{Hidden: 200}, &rnn.Residual{Cell: &rnn.GRUCell{Hidden: 200}}}
//	y, states := rnn.Unroll(cell, x, rnn.ValidLength(n))   // x has shape (n, steps, size)
//
// # Cells
//
//   - [RNNCell], [LSTMCell], [GRUCell]; with convolutions [ConvRNNCell], [ConvLSTMCell],
//     [ConvGRUCell]
//   - [Stack] and [Bidirectional] combine cells
//   - [Dropout], [VariationalDropout], [Zoneout] and [Residual] change the results of cells
//
// All have hooks, but for Stack, to which [Hooked] gives them. A call has the input and the states in
// In, the output and the new states in Out. Unroll calls Residual, Bidirectional and a hooked Stack
// once for a whole sequence, other cells in each step.
//
// Parameters have MXNet's names: a Layer has the names of the cells that it stands for, such as
// "_unfused.0.i2h_weight".
//
// Cells and layers may be used by many goroutines: Unroll makes masks and other values of one
// sequence anew. The Step of Zoneout and VariationalDropout without Unroll keeps them in the cell:
// there one sequence and one goroutine use it.
package rnn
