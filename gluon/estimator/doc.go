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
// The network has one input and one output, and batches have one array of data and one of labels. A
// network on several devices gets a part of each batch on each device. Programs with other networks
// write the loop themselves, with gluon.Trainer.
//
// MXNet: gluon.contrib.estimator.
package estimator
