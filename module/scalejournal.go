package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gomx/checkpoint"
	"gomx/kvstore"
)

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
			_,
				err := w.Write(text)
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
	s := f.m.scaler
	if s == nil || s.Fixed || job == nil || f.m.store == nil {
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
