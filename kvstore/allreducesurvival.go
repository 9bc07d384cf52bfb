package kvstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/ring"
)

// ErrRegrouped is the error of operations of a Survivor when its group has changed: call Recover.
var ErrRegrouped = ring.ErrRegrouped

// Survivor is a store whose workers go on without a worker that has died, or stands still for too
// long, and with workers that come: allreduce in a job with the policy shrink.
//
// When the group changes, all operations under way end with ErrRegrouped, and all later ones, until
// the program has called Recover. Then every worker of the new group has the values and the states
// of the optimizer after the same round, which is the last one that all of them have completed: one
// round is lost at most. A worker that was left behind gets ps.ErrLeftBehind; it comes back as a
// new process, which takes the values from the others.
type Survivor interface {
	Elastic
	// Recover waits for the operations of this worker, and enters the group as it is with all other
	// workers of it. Note makes the note for workers that come, from the number of rounds that
	// count. The program continues with the first batch behind these rounds, and pulls the values
	// again. Arrays whose computation had failed keep their errors until they are written.
	//
	// A worker that is not in the group that is returned has left.
	Recover(ctx context.Context, note func(rounds uint64) ([]byte, error)) (Group, error)
	// Arrive waits, in a worker that has come into a job which has had rounds, for the note of the
	// group, which another worker has given to Recover. The worker has the values.
	Arrive(ctx context.Context) (Group, error)
	// Where is Arrive for a worker that does not have the values yet, and calls Arrive later.
	Where(ctx context.Context) (Group, error)
	// Standing returns the number of rounds that this worker has completed, and reports whether the
	// group has changed: operations then end with ErrRegrouped, until the program calls Recover. A
	// change takes back no round but the last one that is complete.
	Standing() (rounds uint64, changed bool)
	// Settle waits until all workers of the group have completed the rounds of this worker. A
	// program calls it before its last step counts as done: until then a change of the group may
	// take that step back (ErrRegrouped).
	Settle(ctx context.Context) error
}

// survivor is the store allreduce of a job with the policy shrink.
type survivor struct{ *allreduce }

// survival is the part of the store allreduce that survives changes of the group. The store's mu
// guards the fields.
type survival struct {
	store      *allreduce
	generation uint64            // number of the group that this worker has entered
	numbers    map[uint32][]byte // texts for other workers, by key
	agreed     uint32            // calls of Agree
	stale      bool              // this worker is entering another group
}

// noteKey is the number under which a worker says its note.
const noteKey = worker.Aside | 1<<30

var errNoSurvival = errors.New("without an optimizer nobody keeps values that workers could " +
	"go back to when another one dies: call SetOptimizer, or start the job with the policy wait")

func newSurvival(s *allreduce) *survival {
	return &survival{store: s, numbers: map[uint32][]byte{}, stale: true}
}

// group returns the number of the group that this worker has entered.
func (v *survival) group() uint64 {
	if v == nil {
		return 0
	}
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	return v.generation
}

// answers reports whether this worker answers questions of a group: its values are those on which
// the group has agreed.
func (v *survival) answers(generation uint64) bool {
	if v == nil {
		return true
	}
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	return !v.stale && v.generation == generation
}

// said returns the text that this worker says to others under a number.
func (v *survival) said(key uint32) (text []byte, ok bool) {
	if v == nil {
		return nil, false
	}
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	text, ok = v.numbers[key]
	return text, ok
}

// say lets this worker say a text to others.
func (v *survival) say(key uint32, text []byte) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.numbers[key] = text
}

// Group implements Elastic. The note is of the group that this worker has entered.
func (s *survivor) Group() Group { return s.survival.present() }

// present is Group.
func (v *survival) present() (g Group) {
	s := v.store
	member := false
	s.job.driver.do(func() {
		g.Number, g.Ranks, _ = s.job.ring.Generation()
		g.Round = s.job.ring.Resumed()
		member = s.job.worker.Standing().Member
	}, nil)
	if !member {
		g.Ranks = slices.DeleteFunc(g.Ranks, func(r int) bool { return r == s.Rank() })
	}
	g.Note, _ = v.said(noteKey)
	return g
}

// Regroup implements Elastic. Programs that survive a change call Recover.
func (s *survivor) Regroup(ctx context.Context, note []byte) (Group, bool, error) {
	if s.survival.currently() {
		return s.Group(), false, nil
	}
	g, err := s.Recover(ctx, func(uint64) ([]byte, error) { return note, nil })
	return g, err == nil, err
}

// currently reports whether the group that this worker has entered is the present one, as far as is
// known.
func (v *survival) currently() (yes bool) {
	s := v.store
	s.job.driver.do(func() { _, _, yes = s.job.ring.Generation() }, nil)
	return yes
}

// enter waits until this worker is in the group and all workers of it have said how many rounds
// they have. It returns ErrLeft to a worker that has left. The values are those after the rounds
// that count.
func (v *survival) enter(ctx context.Context) (Group, error) {
	s := v.store
	s.mu.Lock()
	v.stale = true
	delete(v.numbers, noteKey)
	s.mu.Unlock()
	s.job.driver.do(func() { s.job.elastic = true }, nil)
	for {
		now, left := worker.Standing{}, false
		s.job.driver.do(func() {
			now = s.job.worker.Standing()
			left = s.job.worker.View().Member(s.job.cfg.Node).Left
		}, nil)
		var err error
		switch {
		case left:
			return Group{Number: now.Group.Number}, ErrLeft
		case !now.Member:
			// The worker says that it is ready to come in.
			_, err = s.job.wait(ctx, s.cfg.timeout, func(t, deadline ps.Time) (uint64, error) {
				return s.job.worker.Regroup(t, 0, nil, deadline)
			})
		default:
			_, err = s.job.wait(ctx, s.cfg.timeout, s.job.ring.Join)
			if err == nil {
				return v.entered()
			}
		}
		if err != nil && !errors.Is(err, ErrRegrouped) {
			return Group{}, err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return Group{}, context.Cause(ctx)
		}
	}
}

// entered goes back to the round on which the group has agreed.
func (v *survival) entered() (Group, error) {
	s, g := v.store, v.present()
	if err := s.replica.Return(g.Round, len(g.Ranks)); err != nil {
		return g, err
	}
	for _, k := range s.all() {
		k.failure.forget()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.generation, v.stale = g.Number, false
	return g, nil
}

// ranks returns the ranks of the workers of the group. If the group has changed, this worker enters
// the new one first.
func (v *survival) ranks(ctx context.Context) ([]int, error) {
	if v.currently() {
		return v.present().Ranks, nil
	}
	g, err := v.enter(ctx)
	return g.Ranks, err
}

// Recover implements Survivor.
func (s *survivor) Recover(ctx context.Context, note func(rounds uint64) ([]byte, error)) (Group,
	error) {
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		if err := k.eng.WaitWrite(ctx, k.turn); err != nil && ctx.Err() != nil {
			return Group{}, err
		}
	}
	g, err := s.survival.enter(ctx)
	if errors.Is(err, ErrLeft) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	if g.Note, err = note(g.Round); err != nil {
		return g, err
	}
	s.survival.say(noteKey, g.Note)
	return g, nil
}

// Settle implements Survivor.
func (s *survivor) Settle(ctx context.Context) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	_, err := s.job.wait(ctx, s.cfg.timeout, s.job.ring.Leave)
	return err
}

// hear asks another worker of the group for a text, until it has said it.
func (v *survival) hear(ctx context.Context, rank int, key uint32) ([]byte, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		short, stop := context.WithTimeout(ctx, 2*time.Second)
		text, err := v.store.fetch(short, rank, key, 0)
		stop()
		switch {
		case err == nil && text != nil:
			return text.bytes, nil
		case ctx.Err() != nil:
			return nil, errors.Join(context.Cause(ctx), err)
		case !v.currently():
			return nil, ErrRegrouped
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// agree is Agree. Workers that have come later ask those that are there, who do not wait
// for them.
func (v *survival) agree(ctx context.Context, name string, number uint64) ([]uint64,
	error) {
	s := v.store
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.timeout, ps.ErrTimeout)
	defer cancel()
	s.mu.Lock()
	v.agreed++
	key := worker.Aside | v.agreed
	s.mu.Unlock()
	v.say(key, binary.LittleEndian.AppendUint64(nil, number))
again:
	for {
		ranks, err := v.ranks(ctx)
		if err != nil {
			return nil, err
		}
		list := []uint64{}
		for _, r := range ranks {
			if r == s.Rank() {
				list = append(list, number)
				continue
			}
			b, err := v.hear(ctx, r, key)
			if errors.Is(err, ErrRegrouped) {
				continue again
			}
			if err != nil || len(b) != 8 {
				return nil, fmt.Errorf("kvstore: agreement of %q: %w", name, err)
			}
			list = append(list, binary.LittleEndian.Uint64(b))
		}
		return list, nil
	}
}

// Standing implements Survivor.
func (s *survivor) Standing() (rounds uint64, changed bool) {
	s.job.driver.do(func() {
		_, _, current := s.job.ring.Generation()
		rounds, changed = s.job.ring.Completed(), !current
	}, nil)
	return rounds, changed
}

// Arrive implements Survivor.
func (s *survivor) Arrive(ctx context.Context) (Group, error) {
	g, err := s.Where(ctx)
	if err == nil {
		s.job.driver.do(s.job.ring.Full, nil)
	}
	return g, err
}

// Where implements Survivor.
func (s *survivor) Where(ctx context.Context) (Group, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.timeout, ps.ErrTimeout)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ranks, err := s.survival.ranks(ctx)
		g := s.Group()
		if err != nil {
			return g, err
		}
		if g.Round == 0 || g.Note != nil || len(ranks) == 1 {
			return g, nil
		}
		for _, r := range ranks {
			if r == s.Rank() {
				continue
			}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			v, err := s.fetch(short, r, noteKey, 0)
			stop()
			if err == nil && v != nil {
				s.survival.say(noteKey, v.bytes)
				break
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return g, fmt.Errorf("kvstore: no other worker has said where in the data it is: %w",
				context.Cause(ctx))
		}
	}
}
