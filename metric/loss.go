package metric

// Loss is the mean of all elements of the predictions, for networks whose output is a loss. It uses
// the option Name and ignores labels.
func Loss(opts ...Option) Metric {
	c := configure("loss", 1, opts)
	return &mean{name: c.name, nolabel: true, pair: func(_, pred *view) (float64, float64, error) {
		sum := 0.0
		for _, v := range pred.data {
			sum += float64(v)
		}
		return sum, float64(len(pred.data)), nil
	}}
}

// Custom returns a metric that calls f, which returns a sum and the number of samples in the sum.
// The metric is the mean. The slices are only valid during the call.
func Custom(name string, f func(label, pred []float32) (sum float64, n int)) Metric {
	return &mean{name: name, pair: func(label, pred *view) (float64, float64, error) {
		sum, n := f(label.data, pred.data)
		return sum, float64(n), nil
	}}
}
