// Package autograd differentiates imperative programs.
//
// A tape records operations on arrays, Backward walks the record from the end and computes
// gradients. The gradient of every operator is the one that package graph uses for symbols.
//
//	w.AttachGrad()                                      // once: Backward is to compute w's gradient
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
// A tape is explicit: there is no mode of the process or of a goroutine. Recording starts at
// Watch and travels on results: what is computed from a watched array is on the tape too, and an
// operation is recorded when it is on the tape and one of its inputs depends on an array with a
// gradient attached. Parameters need not be watched. What no tape watches is not recorded, so
// evaluation needs nothing special.
//
// The tape carries the mode: under Train dropout drops and batch normalization uses the statistics
// of the batch and learns; under Predict, and where no tape watches, they do not.
//
// # Gradients
//
// AttachGrad gives an array a gradient array, which Backward overwrites, or adds to with
// nd.GradAdd; with nd.GradNull it takes the gradient away. Backward of several heads differentiates
// their sum, HeadGrads weighs it. Grad returns gradients instead of storing them. Detach returns an
// array that is on no tape. Operations that write to existing arrays (updates, functions called
// InPlace, explicit outputs) are never recorded, and results on a tape cannot be overwritten. If an
// array that the derivative reads was overwritten after it was recorded, Backward says which one,
// and of which operator, instead of computing something wrong.
//
// Backward frees what the tape held for its heads; ask with Retain to use the record again. Only
// what the derivatives read is kept: an addition keeps nothing.
//
// # Gradients of gradients
//
// With CreateGraph the gradients that Grad returns are on the tape, and can be differentiated in
// turn: a penalty on the norm of a gradient, learning rates that are learned, products with a
// Hessian. The layers that networks are made of have gradients of any order (for symbols see
// Symbol.Gradient). Where an operator's gradient has none, its documentation says so, as RNN's and
// CTCLoss's do, and the error names the operator.
//
// # Functions in Go
//
// A [Function] gives a computation on arrays another gradient than that of the operators it is made
// of. It lives on tapes only; an operator of one's own, declared with package op, also works in
// symbols (see examples/customop).
//
// # Concurrency
//
// Different tapes are independent. One tape may record in several goroutines; Backward of its
// heads runs one at a time.
package autograd
