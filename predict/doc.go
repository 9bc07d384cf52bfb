// Package predict serves trained models: a Predictor computes the outputs of a model for any number
// of goroutines at once.
//
// All goroutines share one compiled graph and one copy of the parameters. Each run leases planned
// memory of its own, and there is as much of it as runs go on at the same time:
//
//	model, err := checkpoint.Load("resnet-50", 0)
//	p, err := predict.New(model, predict.Input("data", 1, 3, 224, 224))
//	probs, err := p.Predict(ctx, image)
//
// An ONNX serves a file of ONNX's format, whose inputs may have other shapes in each call; see
// [LoadONNX].
//
// Inputs of other extents than the given ones, such as smaller batches, are compiled once.
// SetParams replaces parameters while predictions go on, and Close waits for them.
package predict
