// Package estimator has the training loop of networks of package gluon as one function, with the
// options of module.Fit:
//
//	history, err := estimator.Fit(ctx, net, loss.SoftmaxCE{}, loader,
//		estimator.Epochs(5),
//		estimator.Optimize(optimizer.Adam{LR: 1e-3}),
//		estimator.Validate(test),
//		estimator.Checkpoint("runs/net", estimator.KeepLast(3)),
//		estimator.Resume("runs/net"),
//		estimator.Progress(os.Stderr))
//
// Samples have one array of data and one of labels; [Inputs] and [LossOf] are for networks with
// several inputs, outputs or labels. A network on several devices gets a part of each batch on each
// device.
//
// # Jobs
//
// With Trainer(gluon.Store("dist_sync")) the workers of a job train together. Each gets its share
// of the batches, unless the loader has been given one. A step divides gradients by the batch size of
// the loader times the number of workers, also where the last batch is smaller: data.LastBatch says
// what becomes of it. Every worker validates the whole validation data; worker 0 saves checkpoints.
//
// MXNet: gluon.contrib.estimator.
package estimator
