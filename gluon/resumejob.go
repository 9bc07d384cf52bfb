package gluon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"gomx/checkpoint"
	dataio "gomx/io"
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
		paths = append(paths, trainer.WorkerFile(j.Restored(), r.job.Rank()))
		if r.t.elastic.Survives() { // perhaps the job had fewer workers
			paths = append(paths, trainer.WorkerFile(j.Restored(), 0))
		}
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
	r.another = len(paths) > 2 && best == paths[2] && best != paths[1]
	return best, nil
}

// shareRecord is the share of the data that a worker of a group has.
type shareRecord struct {
	Part  int `json:"part"`
	Parts int `json:"parts"`
}

// sharing returns the present share of this worker; nil: the workers of the job do not change.
func (e *Elastic) sharing() *shareRecord {
	if !e.Survives() {
		return nil
	}
	return &shareRecord{e.group.Part(e.rank), len(e.group.Ranks)}
}

// same reports that the file is of another run. A run whose workers may change is the same with
// other numbers of them.
func (r *Run) same(rec *runRecord) error {
	saved, present := rec.Identity, r.identity()
	if n := len(present) - 1; rec.Share != nil && r.t.elastic.Survives() && len(saved) == n+1 {
		saved, present = saved[:n], present[:n]
	}
	err := trainer.SameRun(saved, present)
	if err != nil && rec.Share != nil && !r.t.elastic.Survives() {
		err = fmt.Errorf("%w: NewElastic before Resume continues with other numbers of workers", err)
	}
	return err
}

// restoreState takes over a state of the program. Data that had another share then is shared out anew
// from the same batch of the whole epoch on.
func (r *Run) restoreState(rec *runRecord, s dataio.Stateful, text []byte) error {
	e := r.t.elastic
	data, ok := s.(Shared)
	if begun := e.start(); ok && begun > 0 && rec.Steps == begun {
		return nil // it was shared out anew after this step
	}
	was, is := rec.Share, e.sharing()
	if !ok || was == nil || is == nil || *was == *is && !r.another {
		return s.SetState(text)
	}
	if err := data.ShareRest(was.Part, was.Parts, 0); err != nil {
		return err
	}
	if err := data.SetState(text); err != nil {
		return err
	}
	epoch, from := data.Position()
	data.SetEpoch(epoch)
	return data.ShareRest(is.Part, is.Parts, from)
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
	if err := trainer.WriteRun(trainer.WorkerFile(folder, r.job.Rank()), rec, arrays); err != nil {
		return err
	}
	if err := kv.Snapshot(t.config.ctx, t.steps); err != nil {
		return fmt.Errorf("snapshot after step %d: %w", t.steps, err)
	}
	return nil
}
