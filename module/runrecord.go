package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	nd "gomx/ndarray"
	"gomx/optimizer"
)

// runRecord is the description in the file of a run. The arrays of the run are beside it in the
// file.
type runRecord struct {
	Identity []identity `json:"identity"`
	Epoch    int        `json:"epoch"` // to go on with
	// of the epoch, to go on with; 0: the epoch has not begun
	Batch   int            `json:"batch"`
	Round   int            `json:"round"` // of a job, after which this is
	Steps   uint64         `json:"steps"` // of training, which place the networks' random streams
	Random  nd.StreamState `json:"random"`
	Drifted bool           `json:"drifted"` // the devices' auxiliary states differ

	Params []paramRecord `json:"params"` // in the order of the optimizer's numbers
	Scale  *scaleRecord  `json:"scale,omitempty"`

	Train      json.RawMessage `json:"train,omitempty"`      // state of the iterator
	Validation json.RawMessage `json:"validation,omitempty"` // state of the iterator
	Scored     int             `json:"scored"`               // epochs of the validation data so far
	Metric     []byte          `json:"metric,omitempty"`     // within an epoch

	Samples     int           `json:"samples"` // of the epoch so far
	Batches     int           `json:"batches"`
	Time        time.Duration `json:"time"`
	Checkpoints []int         `json:"checkpoints"` // that KeepLast has not removed
	History     historyRecord `json:"history"`
}

// identity is one property by which runs are told apart.
type identity struct{ Name, Value string }

// paramRecord holds the optimizer's counts and numbers for a parameter.
type paramRecord struct {
	Count     int       `json:"count"`
	Updates   int       `json:"updates"`
	Own       exactPair `json:"own"`
	Shared    exactPair `json:"shared"`
	States    int       `json:"states"` // arrays; -1: it has not been updated
	Collected bool      `json:"collected,omitempty"`
}

// scaleRecord is a loss scale.
type scaleRecord struct {
	Value   exact `json:"value"`
	Good    int   `json:"good"`
	Skipped int   `json:"skipped"`
}

// exact is a number that JSON keeps as it is: NaN and the infinities too.
type exact float64

// MarshalJSON writes the shortest text that reads back as the same number.
func (e exact) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatFloat(float64(e), 'g', -1, 64)), nil
}

// UnmarshalJSON reads the number that MarshalJSON has written.
func (e *exact) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(text, 64)
	*e = exact(v)
	return err
}

// exactPair is an optimizer.Memory.
type exactPair [2]exact

func (p exactPair) memory() optimizer.Memory {
	return optimizer.Memory{float64(p[0]), float64(p[1])}
}

func pairOf(m optimizer.Memory) exactPair { return exactPair{exact(m[0]), exact(m[1])} }

// UnmarshalJSON reads a pair.
func (p *exactPair) UnmarshalJSON(b []byte) error {
	var list []exact
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(p) {
		return fmt.Errorf("%d numbers, want %d", len(list), len(p))
	}
	copy(p[:], list)
	return nil
}

// MarshalJSON writes a pair.
func (p exactPair) MarshalJSON() ([]byte, error) { return json.Marshal(p[:]) }

// historyRecord is a History.
type historyRecord struct {
	Batches []batchRecord `json:"batches"`
	Epochs  []epochRecord `json:"epochs"`
}

type batchRecord struct {
	Epoch, Batch int
	Scores       []scoreRecord
}

type epochRecord struct {
	Epoch             int
	Train, Validation []scoreRecord
	Samples, Batches  int
	Time              time.Duration
}

type scoreRecord struct {
	Name  string
	Value exact
}

func (s Scores) record() []scoreRecord {
	var list []scoreRecord
	for _, v := range s {
		list = append(list, scoreRecord{v.Name, exact(v.Value)})
	}
	return list
}

func scoresOf(list []scoreRecord) Scores {
	var s Scores
	for _, v := range list {
		s = append(s, Score{v.Name, float64(v.Value)})
	}
	return s
}

func (h *History) record() historyRecord {
	var r historyRecord
	for _, b := range h.Batches {
		r.Batches = append(r.Batches, batchRecord{b.Epoch, b.Batch, b.Scores.record()})
	}
	for _, e := range h.Epochs {
		r.Epochs = append(r.Epochs, epochRecord{e.Epoch, e.Train.record(), e.Validation.record(),
			e.Samples, e.Batches, e.Time})
	}
	return r
}

func (r *historyRecord) history() History {
	var h History
	for _, b := range r.Batches {
		h.Batches = append(h.Batches, BatchScore{b.Epoch, b.Batch, scoresOf(b.Scores)})
	}
	for _, e := range r.Epochs {
		h.Epochs = append(h.Epochs, EpochEnd{e.Epoch, scoresOf(e.Train), scoresOf(e.Validation),
			e.Samples, e.Batches, e.Time})
	}
	return h
}

// parseRun reads the description of a run.
func parseRun(text []byte) (*runRecord, error) {
	rec := &runRecord{}
	if err := json.Unmarshal(text, rec); err != nil {
		return nil, err
	}
	if rec.Epoch < 0 || rec.Batch < 0 || rec.Scored < 0 {
		return nil, fmt.Errorf("at batch %d of epoch %d, want 0 or more", rec.Batch, rec.Epoch)
	}
	if s := rec.Scale; s != nil && !(s.Value > 0) {
		return nil, fmt.Errorf("loss scale %v, want a positive number", s.Value)
	}
	return rec, nil
}

// sameRun compares the properties of the saved run with the properties of the run that is to
// continue it. It reports the first difference.
func sameRun(saved, present []identity) error {
	if len(saved) != len(present) {
		return errors.New("it describes a run in another way than this version does")
	}
	for i, p := range present {
		if saved[i] != p {
			return fmt.Errorf("it is of a run with %s %s, this one has %s", saved[i].Name,
				saved[i].Value, p.Value)
		}
	}
	return nil
}
