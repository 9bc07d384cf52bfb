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
	// of a job: batches of the whole epoch that have been shared out, among so many workers last
	From  int `json:"from,omitempty"`
	Parts int `json:"parts,omitempty"`

	Validation json.RawMessage `json:"validation,omitempty"` // state of the iterator
	Scored     int             `json:"scored"`               // epochs of the validation data so far
	Metric     []byte          `json:"metric,omitempty"`     // within an epoch

	Samples     int           `json:"samples"` // of the epoch so far
	Batches     int           `json:"batches"`
	Time        time.Duration `json:"time"`
	Checkpoints []int         `json:"checkpoints"` // that KeepLast has not removed
	History     History       `json:"history"`
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
