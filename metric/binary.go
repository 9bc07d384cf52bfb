package metric

import (
	"fmt"
	"math"

	nd "gomx/ndarray"
)

// counts are the four outcomes of a decision between two classes.
type counts struct{ tp, fp, fn, tn float64 }

func (c *counts) add(o counts) {
	c.tp += o.tp
	c.fp += o.fp
	c.fn += o.fn
	c.tn += o.tn
}

func (c *counts) all() float64 { return c.tp + c.fp + c.fn + c.tn }

// f1 returns the harmonic mean of precision and recall, 0 if they are not defined.
func (c *counts) f1() float64 {
	var precision, recall float64
	if c.tp+c.fp > 0 {
		precision = c.tp / (c.tp + c.fp)
	}
	if c.tp+c.fn > 0 {
		recall = c.tp / (c.tp + c.fn)
	}
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// mcc returns Matthews' correlation coefficient; factors that are 0 are left out of the
// denominator.
func (c *counts) mcc() float64 {
	if c.all() == 0 {
		return 0
	}
	denominator := 1.0
	for _, t := range [...]float64{c.tp + c.fp, c.tp + c.fn, c.tn + c.fp, c.tn + c.fn} {
		if t != 0 {
			denominator *= t
		}
	}
	return (c.tp*c.tn - c.fp*c.fn) / math.Sqrt(denominator)
}

// F1 is the F1 score of two classes, averaged over batches. It uses the options Name and Micro.
func F1(opts ...Option) Metric { return newBinary("f1", (*counts).f1, opts) }

// MCC is Matthews' correlation coefficient of two classes, averaged over batches. It uses the
// options Name and Micro.
func MCC(opts ...Option) Metric { return newBinary("mcc", (*counts).mcc, opts) }

// binary is a score of the decision between class 0 and class 1.
type binary struct {
	name  string
	micro bool
	score func(*counts) float64
	read  reader

	total, window     tally   // sums of the scores of batches
	last              float64 // score of the last batch
	allTotal, allWind counts  // pooled over all batches, for Micro
}

func newBinary(name string, score func(*counts) float64, opts []Option) Metric {
	c := configure(name, 1, opts)
	return &binary{name: c.name, micro: c.micro, score: score}
}

func (m *binary) Update(labels, preds []*nd.Array) error {
	if err := samePairs(m.name, labels, preds); err != nil {
		return err
	}
	var batch counts
	for i := range preds {
		label, err := m.read.label(labels[i])
		if err != nil {
			return fmt.Errorf("metric %s: label %d: %w", m.name, i, err)
		}
		pred, err := m.read.pred(preds[i])
		if err != nil {
			return fmt.Errorf("metric %s: prediction %d: %w", m.name, i, err)
		}
		c, err := decide(label, pred)
		if err != nil {
			return fmt.Errorf("metric %s: pair %d: %w", m.name, i, err)
		}
		batch.add(c)
	}
	m.allTotal.add(batch)
	m.allWind.add(batch)
	s := m.score(&batch)
	m.total.add(s, 1)
	m.window.add(s, 1)
	m.last = s
	return nil
}

// AppendLast implements Recent.
func (m *binary) AppendLast(list []float64) []float64 { return append(list, m.last) }

// decide counts the outcomes of one batch.
func decide(label, pred *view) (counts, error) {
	var c counts
	rows, classes := pred.rows()
	if len(pred.shape) != 2 || classes == 0 {
		return c, fmt.Errorf("prediction of shape %v, want (n, 2)", pred.shape)
	}
	if err := sameCount(label, pred, rows); err != nil {
		return c, err
	}
	seen := [3]float32{}
	distinct := 0
	for i, l := range label.data {
		if !containsValue(seen[:distinct], l) {
			if distinct == 2 {
				return c, fmt.Errorf("labels %v, %v and %v, want two classes", seen[0], seen[1], l)
			}
			seen[distinct] = l
			distinct++
		}
		says, is := argmax(pred.data[i*classes:], classes, 1) == 1, int32(l) == 1
		switch {
		case says && is:
			c.tp++
		case says:
			c.fp++
		case is:
			c.fn++
		default:
			c.tn++
		}
	}
	return c, nil
}

func containsValue(list []float32, v float32) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

func (m *binary) value(t *tally, c *counts) ([]string, []float64) {
	v := t.mean()
	if m.micro && c.all() > 0 {
		v = m.score(c)
	}
	return []string{m.name}, []float64{v}
}

func (m *binary) Value() ([]string, []float64)  { return m.value(&m.total, &m.allTotal) }
func (m *binary) Window() ([]string, []float64) { return m.value(&m.window, &m.allWind) }
func (m *binary) ResetWindow()                  { m.window, m.allWind = tally{}, counts{} }
func (m *binary) Reset() {
	m.ResetWindow()
	m.total, m.allTotal = tally{}, counts{}
}
