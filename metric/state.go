package metric

import (
	le "encoding/binary"
	"fmt"
	"math"
)

// Stateful is an optional interface of metrics that another process can continue.
type Stateful interface {
	// State returns the accumulated sums, including the sums of the window.
	State() ([]byte, error)
	// SetState replaces the accumulated sums by a state that State of a metric of the same kind has
	// returned.
	SetState(state []byte) error
}

// numbers are the floats of a metric's state, in a fixed order.
type numbers []*float64

// encode returns the bits of the numbers.
func (n numbers) encode() ([]byte, error) {
	b := make([]byte, 0, 8*len(n))
	for _, v := range n {
		b = le.LittleEndian.AppendUint64(b, math.Float64bits(*v))
	}
	return b, nil
}

// decode sets the numbers. name is the metric's name, for errors.
func (n numbers) decode(name string, b []byte) error {
	if len(b) != 8*len(n) {
		return fmt.Errorf("metric %s: state of %d bytes, want %d", name, len(b), 8*len(n))
	}
	for i, v := range n {
		*v = math.Float64frombits(le.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

func (t *tally) numbers() numbers  { return numbers{&t.sum, &t.n} }
func (c *counts) numbers() numbers { return numbers{&c.tp, &c.fp, &c.fn, &c.tn} }

func (m *mean) numbers() numbers { return append(m.total.numbers(), m.window.numbers()...) }

// State implements Stateful.
func (m *mean) State() ([]byte, error) { return m.numbers().encode() }

// SetState implements Stateful.
func (m *mean) SetState(state []byte) error { return m.numbers().decode(m.name, state) }

func (m *binary) numbers() numbers {
	n := append(m.total.numbers(), m.window.numbers()...)
	return append(append(n, m.allTotal.numbers()...), m.allWind.numbers()...)
}

// State implements Stateful.
func (m *binary) State() ([]byte, error) { return m.numbers().encode() }

// SetState implements Stateful.
func (m *binary) SetState(state []byte) error { return m.numbers().decode(m.name, state) }

func (m *pearson) numbers() numbers {
	return numbers{&m.label.n, &m.label.mean, &m.label.sse, &m.pred.n, &m.pred.mean, &m.pred.sse,
		&m.cov}
}

// State implements Stateful.
func (m *pearson) State() ([]byte, error) { return m.numbers().encode() }

// SetState implements Stateful.
func (m *pearson) SetState(state []byte) error { return m.numbers().decode(m.name, state) }

func (s *table) numbers() (n numbers) {
	for i := range s.cells {
		n = append(n, &s.cells[i])
	}
	return n
}

// State implements Stateful: the number of classes in both tables, and the counts.
func (m *Confusion) State() ([]byte, error) {
	b := le.LittleEndian.AppendUint32(nil, uint32(m.total.k))
	b = le.LittleEndian.AppendUint32(b, uint32(m.window.k))
	cells, err := append(m.total.numbers(), m.window.numbers()...).encode()
	return append(b, cells...), err
}

// SetState implements Stateful.
func (m *Confusion) SetState(state []byte) error {
	if len(state) < 8 {
		return fmt.Errorf("metric %s: state of %d bytes, want 8 or more", m.name, len(state))
	}
	k, w := uint64(le.LittleEndian.Uint32(state)), uint64(le.LittleEndian.Uint32(state[4:]))
	if state = state[8:]; k > maxClasses || w > maxClasses || uint64(len(state)) != 8*(k*k+w*w) {
		return fmt.Errorf("metric %s: state of %d and %d classes in %d bytes, want at most %d "+
			"classes and 8 bytes for each pair of them", m.name, k, w, len(state), maxClasses)
	}
	var total, window table
	total.grow(int(k))
	window.grow(int(w))
	m.total, m.window = total, window
	return append(m.total.numbers(), m.window.numbers()...).decode(m.name, state)
}

// State implements Stateful, if all metrics do.
func (c composite) State() ([]byte, error) {
	var b []byte
	for _, m := range c {
		s, ok := m.(Stateful)
		if !ok {
			return nil, fmt.Errorf("metric %T has no state: it does not implement Stateful", m)
		}
		part, err := s.State()
		if err != nil {
			return nil, err
		}
		b = le.LittleEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b, nil
}

// SetState implements Stateful, if all metrics do.
func (c composite) SetState(state []byte) error {
	for i, m := range c {
		s, ok := m.(Stateful)
		if !ok {
			return fmt.Errorf("metric %T takes no state: it does not implement Stateful", m)
		}
		if len(state) < 4 || uint64(le.LittleEndian.Uint32(state)) > uint64(len(state)-4) {
			return fmt.Errorf("metric: state of %d metrics ends before number %d", len(c), i)
		}
		n := le.LittleEndian.Uint32(state)
		if err := s.SetState(state[4 : 4+n]); err != nil {
			return err
		}
		state = state[4+n:]
	}
	if len(state) > 0 {
		return fmt.Errorf("metric: state of %d metrics has %d bytes too many", len(c), len(state))
	}
	return nil
}
