package module

import (
	"context"
	"encoding/json"
	"fmt"

	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/trainer"
)

// elastic is Fit's part in a job whose workers come and go. All workers share out the data in the
// same way, because the group changes between the same two rounds for all of them, and the note
// that the group keeps says where in the data that was: a worker that comes later, or that takes
// the place of another one, begins there.
type elastic struct {
	on    bool // the store is kvstore.Elastic, and a round is a batch of every worker
	again dataio.Resharder
	group kvstore.Group
	note  trainer.Sharing // since when the data is shared out as it is
	anew  bool            // the job continues from a snapshot of one with another number of workers
}

// first reports whether a worker is the first one of those that are there, which saves.
func (e *elastic) first(rank int) bool {
	if e.on && len(e.group.Ranks) > 0 {
		return e.group.Part(rank) == 0
	}
	return rank == 0
}

// joinGroup finds out how the data is shared among the workers when Fit begins.
func (f *fitting) joinGroup(ctx context.Context, kv *kvstore.KV) error {
	e := &f.elastic
	if _, ok := kvstore.As[kvstore.Elastic](kv); !ok || f.m.trainer.Store().Joint() == nil {
		return nil
	}
	e.group = kv.Group()
	e.again, _ = f.train.(dataio.Resharder)
	if !f.shared {
		e.again = nil // the program has shared the data itself
	}
	e.on = true
	if err := f.arrive(ctx, kv); err != nil {
		return err
	}
	if e.group.Number == 0 || len(e.group.Note) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.group.Note, &e.note); err != nil {
		return fmt.Errorf("module: note of group %d of the job: %w", e.group.Number, err)
	}
	if f.share.resumed < e.note.Round {
		return fmt.Errorf("module: this worker has taken part in %d rounds, its group began after "+
			"round %d", f.share.resumed, e.note.Round)
	}
	// The rounds before the change are those of other groups: they are left out as a whole.
	f.share.resumed -= e.note.Round
	f.share.round = e.note.Round
	f.m.replicas.stream.steps += uint64(e.note.Round)
	f.config.begin, f.at.next = e.note.Epoch, e.note.Batch
	f.scored = e.note.Epoch
	return nil
}

// reshare shares out the rest of the epoch as the note says. It is called when an epoch begins and
// when the group changes.
func (r *epochRun) reshare() error {
	e := &r.elastic
	if !e.on || !r.shared {
		return nil
	}
	if kv := r.m.trainer.Store().KV(); !kv.Sums() {
		e.group, e.note.Epoch = kv.Group(), -1 // without rounds every worker looks for itself
	}
	if e.group.Number == 0 && !e.anew {
		return nil
	}
	part, parts := e.group.Part(r.share.rank), len(e.group.Ranks)
	from, batch := 0, 0
	if e.note.Epoch == r.epoch {
		from, batch = e.note.From, e.note.Batch
	}
	if e.again == nil {
		return r.shareWhole(part, parts, batch)
	}
	if err := e.again.Reshard(part, parts, from); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	r.ended = false
	if n, ok := r.train.(dataio.Counter); ok && r.share.rounds > 0 {
		r.share.rounds = batch + n.Batches()
	}
	return nil
}

// shareWhole shares out an epoch of data that cannot be shared out anew in the middle of one. Where
// the group has changed within the epoch, workers keep their shares until its end, and a new worker
// takes part with gradients of zero.
func (r *epochRun) shareWhole(part, parts, batch int) error {
	if batch > 0 {
		r.ended = r.ended || !r.shown
		return nil
	}
	s, ok := r.train.(dataio.Sharder)
	if !ok {
		return nil
	}
	if err := s.Shard(part, parts); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if n, ok := r.train.(dataio.Counter); ok && r.share.rounds > 0 {
		r.share.rounds = n.Batches()
	}
	return nil
}

// continueAnew continues from a worker's record in the snapshot of a job with another number of
// workers: at its place in the data, which is shared out anew from there on.
func (f *fitting) continueAnew(rec *runRecord) {
	e := &f.elastic
	e.anew, e.note = true, trainer.Sharing{Epoch: rec.Epoch, From: rec.From, Batch: rec.Batch,
		Round: rec.Round}
	f.share.resumed -= rec.Round
	f.share.round = rec.Round
	f.m.replicas.stream.steps += uint64(rec.Round)
	f.config.begin, f.at.next, f.scored = rec.Epoch, rec.Batch, rec.Scored
	f.job.taken = rec.Round
	f.seek(rec.Epoch)
}

// regroup lets the workers of the job change before batch n of an epoch, and reports whether they
// have. It returns kvstore.ErrLeft to a worker that has left.
func (r *epochRun) regroup(ctx context.Context, n int) (changed bool, err error) {
	e := &r.elastic
	if !e.on || r.On() { // survivors hear of changes by errors
		return false, nil
	}
	now := r.sharing(r.epoch, n)
	note, err := json.Marshal(now)
	if err != nil {
		return false, err
	}
	g, changed, err := r.m.trainer.Store().KV().Regroup(ctx, note)
	if err != nil {
		return false, fmt.Errorf("module: %w", err)
	}
	if !changed {
		return false, nil
	}
	if e.group, e.note = g, now; g.Part(r.share.rank) < 0 {
		return true, kvstore.ErrLeft
	}
	return true, r.reshare()
}

// sharing returns the place in the data before batch n of an epoch.
func (f *fitting) sharing(epoch, n int) trainer.Sharing {
	e := &f.elastic
	s := trainer.Sharing{Epoch: epoch, Batch: n, Round: f.share.round}
	if e.note.Epoch == epoch && (e.group.Number > 0 || e.anew) {
		s.From = e.note.From + len(e.group.Ranks)*(n-e.note.Batch)
	} else {
		s.From = len(e.group.Ranks) * n
	}
	if f.whole > 0 { // in the last round some workers may have had no batch
		s.From = min(s.From, f.whole)
	}
	return s
}
