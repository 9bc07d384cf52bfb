package module

import (
	"context"
	"fmt"

	"gomx/kvstore"
	"gomx/metric"
	"gomx/trainer"
)

// survival is Fit's part in a job whose workers go on without one that has died: all workers go back
// to the same round, take its parameters from the store, share out the rest of the epoch, and go on.
type survival struct {
	trainer.Survival[standpoint]
	back    bool // the data of the first epoch is to be shared out anew
	reading int  // epoch in which the training data is
}

// standpoint is the state of a run before a round.
type standpoint struct {
	at     place
	stream stream
	metric []byte // nil: the metric cannot say its state
	scored int
}

// arrive takes part in the group as it is when Fit begins.
func (f *fitting) arrive(ctx context.Context, kv *kvstore.KV) error {
	g, on, err := f.Arrive(ctx, kv)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if on {
		f.elastic.group = g
		f.share.resumed = int(g.Round)
		f.share.joined = f.share.resumed
	}
	return nil
}

// mark notes the standpoint before batch n of an epoch.
func (f *fitting) mark(epoch, n int, at place) error {
	if !f.On() || f.share.resumed > 0 {
		return nil
	}
	s := standpoint{at: at, stream: f.m.replicas.stream, scored: f.scored}
	s.at.next = n
	if x, ok := f.config.metric.(metric.Stateful); ok && at.within {
		text, err := x.State()
		if err != nil {
			return fmt.Errorf("module: state of the metric: %w", err)
		}
		s.metric = text
	}
	f.Mark(&f.m.trainer, f.sharing(epoch, n), s)
	return nil
}

// recover goes back to the last round that all workers of the group have, and returns the epoch to
// go on with.
func (f *fitting) recover(ctx context.Context) (epoch int, err error) {
	g, s, err := f.Recover(ctx, &f.m.trainer,
		func(s *trainer.Standpoint[standpoint]) any { return s.Sharing })
	if err != nil {
		return 0, fmt.Errorf("module: %w", err)
	}
	f.elastic.group, f.elastic.note, f.share.round = g, s.Sharing, s.Round
	f.m.history.Forget(s.Epoch, s.Batch)
	f.m.replicas.stream, f.scored = s.State.stream, s.State.scored
	return s.Epoch, f.goBack(s)
}

// goBack takes the metric and the training data back. An iterator that cannot be shared out anew
// stays where it is: the batch of a round that is taken back is lost then.
func (f *fitting) goBack(s *trainer.Standpoint[standpoint]) error {
	f.at = s.State.at
	if !f.at.within && s.Epoch != f.reading {
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
	if f.config.metric.Reset(); s.State.metric == nil {
		return nil
	}
	if err := f.config.metric.(metric.Stateful).SetState(s.State.metric); err != nil {
		return fmt.Errorf("module: state of the metric: %w", err)
	}
	return nil
}

// settle waits until no change of the group can take back the last rounds.
func (f *fitting) settle(ctx context.Context) error {
	if err := f.Settle(ctx); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}
