package metric

import (
	"fmt"
	"math"

	nd "gomx/ndarray"
)

// PearsonCorrelation is Pearson's correlation of labels and predictions, averaged over batches. It
// uses the options Name and Micro; with Micro it is the correlation over all batches.
func PearsonCorrelation(opts ...Option) Metric {
	c := configure("pearsonr", 1, opts)
	if c.micro {
		return &pearson{name: c.name}
	}
	return &mean{name: c.name, pair: func(label, pred *view) (float64, float64, error) {
		if err := sameElements(label, pred); err != nil {
			return 0, 0, err
		}
		return correlation(label.data, pred.data), 1, nil
	}}
}

func sameElements(label, pred *view) error {
	if !label.shape.Equal(pred.shape) {
		return fmt.Errorf("label of shape %v, prediction of shape %v: want equal shapes",
			label.shape, pred.shape)
	}
	return nil
}

func correlation(x, y []float32) float64 {
	mx, my := average(x), average(y)
	var xx, yy, xy float64
	for i := range x {
		dx, dy := float64(x[i])-mx, float64(y[i])-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	return xy / math.Sqrt(xx*yy)
}

func average(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// moments are a running count, mean and sum of squared deviations (Welford, by batches).
type moments struct{ n, mean, sse float64 }

func (m *moments) add(x []float32) {
	m.n += float64(len(x))
	old := m.mean
	for _, v := range x {
		m.mean += (float64(v) - old) / m.n
	}
	for _, v := range x {
		m.sse += (float64(v) - old) * (float64(v) - m.mean)
	}
}

// pearson is the correlation over all batches. It has no window of its own.
type pearson struct {
	name        string
	label, pred moments
	cov         float64
	read        reader
}

func (m *pearson) Update(labels, preds []*nd.Array) error {
	if err := samePairs(m.name, labels, preds); err != nil {
		return err
	}
	for i := range preds {
		label, err := m.read.label(labels[i])
		if err != nil {
			return fmt.Errorf("metric %s: label %d: %w", m.name, i, err)
		}
		pred, err := m.read.pred(preds[i])
		if err != nil {
			return fmt.Errorf("metric %s: prediction %d: %w", m.name, i, err)
		}
		if err := sameElements(label, pred); err != nil {
			return fmt.Errorf("metric %s: pair %d: %w", m.name, i, err)
		}
		m.label.add(label.data)
		// One mean includes the sample and the other does not, which makes the sum over batches
		// exact.
		for k, l := range label.data {
			m.cov += (float64(l) - m.label.mean) * (float64(pred.data[k]) - m.pred.mean)
		}
		m.pred.add(pred.data)
	}
	return nil
}

func (m *pearson) Value() ([]string, []float64) {
	v := math.NaN()
	if n := m.label.n - 1; n >= 0 {
		v = m.cov / (n * math.Sqrt(m.pred.sse/n) * math.Sqrt(m.label.sse/n))
	}
	return []string{m.name}, []float64{v}
}

func (m *pearson) Reset() { m.label, m.pred, m.cov = moments{}, moments{}, 0 }
