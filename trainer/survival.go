package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gomx/kvstore"
	nd "gomx/ndarray"
)

// Sharing says where in the data the workers of a job were when their group changed. In JSON it is
// the beginning of the group's note.
type Sharing struct {
	Epoch int `json:"epoch"`
	From  int `json:"from"`  // batches of the whole epoch that were shared out before
	Batch int `json:"batch"` // rounds of the epoch before
	Round int `json:"round"` // rounds of the job before
}

// Survival is the part of a training loop in a job whose workers go on without one that has died,
// and with workers that come (kvstore.Survivor): it remembers where the loop was before each of the
// last rounds. When the group changes, all workers go back to the same round, take its parameters
// from the store, share out the rest of the epoch, and go on. S is the state of the loop.
//
// In a job with servers (Vote) the group changes between two rounds, and no round is taken back: the
// loop goes back to the place of its last Mark.
//
// Loops of other jobs have the zero value, which does nothing. It is used by one goroutine at a
// time.
type Survival[S any] struct {
	kv     *kvstore.KV
	store  kvstore.Survivor // nil: rounds wait for all workers of the job
	votes  *votes           // store of a job with servers; nil: changes end rounds by an error
	lately []Standpoint[S]  // before the last rounds
}

// Standpoint is where a training loop was before a round, but for the values in the store.
type Standpoint[S any] struct {
	Sharing
	State  S
	random nd.StreamState
	scale  *ScaleRecord
}

// Arrive takes part in the group as it is when the loop begins, if the store is of such a job. The
// trainer uses the store already.
func (v *Survival[S]) Arrive(ctx context.Context, kv *kvstore.KV) (g kvstore.Group, on bool,
	err error) {
	if v.store, on = kvstore.As[kvstore.Survivor](kv); !on {
		return kv.Group(), false, nil
	}
	v.kv = kv
	g, err = v.store.Arrive(ctx)
	return g, true, err
}

// Vote makes the loop one of a job with servers, whose workers agree on changes by Ask.
func (v *Survival[S]) Vote(kv *kvstore.KV, store kvstore.Elastic) {
	v.kv, v.votes = kv, &votes{Elastic: store}
	v.store = v.votes
}

// Ask is called before each round, after Mark of its place and while Changed is false, and may be
// called again. In a job with servers it returns ErrRegrouped when the workers change the group
// before this round: Recover is next. Note makes the note for workers that come, which is the one of
// the lowest rank.
func (v *Survival[S]) Ask(ctx context.Context, note func(*Standpoint[S]) any) error {
	if v.votes == nil || v.votes.cast(v.Last().Round) {
		return nil
	}
	text, err := json.Marshal(note(v.Last()))
	if err != nil {
		return err
	}
	return v.votes.ask(ctx, v.Last().Round, text)
}

// On reports whether the loop is one of such a job.
func (v *Survival[S]) On() bool { return v.store != nil }

// Changed reports whether the group has changed, so that Recover is next.
func (v *Survival[S]) Changed() bool {
	if v.store == nil {
		return false
	}
	_, changed := v.store.Standing()
	return changed
}

// Mark notes where the loop is before a round. The group goes back by one complete round at most;
// the places before are forgotten.
func (v *Survival[S]) Mark(t *Trainer, at Sharing, state S) {
	s := Standpoint[S]{Sharing: at, State: state, random: nd.RandomState(),
		scale: t.Scaler.Record()}
	if k := len(v.lately); k > 0 && v.lately[k-1].Round == at.Round {
		v.lately[k-1] = s
		return
	}
	complete, _ := v.store.Standing()
	old := 0
	for old < len(v.lately) && v.lately[old].Round+1 < int(complete) {
		old++
	}
	v.lately = append(v.lately[:0], v.lately[old:]...)
	v.lately = append(v.lately, s)
}

// Last returns the last place that Mark has noted.
func (v *Survival[S]) Last() *Standpoint[S] { return &v.lately[len(v.lately)-1] }

// Survives reports whether the loop can go on after an error, because the group has changed.
func (v *Survival[S]) Survives(err error) bool {
	return v.store != nil && errors.Is(err, kvstore.ErrRegrouped)
}

// Recover goes back to the last round that all workers of the group have, and returns the group and
// the place before it. The trainer has the parameters of that round, and the random streams and
// the loss scale are as they were; the rest of the place is the caller's part. Note makes the note
// for workers that come. In a worker that has left, the error is kvstore.ErrLeft.
func (v *Survival[S]) Recover(ctx context.Context, t *Trainer,
	note func(*Standpoint[S]) any) (g kvstore.Group, s *Standpoint[S], err error) {
	g, err = v.store.Recover(ctx, func(rounds uint64) ([]byte, error) {
		for i := range v.lately {
			if v.lately[i].Round == int(rounds) {
				s = &v.lately[i]
				return json.Marshal(note(s))
			}
		}
		return nil, fmt.Errorf("the workers go back to round %d, of which this one does not know "+
			"its place", rounds)
	})
	if err != nil {
		return g, nil, err
	}
	if g.Part(v.kv.Rank()) < 0 {
		return g, nil, kvstore.ErrLeft
	}
	v.lately = append(v.lately[:0], *s)
	s = &v.lately[0]
	t.Scaler.Restore(s.scale)
	nd.SetRandomState(s.random)
	return g, s, t.store.Pull()
}

// Settle waits until no change of the group can take back the last rounds.
func (v *Survival[S]) Settle(ctx context.Context) error {
	if v.store == nil {
		return nil
	}
	return v.store.Settle(ctx)
}
