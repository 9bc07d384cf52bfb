// Package metric measures predictions against labels, with MXNet's names and values.
//
//	m := metric.Accuracy()
//	for batch := range … {
//		err := m.Update(batch.Label, outputs)
//	}
//	names, values := m.Value() // [accuracy] [0.9123]
//
// A Metric accumulates all batches since Reset. The metrics of this package also keep a window,
// which can be read and reset on its own, for progress lines: see Windowed.
//
// Classification: Accuracy, TopKAccuracy, F1, MCC, PCC. Probabilities: CrossEntropy,
// NegativeLogLikelihood, Perplexity. Regression: MAE, MSE, RMSE, PearsonCorrelation. Loss averages
// outputs, Custom calls a function, Composite holds several metrics, ConfusionMatrix counts samples
// by true and predicted class, VOC07 and AreaAP measure detections. New makes a metric from MXNet's
// name.
//
// Labels and predictions come in pairs: label i belongs to prediction i. Update waits for the
// arrays and computes on the host; once its buffers have grown to the size of a batch it allocates
// nothing. A Metric is used by one goroutine at a time.
package metric
