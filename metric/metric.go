package metric

import (
	"fmt"
	"math"

	nd "gomx/ndarray"
	"gomx/op"
)

// Metric compares predictions with labels over any number of batches.
type Metric interface {
	// Update adds a batch; it waits for the arrays. Label i belongs to prediction i.
	Update(labels, preds []*nd.Array) error
	// Value returns the measurements since Reset, NaN before the first batch.
	Value() (names []string, values []float64)
	Reset()
}

// Windowed is an optional interface of metrics: a window is a second accumulation over fewer
// batches.
type Windowed interface {
	// Window returns the measurements since ResetWindow or Reset.
	Window() (names []string, values []float64)
	ResetWindow()
}

// Recent is an optional interface of metrics that know the measurements of the last batch.
type Recent interface {
	// AppendLast appends the measurements of the last batch, in the order of the names of Value. It
	// allocates nothing if the list has room.
	AppendLast(list []float64) []float64
}

// AppendLast appends the measurements of the last batch, or those since Reset of a metric that does
// not know the former.
func AppendLast(list []float64, m Metric) []float64 {
	if r, ok := m.(Recent); ok {
		return r.AppendLast(list)
	}
	_, values := m.Value()
	return append(list, values...)
}

// Option changes the computation of a metric. The documentation of each metric lists the options
// that it uses; it ignores the others.
type Option func(*config)

type config struct {
	name   string
	axis   int
	eps    float64
	micro  bool
	ignore op.Opt[float64]
}

// Name gives the metric another name. All metrics use it.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Axis sets the axis of the classes in predictions; a negative axis counts from the end.
func Axis(axis int) Option { return func(c *config) { c.axis = axis } }

// Eps sets the constant added to probabilities before the logarithm.
func Eps(eps float64) Option { return func(c *config) { c.eps = eps } }

// Micro makes the metric pool the counts of all batches; without it the values of the batches are
// averaged.
func Micro() Option { return func(c *config) { c.micro = true } }

// IgnoreLabel leaves out samples with this label.
func IgnoreLabel(label float64) Option { return func(c *config) { c.ignore = op.Some(label) } }

func configure(name string, axis int, opts []Option) config {
	c := config{name: name, axis: axis, eps: 1e-12}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// tally is a sum over samples or batches, and their number n.
type tally struct{ sum, n float64 }

func (t *tally) add(sum, n float64) {
	t.sum += sum
	t.n += n
}

func (t *tally) mean() float64 {
	if t.n == 0 {
		return math.NaN()
	}
	return t.sum / t.n
}

// mean is a metric whose value is a mean over samples or batches: pair returns the sum and the
// count that one pair of label and prediction contributes.
type mean struct {
	name    string
	pair    func(label, pred *view) (sum, n float64, err error)
	final   func(mean float64) float64 // applied to the mean; nil: identity
	nolabel bool                       // pair ignores the labels and gets nil
	read    reader

	total, window tally
	last          tally // of the last batch
}

func (m *mean) Update(labels, preds []*nd.Array) error {
	if !m.nolabel {
		if err := samePairs(m.name, labels, preds); err != nil {
			return err
		}
	}
	var sum, n float64
	for i, p := range preds {
		var label *view
		if !m.nolabel {
			v, err := m.read.label(labels[i])
			if err != nil {
				return fmt.Errorf("metric %s: label %d: %w", m.name, i, err)
			}
			label = v
		}
		pred, err := m.read.pred(p)
		if err != nil {
			return fmt.Errorf("metric %s: prediction %d: %w", m.name, i, err)
		}
		s, c, err := m.pair(label, pred)
		if err != nil {
			return fmt.Errorf("metric %s: pair %d: %w", m.name, i, err)
		}
		sum, n = sum+s, n+c
	}
	m.total.add(sum, n)
	m.window.add(sum, n)
	m.last = tally{sum, n}
	return nil
}

// AppendLast implements Recent.
func (m *mean) AppendLast(list []float64) []float64 {
	v := m.last.mean()
	if m.final != nil {
		v = m.final(v)
	}
	return append(list, v)
}

func (m *mean) value(t *tally) ([]string, []float64) {
	v := t.mean()
	if m.final != nil {
		v = m.final(v)
	}
	return []string{m.name}, []float64{v}
}

func (m *mean) Value() ([]string, []float64)  { return m.value(&m.total) }
func (m *mean) Window() ([]string, []float64) { return m.value(&m.window) }
func (m *mean) ResetWindow()                  { m.window = tally{} }
func (m *mean) Reset()                        { m.total, m.window = tally{}, tally{} }

func samePairs(name string, labels, preds []*nd.Array) error {
	if len(labels) != len(preds) {
		return fmt.Errorf("metric %s: %d labels and %d predictions, want equal numbers", name,
			len(labels), len(preds))
	}
	return nil
}
