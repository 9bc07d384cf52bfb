package gluon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"gomx/checkpoint"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/trainer"
)

// latest returns the file from which this worker of a job continues: the last one that does not lie
// behind the steps that the store knows. It is empty if there is no file; a worker then repeats all
// steps.
func (r *Run) latest() (string, error) {
	paths := []string{r.path}
	if j := kvstore.JobOf(r.t.config.ctx); j != nil && j.Restored() != "" {
		paths = append(paths, workerFile(j.Restored(), r.job.Rank()))
	}
	best, known, found := "", r.job.Resumed(), uint64(0)
	var later error
	for _, path := range paths {
		text, _, err := checkpoint.LoadRun(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		rec := trainer.Run{}
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w (remove the file to begin anew)", path, err)
		case rec.Steps > known:
			later = fmt.Errorf("%s: it is of step %d, the servers of the job have %d steps: start "+
				"the job with --snapshots and --resume to continue it, or remove the files of all "+
				"workers to begin anew", path, rec.Steps, known)
		case best == "" || rec.Steps > found:
			best, found = path, rec.Steps
		}
	}
	if best == "" {
		return "", later
	}
	return best, nil
}

// workerFile is the file of a worker in the folder of a snapshot.
func workerFile(snapshot string, rank int) string {
	return filepath.Join(snapshot, "worker-"+strconv.Itoa(rank))
}

// rejoin makes the trainer use the store of the job again, at the step that has been restored. The
// parameters are those of this step, also where the store has the next ones already.
func (r *Run) rejoin(rec *runRecord, arrays map[string]*nd.Array) error {
	t := r.t
	if r.onServers() {
		t.factor = float64(rec.Factor)
		t.settle()
	}
	join := t.open
	if t.opened {
		join = func() error { return t.catchUp(r.job) } // NewElastic uses the store
	}
	if err := join(); err != nil {
		return err
	}
	if t.core.Store() != nil {
		t.core.Updater().SetUpdates(int(rec.Steps)) // for LearningRate
	}
	if t.behind == 0 {
		return nil
	}
	return r.restoreParams(arrays)
}

// snapshot writes a snapshot of the job if it has a folder for them. The file of this worker is in
// it before it is complete.
func (r *Run) snapshot(rec *runRecord, arrays []checkpoint.Named) error {
	t := r.t
	j := kvstore.JobOf(t.config.ctx)
	if j == nil || j.Snapshots() == "" || !t.opened || t.steps == 0 || t.behind > 0 {
		return nil
	}
	kv, err := kvstore.Need[kvstore.Snapshotter](r.job, "Save")
	if err != nil {
		return err
	}
	folder := kvstore.SnapshotFolder(j.Snapshots(), t.steps)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := trainer.WriteRun(workerFile(folder, r.job.Rank()), rec, arrays); err != nil {
		return err
	}
	if err := kv.Snapshot(t.config.ctx, t.steps); err != nil {
		return fmt.Errorf("snapshot after step %d: %w", t.steps, err)
	}
	return nil
}
