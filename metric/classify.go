package metric

import "fmt"

// Accuracy is the share of samples whose most probable class is the label. Predictions of the
// label's shape are class numbers. It uses the options Name and Axis (default 1).
func Accuracy(opts ...Option) Metric {
	c := configure("accuracy", 1, opts)
	return &mean{name: c.name, pair: func(label, pred *view) (float64, float64, error) {
		return countCorrect(label, pred, c.axis)
	}}
}

func countCorrect(label, pred *view, axis int) (hits, n float64, err error) {
	if label.shape.Equal(pred.shape) {
		for i, l := range label.data {
			if int32(l) == int32(pred.data[i]) {
				hits++
			}
		}
		return hits, float64(len(label.data)), nil
	}
	outer, size, inner, err := pred.split(axis)
	if err != nil {
		return 0, 0, err
	}
	if err := sameCount(label, pred, outer*inner); err != nil {
		return 0, 0, err
	}
	if size == 0 {
		return 0, 0, fmt.Errorf("prediction of shape %v has no classes", pred.shape)
	}
	for o := range outer {
		for i := range inner {
			if argmax(pred.data[o*size*inner+i:], size,
				inner) == int(int32(label.data[o*inner+i])) {
				hits++
			}
		}
	}
	return hits, float64(outer * inner), nil
}

// TopKAccuracy is the share of samples whose label is among the k most probable classes. It uses
// the option Name, to which "_k" is appended.
func TopKAccuracy(k int, opts ...Option) Metric {
	c := configure("top_k_accuracy", 1, opts)
	return &mean{name: fmt.Sprintf("%s_%d", c.name, k), pair: func(label, pred *view) (float64,
		float64, error) {
		return countTopK(label, pred, k)
	}}
}

func countTopK(label, pred *view, k int) (hits, n float64, err error) {
	if k < 1 {
		return 0, 0, fmt.Errorf("k is %d, want at least 1", k)
	}
	if len(pred.shape) != 2 {
		return 0, 0, fmt.Errorf("prediction of shape %v, want 2 axes", pred.shape)
	}
	rows, classes := pred.rows()
	if err := sameCount(label, pred, rows); err != nil {
		return 0, 0, err
	}
	for i := range rows {
		l := int(int32(label.data[i]))
		if l < 0 || l >= classes {
			continue
		}
		row := pred.data[i*classes : (i+1)*classes]
		above := 0
		for j, v := range row {
			if v > row[l] || v == row[l] && j > l {
				above++
			}
		}
		if above < k {
			hits++
		}
	}
	return hits, float64(rows), nil
}
