package metric

import (
	"fmt"
	"math"

	nd "gomx/ndarray"
)

// Confusion is the metric pcc with its confusion matrix: the number of samples by true class and
// predicted class.
type Confusion struct {
	name          string
	total, window table
	read          reader
}

// table is a growing square matrix of counts: cell p*k+l holds the number of samples of class l
// that were predicted as class p.
type table struct {
	k     int // number of classes
	cells []float64
}

func (s *table) at(p, l int) float64 { return s.cells[p*s.k+l] }

func (s *table) grow(k int) {
	if k <= s.k {
		return
	}
	cells := make([]float64, k*k)
	for p := range s.k {
		copy(cells[p*k:], s.cells[p*s.k:(p+1)*s.k])
	}
	s.k, s.cells = k, cells
}

func (s *table) count(p, l int) {
	s.grow(max(p, l) + 1)
	s.cells[p*s.k+l]++
}

// mcc returns the multiclass Matthews correlation coefficient, NaN if it is not defined.
func (s *table) mcc() float64 {
	var n, trace float64
	for p := range s.k {
		trace += s.at(p, p)
		for l := range s.k {
			n += s.at(p, l)
		}
	}
	var xx, yy, xy float64
	for c := range s.k {
		var x, y float64
		for o := range s.k {
			x, y = x+s.at(c, o), y+s.at(o, c)
		}
		xx, yy, xy = xx+x*(n-x), yy+y*(n-y), xy+s.at(c, c)*n-x*y
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return xy / math.Sqrt(xx*yy)
}

// PCC is the correlation of predicted and true classes for any number of classes; for two classes
// it is Matthews' coefficient. It uses the option Name.
func PCC(opts ...Option) Metric { return newConfusion("pcc", opts) }

// ConfusionMatrix is PCC with a method that returns the matrix of counts.
func ConfusionMatrix(opts ...Option) *Confusion { return newConfusion("pcc", opts) }

func newConfusion(name string, opts []Option) *Confusion {
	return &Confusion{name: configure(name, 1, opts).name}
}

// maxClasses bounds the size of the matrix, because labels are untrusted input.
const maxClasses = 1 << 13

// Update adds a batch.
func (m *Confusion) Update(labels, preds []*nd.Array) error {
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
		if err := m.add(label, pred); err != nil {
			return fmt.Errorf("metric %s: pair %d: %w", m.name, i, err)
		}
	}
	return nil
}

func (m *Confusion) add(label, pred *view) error {
	classes, same := 1, label.shape.Equal(pred.shape)
	if !same {
		n, width := pred.rows()
		if len(pred.shape) != 2 || width == 0 {
			return fmt.Errorf("prediction of shape %v, want (n, classes)", pred.shape)
		}
		if err := sameCount(label, pred, n); err != nil {
			return err
		}
		classes = width
	}
	for i, l := range label.data {
		p := int(pred.data[i*classes])
		if !same {
			p = argmax(pred.data[i*classes:], classes, 1)
		}
		if l < 0 || l >= maxClasses || p < 0 || p >= maxClasses {
			return fmt.Errorf("label %v, predicted class %d of sample %d, want 0 to %d", l, p, i,
				maxClasses-1)
		}
		m.total.count(p, int(l))
		m.window.count(p, int(l))
	}
	return nil
}

// Matrix returns the counts: m[l][p] samples of class l were predicted as class p.
func (m *Confusion) Matrix() [][]int {
	rows := make([][]int, m.total.k)
	for l := range rows {
		rows[l] = make([]int, m.total.k)
		for p := range rows[l] {
			rows[l][p] = int(m.total.at(p, l))
		}
	}
	return rows
}

// FindConfusion returns the confusion matrix that a metric is or, in a Composite, has; nil if there is
// none.
func FindConfusion(m Metric) *Confusion {
	switch x := m.(type) {
	case *Confusion:
		return x
	case composite:
		for _, part := range x {
			if c := FindConfusion(part); c != nil {
				return c
			}
		}
	}
	return nil
}

// Value returns the correlation since Reset.
func (m *Confusion) Value() ([]string, []float64) {
	return []string{m.name}, []float64{m.total.mcc()}
}

// Window returns the correlation since ResetWindow or Reset.
func (m *Confusion) Window() ([]string, []float64) {
	return []string{m.name}, []float64{m.window.mcc()}
}

// ResetWindow begins a new window.
func (m *Confusion) ResetWindow() { clear(m.window.cells) }

// Reset forgets all batches.
func (m *Confusion) Reset() {
	clear(m.total.cells)
	clear(m.window.cells)
}
