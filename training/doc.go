// Package training has the parts of a training loop that do not depend on the kind of network:
// scores and their history, progress on a terminal or in a log, and the calls of a program's
// functions after batches and epochs. Packages module and gluon/estimator build their loops on it,
// and have its types under the same names.
//
//	log := training.Log{Metric: metric.Accuracy(), History: &history, Every: 50}
//	log.Report(training.NewProgress(os.Stderr, epochs, batches))
//	for epoch := range epochs {
//		log.Begin(epoch)
//		... err := log.Batch(epoch, n, samples) // after each batch
//		log.Add(&end) // a training.EpochEnd
//		err := log.Epoch(&end)
//	}
package training
