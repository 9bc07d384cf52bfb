package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/training"
)

// epochRun is Fit's work in one epoch.
type epochRun struct {
	*fitting
	epoch int
	at    place
	start time.Time
	shown bool          // reporters know of the epoch
	ended bool          // this worker's data has ended
	ahead *dataio.Batch // the next batch, if it has been read already
}

// epoch trains on the data once, measures, saves and reports. An epoch whose rounds are all left
// out, because an earlier process in this place has trained on them, is passed over: no callback
// and no reporter runs for it, and its saved files stay.
func (f *fitting) epoch(ctx context.Context, epoch int) error {
	r := &epochRun{fitting: f, epoch: epoch, at: f.at}
	f.at = place{}
	r.start = time.Now().Add(-r.at.time)
	if !r.at.within {
		f.config.metric.Reset()
		if err := f.train.Reset(); err != nil {
			return err
		}
		if err := r.reshare(); err != nil {
			return err
		}
	} else if f.back {
		if err := r.reshare(); err != nil {
			return err
		}
	}
	f.back, f.reading = false, epoch
	for n := r.at.next; ; n++ {
		if err := f.mark(epoch, n, r.at); err != nil {
			return err
		}
		more, err := r.round(ctx, n)
		if err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		if !more {
			break
		}
	}
	if !r.at.within {
		return f.passOver(ctx, epoch)
	}
	if err := f.m.Wait(ctx); err != nil {
		return err
	}
	end := EpochEnd{Epoch: epoch, Train: training.ScoresOf(f.config.metric.Value()),
		Samples: r.at.samples,
		Batches: r.at.batches, Time: time.Since(r.start)}
	if err := f.finish(ctx, &end); err != nil {
		return err
	}
	if err := f.keepPlace(epoch+1, 0, place{}); err != nil {
		return err
	}
	if err := f.mark(epoch+1, 0, place{}); err != nil {
		return err
	}
	return f.snapshotEpoch(ctx, epoch+1)
}

// round trains on batch n, or leaves it out if an earlier process has trained on it. When this
// worker's data has ended it takes part in the rounds that other workers still have. It reports
// whether there was a round n.
func (r *epochRun) round(ctx context.Context, n int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if r.share.resumed > 0 {
		return r.leftOut(ctx, n)
	}
	b, err := r.next(ctx)
	if err != nil || b == nil && !r.goesOn(n) {
		return false, cmp.Or(err, r.empty(n))
	}
	changed, err := r.regroup(ctx, n)
	if err == nil && changed {
		r.ahead = nil
		b, err = r.next(ctx)
	}
	if err != nil {
		return false, err
	}
	r.begin()
	if b == nil {
		if err := prefixed(r.m.trainer.Store().Idle()); err != nil {
			return false, err
		}
		return true, r.passed(ctx, n+1)
	}
	if err := r.batch(ctx, b, n); err != nil {
		return false, err
	}
	r.at.samples += r.train.BatchSize()
	r.at.batches++
	if every := r.config.resume.batches; every > 0 && (n+1)%every == 0 {
		r.at.time = time.Since(r.start)
		if err := r.keepPlace(r.epoch, n+1, r.at); err != nil {
			return false, err
		}
	}
	return true, r.passed(ctx, n+1)
}

// batch trains on one batch.
func (r *epochRun) batch(ctx context.Context, b *dataio.Batch, n int) error {
	c, m := &r.config, r.m
	if err := r.log.Record.Before(ctx, int64(m.replicas.stream.steps)+1); err != nil {
		return err
	}
	if err := forwardBackward(ctx, m, b); err != nil {
		return err
	}
	if err := r.lookAhead(ctx); err != nil {
		return err
	}
	if err := m.Update(); err != nil {
		return err
	}
	if m.pipe == nil || m.pipe.scores(m.net.symbol) {
		if err := m.UpdateMetric(c.metric, b.Label); err != nil {
			return err
		}
	}
	if c.guard {
		// Waiting here makes sure that the error of a batch is not taken for the next one's.
		if err := m.Wait(ctx); err != nil {
			return err
		}
	}
	if r.log.Record != nil {
		r.log.Step.Number, r.log.Step.Rate = int64(m.replicas.stream.steps), m.trainer.Updater().LR()
	}
	if err := r.log.Batch(r.epoch, n, r.train.BatchSize()); err != nil {
		return err
	}
	return recorded(ctx, r.fitting)
}

// next returns the next batch, nil when the epoch has no more for this worker.
func (r *epochRun) next(ctx context.Context) (*dataio.Batch, error) {
	if b := r.ahead; b != nil {
		r.ahead = nil
		return b, nil
	}
	if r.ended {
		return nil, nil
	}
	b, err := r.train.Next(ctx)
	if errors.Is(err, io.EOF) {
		r.ended = true
		return nil, nil
	}
	return b, err
}

// lookAhead reads the next batch while the present one is computed, and starts to pull the rows that
// only the next one reads, in stores that let it do so.
func (r *epochRun) lookAhead(ctx context.Context) error {
	p := pulls{r.m}
	if !p.canAhead() {
		return nil
	}
	b, err := r.next(ctx)
	if err != nil || b == nil {
		return err
	}
	r.ahead = b
	return p.ahead(b)
}

// goesOn reports whether other workers have a batch n when this one has none.
func (r *epochRun) goesOn(n int) bool { return r.m.trainer.Store() != nil && n < r.share.rounds }

// empty returns an error if the epoch of this worker ends before its first batch.
func (r *epochRun) empty(n int) error {
	if n == 0 {
		return errors.New("module: the iterator has no batches")
	}
	return nil
}

// leftOut is round for a round that an earlier process has taken part in, or that has closed.
func (r *epochRun) leftOut(ctx context.Context, n int) (more bool, err error) {
	if !r.ended {
		err = dataio.Skip(ctx, r.train, 1)
	}
	switch {
	case errors.Is(err, io.EOF):
		r.ended = true
	case err != nil:
		return false, err
	case !r.ended:
		r.m.replicas.stream.steps++
		return true, r.leaveOut(ctx, n+1)
	}
	if !r.goesOn(n) {
		return false, r.empty(n)
	}
	return true, r.leaveOut(ctx, n+1)
}

// begin notes that this process takes part in the epoch.
func (r *epochRun) begin() {
	r.at.within = true
	if r.shown {
		return
	}
	r.shown = true
	r.log.Begin(r.epoch)
}

// passOver is the end of an epoch of which all rounds were left out. Its parameters are saved if
// they have not been: that is so when the process before ended between the last round and the
// checkpoint, and the parameters are then those after that round.
func (f *fitting) passOver(ctx context.Context, epoch int) error {
	f.scored++
	if s, ok := f.config.validate.(interface{ SetEpoch(int) }); ok {
		s.SetEpoch(f.scored)
	}
	c := &f.config.checkpoint
	if f.share.resumed > 0 || c.prefix == "" || !f.elastic.first(f.share.rank) {
		return nil
	}
	list, err := checkpoint.Epochs(c.prefix)
	if err != nil || slices.Contains(list, epoch+1) {
		return err
	}
	if err := f.m.Wait(ctx); err != nil {
		return err
	}
	return f.save(ctx, epoch)
}

// keepUp leaves out the rounds that other workers have closed without this one, in jobs where they
// may: a push to a closed round has no effect. It first waits for the pulled parameters, because
// they show how far the others are.
func (f *fitting) keepUp(ctx context.Context) error {
	s := f.m.trainer.Store()
	if s == nil || s.KV().Backups() == 0 {
		return nil
	}
	if err := f.m.Wait(ctx); err != nil {
		return err
	}
	f.share.resumed += int(s.KV().Skip())
	return nil
}
