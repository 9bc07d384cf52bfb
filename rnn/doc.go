// Package rnn has the recurrent cells of MXNet's mx.rnn, which compose symbols. Networks of
// package module use them; networks of package gluon use package gluon/rnn.
//
//	stack := rnn.Stack{&rnn.LSTMCell{Hidden: 200, Prefix: "l0_"}, &rnn.Residual{
//		Cell: &rnn.GRUCell{Hidden: 200, Prefix: "l1_"}}}
//	y, states := rnn.Unroll(stack, 35, sym.Var("data"))   // data has shape (n, steps, size)
//
// # Cells
//
//   - [RNNCell], [LSTMCell], [GRUCell] compose one step
//   - [ConvRNNCell], [ConvLSTMCell], [ConvGRUCell] have convolutions instead of products
//   - [Fused] computes all steps, layers and directions by the operator RNN; [Fused.Unfuse] makes
//     a stack of single cells of it
//   - [Stack] and [Bidirectional] combine cells
//   - [Dropout], [Zoneout] and [Residual] change the results of cells
//
// A cell makes the variables of its parameters once: its Prefix with i2h_weight, i2h_bias,
// h2h_weight and h2h_bias, or with parameters for Fused. Calls of one cell share them, and so do cells that are given the same
// [Params].
//
// # Weights
//
// [Unpack] divides the parameters of cells by gates, [Pack] joins them. Fused and its unfused cells
// have the same parameters once they are unpacked:
//
//	gates, err := rnn.Unpack(fused, args)
//	args, err = rnn.Pack(fused.Unfuse(), gates)
//
// Checkpoints with the parameters of gates, as MXNet's save_rnn_checkpoint writes, are models with
// unpacked parameters:
//
//	model.Args, err = rnn.Unpack(cell, model.Args)
//	err = model.Save("runs/words", 3) // a checkpoint.Model
//
// Cells belong to one goroutine.
package rnn
