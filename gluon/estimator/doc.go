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
// In a job without servers and with the policy shrink (gomx launch -s 0 --policy shrink, store
// allreduce) training goes on when workers are lost or come, as with [gluon.Elastic]: all workers go
// back to the last step that all of them have, share out the rest of the epoch, and the first of
// them saves. Callbacks of batches that are trained again are called again. A worker that comes
// begins its history then.
//
// MXNet: gluon.contrib.estimator.
package estimator
