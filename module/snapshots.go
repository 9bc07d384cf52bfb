package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gomx/checkpoint"
	"gomx/kvstore"
	"gomx/metric"
	"gomx/trainer"
)

// Snapshots lets a job of several processes write snapshots of its servers after every so many
// rounds, and at the end of every epoch where every is 0. Gomx launch --resume continues from the
// last one exactly: with the parameters and states of the servers, at the batch that comes next,
// with the random streams, loss scale and history of every worker.
//
// Folder is the folder given to gomx launch --snapshots, because servers open it before the program
// runs, or a folder above it; an empty folder accepts the job's folder. A job that has a folder
// writes snapshots at the end of epochs without this option, too.
func Snapshots(folder string, every int) FitOption {
	return func(c *fitConfig) { c.snapshots = snapshotConfig{true, folder, every} }
}

type snapshotConfig struct {
	asked  bool
	folder string
	every  int // rounds; 0: at the end of epochs
}

// jobSnapshots is the state of Fit's snapshots of its job.
type jobSnapshots struct {
	kv     kvstore.Snapshotter // nil: there are none
	folder string
	every  int
	taken  int // round of the last one
	// of this worker, in the snapshot from which the job continues; nil: there is none, or it has
	// been taken over
	saved *runRecord
}

// joinSnapshots finds out whether there are snapshots to write, and one to continue from.
func (f *fitting) joinSnapshots(ctx context.Context) error {
	c, job := &f.config.snapshots, kvstore.JobOf(ctx)
	if c.every < 0 {
		return fmt.Errorf("module: Fit: Snapshots after every %d rounds, want 0 or more", c.every)
	}
	folder := ""
	if job != nil {
		folder = job.Snapshots()
	}
	if c.asked {
		if err := c.check(folder, f.m.trainer.Store()); err != nil {
			return err
		}
	}
	if f.m.trainer.Store() == nil || folder == "" || !c.asked && !f.owned {
		return nil // a program with a store of its own decides itself when snapshots are written
	}
	kv, err := kvstore.Need[kvstore.Snapshotter](f.m.trainer.Store().KV(), "Snapshots")
	if err != nil && c.asked {
		return fmt.Errorf("module: Fit: %w", err)
	} else if err != nil {
		return nil
	}
	if c.every > 0 {
		if _, err := metricState(f.config.metric); err != nil {
			return fmt.Errorf("module: Fit: Snapshots after every %d rounds: %w", c.every, err)
		}
	}
	f.job = jobSnapshots{kv: kv, folder: folder, every: c.every}
	restored := job.Restored()
	if restored == "" {
		return nil
	}
	text, _, err := checkpoint.LoadRun(trainer.WorkerFile(restored, f.share.rank))
	if errors.Is(err, fs.ErrNotExist) { // perhaps the job had fewer workers
		text, _, err = checkpoint.LoadRun(trainer.WorkerFile(restored, 0))
	}
	if errors.Is(err, fs.ErrNotExist) {
		// written by a program of its own, or newer ones have taken its place: the data follows
		// from the rounds alone
		return nil
	}
	if err != nil {
		return fmt.Errorf("module: snapshot of worker %d: %w", f.share.rank, err)
	}
	rec, err := parseRun(text)
	if err == nil {
		err = trainer.SameRun(rec.Identity, f.identity())
	}
	if err != nil {
		return fmt.Errorf("module: snapshot of worker %d in %s: %w", f.share.rank, restored, err)
	}
	if n := len(f.elastic.group.Ranks); rec.Parts > 0 && rec.Parts != n && f.elastic.on {
		if rec.Round == f.share.joined && rec.Round > 0 {
			f.continueAnew(rec)
		}
		return nil
	}
	if rec.Round == f.share.joined && rec.Round > 0 {
		f.job.saved, f.job.taken = rec, rec.Round
	}
	return nil
}

// check compares the folder that Snapshots was given with the folder of the job.
func (c *snapshotConfig) check(folder string, s *trainer.Store) error {
	switch {
	case s == nil:
		return errors.New("module: Fit: Snapshots without a store of a job: want Store with a " +
			"name that begins with dist_; in one process Resume does it")
	case folder == "":
		return fmt.Errorf("module: Fit: Snapshots: the job has no folder for them: start it "+
			"with gomx launch --snapshots %s", orFolder(c.folder))
	case c.folder == "":
		return nil
	}
	want, err := filepath.Abs(c.folder)
	if err != nil {
		return fmt.Errorf("module: Fit: Snapshots: %w", err)
	}
	if rel, err := filepath.Rel(want, folder); err != nil || rel == ".." ||
		strings.HasPrefix(rel, "../") {
		return fmt.Errorf("module: Fit: Snapshots(%q): the job's folder for snapshots is %s",
			c.folder, folder)
	}
	return nil
}

func orFolder(name string) string {
	if name == "" {
		return "FOLDER"
	}
	return name
}

// leaveOut counts a round that an earlier process has taken part in, or that has closed. Next is
// the batch that follows.
func (r *epochRun) leaveOut(ctx context.Context, next int) error {
	r.share.resumed--
	r.share.round++
	if r.share.round < r.share.joined {
		return nil // the others have gone on: its snapshot is complete
	}
	if rec := r.job.saved; rec != nil {
		r.job.saved = nil
		return r.continueFrom(ctx, rec)
	}
	if s := r.m.trainer.Scaler; s != nil && r.share.round == r.share.joined {
		s.Rejoin(r.m.replicas.stream.steps)
	}
	return r.snapshotRound(ctx, next)
}

// passed counts a round in which this worker has taken part.
func (r *epochRun) passed(ctx context.Context, next int) error {
	r.share.round++
	if err := r.keepUp(ctx); err != nil {
		return err
	}
	return r.snapshotRound(ctx, next)
}

// continueFrom takes over this worker's record in a snapshot, once all rounds before the snapshot
// have been left out.
func (r *epochRun) continueFrom(ctx context.Context, rec *runRecord) error {
	if rec.Epoch == r.epoch && rec.Batch > 0 {
		s, ok := r.config.metric.(metric.Stateful)
		if !ok {
			return fmt.Errorf("module: the metric %T cannot be given the state of the snapshot",
				r.config.metric)
		}
		if err := s.SetState(rec.Metric); err != nil {
			return err
		}
		r.at.samples, r.at.batches, r.at.within = rec.Samples, rec.Batches, true
		r.start = r.start.Add(-rec.Time)
	}
	if v := r.config.validate; v != nil && rec.Validation != nil {
		if err := setIterState(ctx, v, rec.Validation, rec.Scored, 0); err != nil {
			return fmt.Errorf("module: validation data: %w", err)
		}
	}
	r.restoreStreams(rec)
	if s := r.m.trainer.Scaler; s != nil {
		return prefixed(s.Note(r.m.replicas.stream.steps))
	}
	return nil
}

// snapshotRound writes a snapshot if one is due after the present round. The batch next is the one
// that follows.
func (r *epochRun) snapshotRound(ctx context.Context, next int) error {
	if s := &r.job; s.kv == nil || s.every == 0 || r.share.round%s.every != 0 {
		return nil
	}
	return r.snapshot(ctx, r.epoch, next, r.at)
}

// snapshotEpoch writes a snapshot at the end of an epoch, unless they are written after so many
// rounds.
func (f *fitting) snapshotEpoch(ctx context.Context, next int) error {
	if f.job.kv == nil || f.job.every > 0 || f.job.taken == f.share.round {
		return nil
	}
	return f.snapshot(ctx, next, 0, place{})
}

// snapshot writes a snapshot of the job, and before it the file of this worker, so that a snapshot
// which is complete has the files of all.
func (f *fitting) snapshot(ctx context.Context, epoch, batch int, at place) error {
	s := &f.job
	s.taken = f.share.round
	rec, err := f.record(epoch, batch, at)
	if err != nil {
		return fmt.Errorf("module: snapshot: %w", err)
	}
	rec.Round, rec.Params = f.share.round, nil // the servers have the states
	if f.elastic.on {
		rec.From, rec.Parts = f.sharing(epoch, batch).From, len(f.elastic.group.Ranks)
	}
	folder := kvstore.SnapshotFolder(s.folder, uint64(f.share.round))
	if err := trainer.WriteRun(trainer.WorkerFile(folder, f.share.rank), rec, nil); err != nil {
		return fmt.Errorf("module: snapshot: %w", err)
	}
	if err := s.kv.Snapshot(ctx, uint64(f.share.round)); err != nil {
		return fmt.Errorf("module: snapshot after round %d: %w", f.share.round, err)
	}
	return nil
}
