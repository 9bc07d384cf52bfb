// Package autograd differentiates imperative programs.
//
// A tape records operations on arrays; Backward walks the record from the end and computes
// gradients. Arrays and symbols use the same gradient of every operator.
//
//	w.AttachGrad()                                      // once: w gets a gradient
//	for batch := range batches {
//		tape := autograd.Train()
//		out := nd.FullyConnected(tape.Watch(batch.Data), w, b, p)
//		loss := nd.SoftmaxOutput(out, batch.Label, nd.SoftmaxOutputParams{})
//		loss.Backward()                             // fills w.Grad() and frees the record
//		nd.SGDUpdate(w, w.Grad(), nd.SGDUpdateParams{LR: 0.1})
//	}
//
// # Tapes
//
// A tape is explicit: there is no mode of the process or of a goroutine. Recording starts at Watch:
// arrays computed from a watched array are on the tape too. An operation is recorded when one of
// its inputs is on the tape and one depends on an array with a gradient attached. Parameters need
// not be watched. Operations on arrays without a tape are not recorded, so evaluation needs no
// special mode.
//
// The tape also has the mode. Under Train dropout drops elements, and batch normalization uses the
// statistics of the batch and updates its running statistics; under Predict, and without a tape,
// they do not.
//
// # Gradients
//
// AttachGrad gives an array a gradient array, which Backward overwrites, or adds to with
// nd.GradAdd; with nd.GradNull it removes the gradient. Backward of several heads differentiates
// their sum; HeadGrads sets the weights of the sum. Grad returns gradients instead of storing them.
// Detach returns an array that is on no tape. Operations that write to existing arrays (updates,
// functions called InPlace, explicit outputs) are never recorded, and results on a tape cannot be
// overwritten. If an array that the derivative reads was overwritten after it was recorded,
// Backward returns an error that names the array and the operator, instead of computing a wrong
// gradient.
//
// Backward frees the values that the tape saved for its heads; with Retain it keeps them for
// another Backward. The tape saves only the operands that the derivatives read: an addition saves
// none.
//
// # Gradients of gradients
//
// With CreateGraph the gradients that Grad returns are on the tape, and can be differentiated in
// turn: a penalty on the norm of a gradient, learning rates that are learned, products with a
// Hessian. The common layers have gradients of any order (for symbols see Symbol.Gradient). If an
// operator, such as RNN or CTCLoss, has a first derivative only, its documentation says so, and the
// error names the operator.
//
// # Functions in Go
//
// A [Function] gives a computation on arrays a gradient of its own instead of the gradient of its
// operators. It works on tapes only; an operator declared with package op also works in symbols
// (see examples/customop).
//
// # Concurrency
//
// Different tapes are independent. One tape may record in several goroutines; Backward of its
// heads runs one at a time.
package autograd
