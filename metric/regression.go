package metric

import (
	"fmt"
	"math"
)

// MAE is the mean absolute error, averaged over batches. It heeds Name.
func MAE(opts ...Option) Metric {
	return regression("mae", opts, math.Abs, func(m float64) float64 { return m })
}

// MSE is the mean squared error, averaged over batches. It heeds Name.
func MSE(opts ...Option) Metric {
	return regression("mse", opts, square, func(m float64) float64 { return m })
}

// RMSE is the root of the mean squared error, averaged over batches. It heeds Name.
func RMSE(opts ...Option) Metric { return regression("rmse", opts, square, math.Sqrt) }

func square(x float64) float64 { return x * x }

// regression is the mean over batches of after(mean of each(label - prediction)).
func regression(name string, opts []Option, each, after func(float64) float64) Metric {
	c := configure(name, 1, opts)
	return &mean{name: c.name, pair: func(label, pred *view) (float64, float64, error) {
		ln, lw := label.rows()
		pn, pw := pred.rows()
		// As in NumPy, a single column on one side is broadcast.
		if ln != pn || lw != pw && lw != 1 && pw != 1 {
			return 0, 0, fmt.Errorf("label of shape %v, prediction of shape %v: want equal shapes",
				label.shape, pred.shape)
		}
		w := max(lw, pw)
		if ln*w == 0 {
			return 0, 0, nil
		}
		sum := 0.0
		for i := range ln * w {
			r, j := i/w, i%w
			sum += each(float64(label.data[r*lw+j%lw] - pred.data[r*pw+j%pw]))
		}
		return after(sum / float64(ln*w)), 1, nil
	}}
}
