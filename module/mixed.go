package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// MixedPrecision makes layers that are mostly products (convolutions, dense and recurrent layers)
// compute in float16 or bfloat16. Losses, norms over layers, exponentials and sums stay in float32,
// everything else computes in the type of its inputs. Parameters, their gradients, the optimizer's
// states and checkpoints stay float32.
//
// In float16 the gradients are scaled, because small ones would vanish: by a factor that is found
// while training goes on, unless LossScale says otherwise.
func MixedPrecision(t dtype.Type) Option {
	return func(c *config) { c.precision = t }
}

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

// LossScale says how gradients are scaled in mixed precision. Without it float16 gradients are
// scaled as the zero Scaling says, and bfloat16 gradients are not, because bfloat16 has the range
// of float32.
func LossScale(s Scaling) Option {
	return func(c *config) { c.scaling = &s }
}

// minLossScale is the factor below which gradients that are not finite are the network's fault.
const minLossScale = 1.0 / (1 << 16)

// scaler is the state of a Scaling: pure, but for the arrays that hold the factor.
type scaler struct {
	Scaling
	scales  []*sym.LossScale // of the devices
	good    int              // batches since the factor has changed
	skipped int
	journal *scaleJournal                 // of a worker of a job; nil: there is none
	byPlace map[device.Device][]*nd.Array // the gradients looked at, kept to be used again
}

// newScaler returns the state for a configuration, nil where gradients are not scaled.
func newScaler(c *config) (*scaler, error) {
	s := Scaling{}
	switch {
	case c.precision == dtype.Float32 && c.scaling != nil:
		return nil, fmt.Errorf("module: LossScale without MixedPrecision")
	case c.scaling != nil:
		s = *c.scaling
	case c.precision != dtype.Float16:
		return nil, nil
	}
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
		return nil, fmt.Errorf("module: LossScale from %v to %v with a window of %d batches, "+
			"want positive numbers, the second not below the first", s.Initial, s.Max, s.Window)
	}
	out := &scaler{Scaling: s, byPlace: map[device.Device][]*nd.Array{}}
	for _, d := range c.places() {
		out.scales = append(out.scales, sym.NewLossScale(d, s.Initial))
	}
	return out, nil
}

// value returns the factor, which is the same on all devices.
func (s *scaler) value() float64 { return s.scales[0].Value() }

// next takes note of a batch and returns the factor of the next one.
func (s *scaler) next(finite bool) (factor float64, err error) {
	factor = s.value()
	if !finite {
		s.good = 0
		s.skipped++
		if factor /= 2; factor < minLossScale {
			return factor, fmt.Errorf("module: gradients are not finite even with a loss scale "+
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
func (s *scaler) finite(grads map[string]*nd.Array) (ok bool, err error) {
	defer op.Recover(&err)
	for d, list := range s.byPlace {
		s.byPlace[d] = list[:0]
	}
	for _, g := range grads {
		s.byPlace[g.Device()] = append(s.byPlace[g.Device()], g)
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
func (s *scaler) overflowed(grads map[string]*nd.Array, steps uint64) (bool, error) {
	if s.Fixed {
		return false, nil
	}
	finite, err := s.finite(grads)
	if err != nil {
		return false, fmt.Errorf("module: %w", err)
	}
	factor, err := s.next(finite)
	if err == nil && s.good == 0 && s.journal != nil {
		err = s.journal.add(scaleEvent{steps, exact(factor), s.skipped})
	}
	if err != nil {
		return true, err
	}
	if factor != s.value() {
		for _, scale := range s.scales {
			scale.Set(factor)
		}
	}
	return !finite, nil
}

// scaleJournal keeps the last changes of a worker's loss scale in a file of its job, so that a
// process which takes the worker's place finds the scale that belongs to the step with which it
// goes on. A change is written before the gradients of its step are pushed: at most one is ahead of
// the job.
type scaleJournal struct {
	path   string
	events []scaleEvent // the last two, in their order
}

// scaleEvent is the state of a loss scale after a step at which its count of good batches began
// anew.
type scaleEvent struct {
	Steps   uint64 `json:"steps"` // of training, that one included
	Value   exact  `json:"value"`
	Skipped int    `json:"skipped"`
}

// add writes a change.
func (j *scaleJournal) add(e scaleEvent) error {
	j.events = append(j.events, e)
	if n := len(j.events); n > 2 {
		j.events = j.events[n-2:]
	}
	text, err := json.Marshal(j.events)
	if err == nil {
		err = checkpoint.WriteFile(j.path, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("module: loss scale: %w", err)
	}
	return nil
}

// load reads the changes of the process before.
func (j *scaleJournal) load() error {
	text, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &j.events)
	}
	for _, e := range j.events {
		if err == nil && !(e.Value > 0) {
			err = fmt.Errorf("a loss scale of %v", e.Value)
		}
	}
	if err != nil {
		return fmt.Errorf("module: loss scale: %s: %w", j.path, err)
	}
	return nil
}

// keepScale begins the journal of the loss scale in a job that has a folder.
func (f *fitting) keepScale(job *kvstore.Job) error {
	s := f.m.trainer.scaler
	if s == nil || s.Fixed || job == nil || f.m.trainer.store == nil {
		return nil
	}
	path := job.OwnFile("scale")
	if path == "" {
		return nil
	}
	s.journal = &scaleJournal{path: path}
	return s.journal.load()
}

// rejoin gives the loss scale the state after so many steps.
func (s *scaler) rejoin(steps uint64) {
	if s.journal == nil {
		return
	}
	at := scaleEvent{Value: exact(s.Initial)}
	for _, e := range s.journal.events {
		if e.Steps <= steps {
			at = e
		}
	}
	s.set(float64(at.Value), int(steps-at.Steps), at.Skipped)
}

// set gives the loss scale a state.
func (s *scaler) set(value float64, good, skipped int) {
	s.good, s.skipped = good, skipped
	for _, scale := range s.scales {
		scale.Set(value)
	}
}
