package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"gomx/checkpoint"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Run is the part of the file of a run that all runs have. Programs embed it into their own record,
// which JSON writes as one object. The arrays of the run are beside the record in the file.
type Run struct {
	Identity []Identity     `json:"identity"`
	Steps    uint64         `json:"steps"` // of training, which place the networks' random streams
	Random   nd.StreamState `json:"random"`
	Params   []ParamRecord  `json:"params"` // in the order of the optimizer's numbers
	Scale    *ScaleRecord   `json:"scale,omitempty"`
}

// Identity is one property by which runs are told apart.
type Identity struct{ Name, Value string }

// Describe describes the trainer and the random stream of the arrays in r.
func (t *Trainer) Describe(r *Run) {
	r.Random, r.Scale, r.Params = nd.RandomState(), t.Scaler.Record(), t.record()
}

// Check reports values that no Describe has written.
func (r *Run) Check() error {
	if s := r.Scale; s != nil && !(s.Value > 0) {
		return fmt.Errorf("loss scale %v, want a positive number", s.Value)
	}
	return nil
}

// OptimizerIdentity tells runs apart by the kind and the settings of the optimizer.
func (t *Trainer) OptimizerIdentity() Identity {
	opt := t.updater.Optimizer()
	settings := opt.Name()
	if text, err := optimizer.Encode(opt); err == nil {
		settings = string(text)
	}
	return Identity{"optimizer", settings}
}

// WorkerFile names the file of a worker's run in the folder of a job's snapshot.
func WorkerFile(snapshot string, rank int) string {
	return filepath.Join(snapshot, "worker-"+strconv.Itoa(rank))
}

// WriteRun writes the file of a run: a record, which JSON can write, and arrays. It makes folders.
func WriteRun(path string, record any, arrays []checkpoint.Named) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return checkpoint.SaveRun(path, text, arrays)
}

// ReadRun lets restore take over the file of a run. It does nothing if there is no file.
func ReadRun(path string, restore func(text []byte, arrays map[string]*nd.Array) error) error {
	text, arrays, err := checkpoint.LoadRun(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = restore(text, arrays)
	}
	if err != nil {
		return fmt.Errorf("%s: %w (remove the file to begin anew)", path, err)
	}
	return nil
}

// SameRun compares the properties of the saved run with the properties of the run that is to
// continue it. It reports the first difference.
func SameRun(saved, present []Identity) error {
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
