package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gomx/checkpoint"
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
	Value   Exact  `json:"value"`
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
		return fmt.Errorf("loss scale: %w", err)
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
		return fmt.Errorf("loss scale: %s: %w", j.path, err)
	}
	return nil
}
