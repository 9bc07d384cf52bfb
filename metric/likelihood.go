package metric

import (
	"fmt"
	"math"
)

// CrossEntropy is the mean of -log(p + eps) over the probabilities p of the labels. It uses the
// options Name and Eps (default 1e-12).
func CrossEntropy(opts ...Option) Metric { return likelihood("cross-entropy", opts) }

// NegativeLogLikelihood is CrossEntropy under the name nll-loss.
func NegativeLogLikelihood(opts ...Option) Metric { return likelihood("nll-loss", opts) }

func likelihood(name string, opts []Option) Metric {
	c := configure(name, 1, opts)
	return &mean{name: c.name, pair: func(label, pred *view) (float64, float64, error) {
		rows, classes := pred.rows()
		if len(pred.shape) != 2 {
			return 0, 0, fmt.Errorf("prediction of shape %v, want 2 axes", pred.shape)
		}
		if err := sameCount(label, pred, rows); err != nil {
			return 0, 0, err
		}
		sum := 0.0
		for i, l := range label.data {
			j := int(l)
			if j < 0 || j >= classes {
				return 0, 0, fmt.Errorf("label %v of sample %d, want a class from 0 to %d", l, i,
					classes-1)
			}
			// As in MXNet, the sum with eps is rounded to float32.
			sum -= math.Log(float64(pred.data[i*classes+j] + float32(c.eps)))
		}
		return sum, float64(rows), nil
	}}
}

// Perplexity is exp of the mean of -log(max(p, 1e-10)) over the probabilities p of the labels. It
// uses the options Name, Axis (default -1, the last) and IgnoreLabel.
func Perplexity(opts ...Option) Metric {
	c := configure("perplexity", -1, opts)
	return &mean{name: c.name, final: math.Exp, pair: func(label, pred *view) (float64, float64,
		error) {
		return logLoss(label, pred, &c)
	}}
}

func logLoss(label, pred *view, c *config) (sum, n float64, err error) {
	outer, size, inner, err := pred.split(c.axis)
	if err != nil {
		return 0, 0, err
	}
	if err := sameCount(label, pred, outer*inner); err != nil {
		return 0, 0, err
	}
	if size == 0 {
		return 0, 0, fmt.Errorf("prediction of shape %v has no classes", pred.shape)
	}
	for i, l := range label.data {
		if ignore, set := c.ignore.Get(); set && float64(l) == ignore {
			continue
		}
		j := min(max(int(int32(l)), 0), size-1) // clipped as the operator pick does
		p := pred.data[(i/inner*size+j)*inner+i%inner]
		sum -= math.Log(math.Max(1e-10, float64(p)))
		n++
	}
	return sum, n, nil
}
