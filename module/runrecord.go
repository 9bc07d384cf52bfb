package module

import (
	"encoding/json"
	"fmt"
	"time"

	"gomx/trainer"
)

// runRecord is the description in the file of a run. The arrays of the run are beside it in the
// file.
type runRecord struct {
	trainer.Run
	Train json.RawMessage `json:"train,omitempty"` // state of the iterator

	Epoch int `json:"epoch"` // to go on with
	// of the epoch, to go on with; 0: the epoch has not begun
	Batch   int  `json:"batch"`
	Round   int  `json:"round"`   // of a job, after which this is
	Drifted bool `json:"drifted"` // the devices' auxiliary states differ

	Validation json.RawMessage `json:"validation,omitempty"` // state of the iterator
	Scored     int             `json:"scored"`               // epochs of the validation data so far
	Metric     []byte          `json:"metric,omitempty"`     // within an epoch

	Samples     int           `json:"samples"` // of the epoch so far
	Batches     int           `json:"batches"`
	Time        time.Duration `json:"time"`
	Checkpoints []int         `json:"checkpoints"` // that KeepLast has not removed
	History     historyRecord `json:"history"`
}

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
	Value trainer.Exact
}

func (s Scores) record() []scoreRecord {
	var list []scoreRecord
	for _, v := range s {
		list = append(list, scoreRecord{v.Name, trainer.Exact(v.Value)})
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
	return rec, rec.Check()
}
