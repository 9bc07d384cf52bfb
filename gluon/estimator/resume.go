package estimator

import (
	"encoding/json"
	"fmt"

	"gomx/gluon"
	dataio "gomx/io"
	"gomx/metric"
	nd "gomx/ndarray"
)

// takeUp continues the run of a process before, if there is one.
func (f *fitting) takeUp() (err error) {
	s := &f.config.save
	if s.resume == "" {
		return nil
	}
	states := []dataio.Stateful{f.train, gluon.Keep(&f.place), gluon.Keep(&f.history)}
	if f.config.validate != nil {
		states = append(states, f.config.validate)
	}
	if s.batches > 0 {
		if _, err := f.metric.State(); err != nil {
			return fmt.Errorf("EveryBatches(%d): %w", s.batches, err)
		}
		states = append(states, f.metric)
	}
	f.resumed, err = gluon.Resume(s.resume, f.params, f.trainer, states...)
	f.count() // the file of an older version does not say it
	return err
}

// measures are a metric of predictions, and the mean of the losses.
type measures struct {
	user, loss metric.Metric
}

// newMeasures returns measures with a metric of the program.
func newMeasures(m metric.Metric) *measures {
	return &measures{m, metric.Loss(metric.Name("loss"))}
}

// update adds a batch.
func (m *measures) update(labels, outs, losses []*nd.Array) error {
	if err := m.Update(labels, outs); err != nil || losses == nil {
		return err
	}
	return m.loss.Update(labels, losses)
}

// Update implements metric.Metric.
func (m *measures) Update(labels, outs []*nd.Array) error { return m.user.Update(labels, outs) }

// Value implements metric.Metric.
func (m *measures) Value() (names []string, values []float64) {
	names, values = m.user.Value()
	n, v := m.loss.Value()
	return append(names, n...), append(values, v...)
}

// AppendLast implements metric.Recent.
func (m *measures) AppendLast(list []float64) []float64 {
	return metric.AppendLast(metric.AppendLast(list, m.user), m.loss)
}

// Window implements metric.Windowed.
func (m *measures) Window() (names []string, values []float64) {
	names, values = metric.Window(m.user)
	n, v := metric.Window(m.loss)
	return append(names, n...), append(values, v...)
}

// ResetWindow implements metric.Windowed.
func (m *measures) ResetWindow() {
	for _, part := range []metric.Metric{m.user, m.loss} {
		if w, ok := part.(metric.Windowed); ok {
			w.ResetWindow()
		}
	}
}

// Reset implements metric.Metric.
func (m *measures) Reset() {
	m.user.Reset()
	m.loss.Reset()
}

// State implements io.Stateful.
func (m *measures) State() ([]byte, error) {
	var list [2][]byte
	for i, part := range []metric.Metric{m.user, m.loss} {
		s, ok := part.(metric.Stateful)
		if !ok {
			return nil, fmt.Errorf("the metric %T has no State: it needs the methods of "+
				"metric.Stateful", part)
		}
		var err error
		if list[i], err = s.State(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list)
}

// SetState implements io.Stateful.
func (m *measures) SetState(text []byte) error {
	var list [2][]byte
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("state of metrics: %w", err)
	}
	for i, part := range []metric.Metric{m.user, m.loss} {
		s, ok := part.(metric.Stateful)
		if !ok {
			return fmt.Errorf("the metric %T has no SetState: it needs the methods of "+
				"metric.Stateful", part)
		}
		if err := s.SetState(list[i]); err != nil {
			return err
		}
	}
	return nil
}
