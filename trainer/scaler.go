package trainer

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Scaling is the factor by which mixed precision multiplies the gradients where they begin, and
// divides them where they end. It is halved when a gradient is infinite or NaN, and the batch is
// skipped: no parameter changes. After Window batches that went well it is doubled.
//
// A worker of a job that skips a batch takes part in the round with gradients of zero. To know
// whether gradients are finite costs a wait for them after every batch.
type Scaling struct {
	Initial float64 // 0: 65536
	Max     float64 // 0: 2^24
	Window  int     // 0: 2000
	Fixed   bool    // Initial holds, and nothing is skipped
}

// minLossScale is the factor below which gradients that are not finite are the network's fault.
const minLossScale = 1.0 / (1 << 16)

// Scaler is the state of a Scaling: pure, but for the gradients that it looks at.
type Scaler struct {
	Scaling
	value   float64
	apply   func(factor float64) // gives a new factor to everything that multiplies by it
	good    int                  // batches since the factor has changed
	skipped int
	journal *scaleJournal         // of a worker of a job; nil: there is none
	byPlace map[place][]*nd.Array // the gradients looked at, kept to be used again
}

// place is where arrays can be looked at together.
type place struct {
	dev   device.Device
	dtype dtype.Type
}

// NewScaler returns the state at the beginning. Apply is called with each new factor, but not with
// the first; it may be nil.
func NewScaler(s Scaling, apply func(factor float64)) (*Scaler, error) {
	if s.Initial == 0 {
		s.Initial = 1 << 16
	}
	if s.Max == 0 {
		s.Max = max(1<<24, s.Initial)
	}
	if s.Window == 0 {
		s.Window = 2000
	}
	if !(s.Initial > 0 && s.Max >= s.Initial) || s.Window < 0 {
		return nil, fmt.Errorf("LossScale from %v to %v with a window of %d batches, "+
			"want positive numbers, the second not below the first", s.Initial, s.Max, s.Window)
	}
	if apply == nil {
		apply = func(float64) {}
	}
	return &Scaler{Scaling: s, value: s.Initial, apply: apply,
		byPlace: map[place][]*nd.Array{}}, nil
}

// Value returns the factor.
func (s *Scaler) Value() float64 { return s.value }

// Skipped returns the number of batches that were passed over because a gradient was not finite.
func (s *Scaler) Skipped() int { return s.skipped }

// next takes note of a batch and returns the factor of the next one.
func (s *Scaler) next(finite bool) (factor float64, err error) {
	factor = s.value
	if !finite {
		s.good = 0
		s.skipped++
		if factor /= 2; factor < minLossScale {
			return factor, fmt.Errorf("gradients are not finite even with a loss scale "+
				"of %v: the network diverges", factor*2)
		}
		return factor, nil
	}
	if s.good++; s.good >= s.Window {
		s.good = 0
		factor = min(2*factor, s.Max)
	}
	return factor, nil
}

// finite waits for gradients and reports whether all their elements are finite numbers.
func (s *Scaler) finite(grads map[string]*nd.Array) (ok bool, err error) {
	defer op.Recover(&err)
	for at, list := range s.byPlace {
		s.byPlace[at] = list[:0]
	}
	for _, g := range grads {
		at := place{g.Device(), g.DType()}
		s.byPlace[at] = append(s.byPlace[at], g)
	}
	var answers []*nd.Array
	for _, list := range s.byPlace {
		if len(list) > 0 {
			answers = append(answers, nd.MultiAllFinite(list, nd.MultiAllFiniteParams{}))
		}
	}
	defer closeAll(answers)
	ok = true
	for _, a := range answers {
		v, err := a.Float32s()
		if err != nil {
			return false, err
		}
		ok = ok && v[0] == 1
	}
	return ok, nil
}

// overflowed reports whether the gradients of step number steps cannot be used, and chooses the
// factor of the next batch. With a fixed factor they always can.
func (s *Scaler) overflowed(grads map[string]*nd.Array, steps uint64) (bool, error) {
	if s.Fixed {
		return false, nil
	}
	finite, err := s.finite(grads)
	if err != nil {
		return false, err
	}
	factor, err := s.next(finite)
	if err == nil && s.good == 0 && s.journal != nil {
		err = s.journal.add(scaleEvent{steps, Exact(factor), s.skipped})
	}
	if err != nil {
		return true, err
	}
	if factor != s.value {
		s.value = factor
		s.apply(factor)
	}
	return !finite, nil
}

// KeepJournal writes the changes of the factor to a file from now on, and reads the changes that
// the process before has written there. A fixed factor has no changes.
func (s *Scaler) KeepJournal(path string) error {
	if s.Fixed {
		return nil
	}
	s.journal = &scaleJournal{path: path}
	return s.journal.load()
}

// Rejoin gives the loss scale the state after so many steps, by the journal if there is one.
func (s *Scaler) Rejoin(steps uint64) {
	if s.journal == nil {
		return
	}
	at := scaleEvent{Value: Exact(s.Initial)}
	for _, e := range s.journal.events {
		if e.Steps <= steps {
			at = e
		}
	}
	s.set(float64(at.Value), int(steps-at.Steps), at.Skipped)
}

// Note writes the present state, after so many steps, to the journal, if there is one.
func (s *Scaler) Note(steps uint64) error {
	if s.journal == nil {
		return nil
	}
	return s.journal.add(scaleEvent{steps - uint64(s.good), Exact(s.value), s.skipped})
}

// ScaleRecord is the state of a Scaler in a file.
type ScaleRecord struct {
	Value   Exact `json:"value"`
	Good    int   `json:"good"`
	Skipped int   `json:"skipped"`
}

// Record returns the state, nil for a Scaler that is nil.
func (s *Scaler) Record() *ScaleRecord {
	if s == nil {
		return nil
	}
	return &ScaleRecord{Exact(s.value), s.good, s.skipped}
}

// Restore takes a state over. It does nothing if either is nil.
func (s *Scaler) Restore(r *ScaleRecord) {
	if s != nil && r != nil {
		s.set(float64(r.Value), r.Good, r.Skipped)
	}
}

// set gives the loss scale a state.
func (s *Scaler) set(value float64, good, skipped int) {
	s.value, s.good, s.skipped = value, good, skipped
	s.apply(value)
}
