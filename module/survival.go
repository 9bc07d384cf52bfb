package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gomx/kvstore"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/trainer"
	"gomx/training"
)

// survival is Fit's part in a job whose workers go on without one that has died: it remembers where
// the run was before each of the last rounds. All workers go back to the same round, take its
// parameters from the store, share out the rest of the epoch, and go on.
type survival struct {
	store   kvstore.Survivor // nil: rounds wait for all workers of the job
	lately  []standpoint     // before the last rounds
	back    bool             // the data of the first epoch is to be shared out anew
	reading int              // epoch in which the training data is
}

// standpoint is the state of a run before a round, but for the values in the store.
type standpoint struct {
	sharing
	at     place
	stream stream
	random nd.StreamState
	scale  *trainer.ScaleRecord
	metric []byte // nil: the metric cannot say its state
	scored int
}

// mostLate is the number of standpoints that are kept. The group goes back by one round, and the
// computation of batches may be behind the program by two.
const mostLate = 4

// arrive takes part in the group as it is when Fit begins.
func (f *fitting) arrive(ctx context.Context, s kvstore.Survivor) (err error) {
	f.survival.store = s
	if f.elastic.group, err = s.Arrive(ctx); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	f.share.resumed = int(f.elastic.group.Round)
	f.share.joined = f.share.resumed
	return nil
}

// mark notes the standpoint before batch n of an epoch.
func (f *fitting) mark(epoch, n int, at place) error {
	v := &f.survival
	if v.store == nil || f.share.resumed > 0 {
		return nil
	}
	m := f.m
	s := standpoint{sharing: f.sharing(epoch, n), at: at, stream: m.replicas.stream,
		random: nd.RandomState(), scale: m.trainer.Scaler.Record(), scored: f.scored}
	s.at.next = n
	if x, ok := f.config.metric.(metric.Stateful); ok && at.within {
		text, err := x.State()
		if err != nil {
			return fmt.Errorf("module: state of the metric: %w", err)
		}
		s.metric = text
	}
	if k := len(v.lately); k > 0 && v.lately[k-1].Round == s.Round {
		v.lately[k-1] = s
		return nil
	}
	if len(v.lately) == mostLate {
		v.lately = append(v.lately[:0], v.lately[1:]...)
	}
	v.lately = append(v.lately, s)
	return nil
}

// survives reports whether training can go on after an error, because the group has changed.
func (v *survival) survives(err error) bool {
	return v.store != nil && errors.Is(err, kvstore.ErrRegrouped)
}

// recover goes back to the last round that all workers of the group have, and returns the epoch to
// go on with.
func (f *fitting) recover(ctx context.Context) (epoch int, err error) {
	var s *standpoint
	g, err := f.survival.store.Recover(ctx, func(rounds uint64) ([]byte, error) {
		for i := range f.lately {
			if f.lately[i].Round == int(rounds) {
				s = &f.lately[i]
				return json.Marshal(s.sharing)
			}
		}
		return nil, fmt.Errorf("the workers go back to round %d, this one is at round %d", rounds,
			f.share.round)
	})
	if err != nil {
		return 0, fmt.Errorf("module: %w", err)
	}
	if g.Part(f.share.rank) < 0 {
		return 0, kvstore.ErrLeft
	}
	f.elastic.group, f.elastic.note, f.share.round = g, s.sharing, s.Round
	f.lately = append(f.lately[:0], *s)
	s = &f.lately[0]
	s.forget(&f.m.history)
	f.m.replicas.stream, f.scored = s.stream, s.scored
	f.m.trainer.Scaler.Restore(s.scale)
	nd.SetRandomState(s.random)
	if err := f.m.trainer.Store().Pull(); err != nil {
		return 0, prefixed(err)
	}
	return s.Epoch, f.goBack(s)
}

// forget takes what lies behind the standpoint out of the history.
func (s *standpoint) forget(h *History) {
	h.Epochs = slices.DeleteFunc(h.Epochs, func(e EpochEnd) bool { return e.Epoch >= s.Epoch })
	h.Batches = slices.DeleteFunc(h.Batches, func(b training.BatchScore) bool {
		return b.Epoch > s.Epoch || b.Epoch == s.Epoch && b.Batch >= s.Batch
	})
}

// goBack takes the metric and the training data back. An iterator that cannot be shared out anew
// stays where it is: the batch of a round that is taken back is lost then.
func (f *fitting) goBack(s *standpoint) error {
	f.at = s.at
	if !s.at.within && s.Epoch != f.reading {
		return nil // the epoch begins as usual
	}
	if s.Epoch != f.reading {
		if _, ok := f.train.(interface{ SetEpoch(int) }); !ok && f.elastic.again != nil {
			return fmt.Errorf("module: the workers go back to epoch %d, and %T has no method "+
				"SetEpoch", s.Epoch, f.train)
		}
		f.seek(s.Epoch)
	}
	f.back, f.at.within = true, true
	if f.config.metric.Reset(); s.metric == nil {
		return nil
	}
	if err := f.config.metric.(metric.Stateful).SetState(s.metric); err != nil {
		return fmt.Errorf("module: state of the metric: %w", err)
	}
	return nil
}

// settle waits until no change of the group can take back the last rounds.
func (v *survival) settle(ctx context.Context) error {
	if v.store == nil {
		return nil
	}
	if err := v.store.Settle(ctx); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}
