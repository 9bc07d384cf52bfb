// Package module trains and runs a symbol: parameters, executors, optimizer and the training loop
// in one place, as MXNet's Module does it.
//
//	mod := module.New(net)
//	err := mod.Fit(ctx, train,
//		module.Validate(val),
//		module.Epochs(5),
//		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9}),
//		module.Init(initializer.Xavier{}),
//		module.Checkpoint("runs/lenet", module.KeepLast(3)),
//		module.Progress(os.Stderr))
//	score, err := mod.Score(ctx, val, metric.Accuracy())
//
// # Step by step
//
// Fit is made of functions that may be called one by one: Bind makes memory for the shapes that an
// iterator provides, InitParams gives values to parameters, InitOptimizer chooses the optimizer;
// then, for every batch, Forward, Backward, Update and UpdateMetric. All of these start work and
// return; UpdateMetric waits for the outputs. Errors of the computation come back from the
// functions that wait: UpdateMetric, Wait, Fit.
//
// In a loop of one's own, ndarray.ClipGlobalNorm on Grads comes between Backward and Update; the
// option ClipGlobalNorm of Fit does the same without a wait.
//
// Batches may change their shape from one to the next: executors for the shapes seen are kept and
// share parameters and memory.
//
// Where not only the shape but the network differs from batch to batch, as for sentences of many
// lengths, NewBucketing makes a module of a function from bucket to symbol. All buckets share
// parameters and the memory of the largest:
//
//	mod, err := module.NewBucketing(lstm, train.DefaultBucket())
//	err = mod.Fit(ctx, train, …)
//
// Its checkpoints hold the networks of all buckets; LoadBucketing reads them, and the checkpoints
// of MXNet's BucketingModule.
//
// Group2Ctx places groups of a network's layers on devices of their own.
//
// # The roles of arguments
//
// Arguments of the symbol that carry the names of the iterator's arrays are data and labels; all
// others are parameters, except those whose name ends in label. A label that the symbol wants and
// nobody provides is an error in training; Data and Labels say otherwise where names differ. The
// labels of an iterator that the symbol does not know still reach the metric.
//
// # Serving
//
// A Predictor computes outputs of a trained model for any number of goroutines at once. They share
// one compiled graph and one copy of the parameters; every run leases planned memory of its own:
//
//	model, err := checkpoint.Load("resnet-50", 0)
//	p, err := module.NewPredictor(model, module.Input("data", 1, 3, 224, 224))
//	probs, err := p.Predict(ctx, image)
//
// # Precision and devices
//
// On places a module on a device, or on several: then each computes a part of every batch, and the
// gradients are added up (ExampleOn):
//
//	mod := module.New(net, module.On(device.CUDA(0), device.CUDA(1)))
//
// Everything else stays as it is: Fit, Score, checkpoints, the optimizer's states, and the stores
// of jobs, to which each process gives the sum over its devices.
//
// MixedPrecision lets layers that are mostly products compute in float16 or bfloat16; parameters
// stay float32, and LossScale says how gradients are kept in the range of float16. Streams and
// Replay tell a GPU to run branches side by side and to launch recorded kernels at once.
//
// # Padding
//
// Score and Predict leave out the samples that only fill up the last batch. Training counts them.
//
// # Repeating a run
//
// With the same seeds (Seed here, and the iterator's) a run repeats bit for bit on the same
// devices.
//
// With Resume a run that is killed at any instant goes on exactly where it was cut (ExampleResume,
// docs/resume.md); in jobs of several processes Snapshots does that. To continue from a checkpoint
// of another program or of MXNet, load parameters and states and say BeginEpoch: ExampleBeginEpoch
// shows it.
//
// # Looking for trouble
//
// Guard makes training end at the first value that is not finite, with the operator that made it.
// Module.Monitor shows values inside the network while it runs.
package module
