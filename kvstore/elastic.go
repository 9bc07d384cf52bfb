package kvstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
)

// ErrLeft says that this process has left a job that goes on without it.
var ErrLeft = errors.New("kvstore: this process has left the job, which goes on")

// Group is the set of workers that rounds wait for, and among which the data is shared.
type Group struct {
	Number uint64 // counts the changes; 0: the workers with which the job began
	Round  uint64 // rounds before the last change
	Ranks  []int  // sorted
	Note   []byte // given to Regroup by the workers before the last change
}

// Part returns the place of a worker in the order of the ranks, -1 if it is not in the group.
func (g Group) Part(rank int) int { return slices.Index(g.Ranks, rank) }

// Elastic is a store of a job whose workers come and go while it runs.
type Elastic interface {
	// Group returns the group as it is now.
	Group() Group
	// Regroup takes part in the agreement on changes of the group. Every worker calls it before
	// every step, with the same note for workers that come later, such as the place in the data.
	// When a worker waits to come in or is to leave, all workers learn of it after the same round:
	// then Regroup waits for the pushes of this worker and for the calls of the others, the group
	// changes, and changed is true. A worker that is not in the group that is returned has left: it
	// closes the store and ends.
	//
	// Regroup takes a tiny key of its own through every round. Stores without rounds let workers
	// come in at any time; there Regroup only says whether this worker is to leave.
	Regroup(ctx context.Context, note []byte) (g Group, changed bool, err error)
}

// vote is the agreement of the workers on changes of the group: a key with rounds, to which a
// worker adds 1 in a round before which it has heard that the group is to change. All workers see
// the same sum after the same round.
type vote struct {
	key     *distKey
	pending *awaited // the vote of the round that is under way
	out     []byte   // its result
}

// voteHead is the length of the head of a group's note: the sum of all votes and the number of
// rounds before the group changed. By it a process that takes over a place knows whether the sum
// that it finds has led to a change already.
const voteHead = 16

// Group implements Elastic.
func (s *dist) Group() (g Group) {
	s.job.driver.do(func() { g, _, _ = s.group() }, nil)
	return g
}

// group returns the group, and the head of its note. The driver's lock is held.
func (s *dist) group() (g Group, sum, round uint64) {
	w := s.job.worker.Standing().Group
	g = Group{Number: w.Number, Round: w.Round, Note: w.Note}
	for _, r := range w.Ranks {
		g.Ranks = append(g.Ranks, int(r))
	}
	if len(g.Note) >= voteHead {
		sum, round = binary.LittleEndian.Uint64(g.Note), binary.LittleEndian.Uint64(g.Note[8:])
		g.Note = g.Note[voteHead:]
	}
	return g, sum, round
}

// Regroup implements Elastic.
func (s *dist) Regroup(ctx context.Context, note []byte) (Group, bool, error) {
	s.job.driver.do(func() { s.job.elastic = true }, nil)
	if !s.sync {
		return s.leaveLoose(ctx)
	}
	sum, err := s.voted(ctx)
	if err != nil {
		return Group{}, false, err
	}
	changed, err := s.change(ctx, sum, note)
	if err != nil {
		return Group{}, false, err
	}
	g := s.Group()
	if g.Part(s.Rank()) < 0 {
		return g, changed, nil
	}
	return g, changed, s.castVote()
}

// leaveLoose is Regroup in a store without rounds.
func (s *dist) leaveLoose(ctx context.Context) (g Group, leaves bool, err error) {
	s.job.driver.do(func() {
		now := s.job.worker.Standing()
		leaves = now.Leaves && now.Changes
		g, _, _ = s.group()
	}, nil)
	if !leaves {
		return g, false, nil
	}
	g.Ranks = slices.DeleteFunc(g.Ranks, func(r int) bool { return r == s.Rank() })
	return g, true, s.drain(ctx)
}

// voted returns the sum of votes after the last round, which it waits for.
func (s *dist) voted(ctx context.Context) (uint64, error) {
	v := &s.vote
	if v.key == nil {
		k := &distKey{store: s, name: "changes of the group", shape: dtype.Shape{1},
			dtype: dtype.Int64}
		if err := s.create(ctx, k, worker.KeySpec{}, make([]byte, 8)); err != nil {
			return 0, err
		}
		v.key = k
	}
	if v.pending == nil {
		return s.readNumber(ctx, v.key)
	}
	select {
	case d := <-v.pending.ended:
		if d.Err != nil {
			return 0, v.key.fail("vote", d.Err)
		}
		return binary.LittleEndian.Uint64(v.out), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// change changes the group with the others if the votes ask for it and it has not been done.
func (s *dist) change(ctx context.Context, sum uint64, note []byte) (bool, error) {
	var round uint64
	due := false
	optimized := s.optimizer() != nil
	s.job.driver.do(func() {
		round = s.job.worker.Pushes(s.vote.key.id)
		g, before, at := s.group()
		// With an optimizer sums of rounds are added up, otherwise the last one counts.
		if due = sum > before; !optimized {
			due = sum > 0 && (g.Number == 0 || at < round)
		}
	}, nil)
	if !due {
		return false, nil
	}
	if err := s.drain(ctx); err != nil {
		return false, err
	}
	b := binary.LittleEndian.AppendUint64(nil, sum)
	b = append(binary.LittleEndian.AppendUint64(b, round), note...)
	_, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.Regroup(now, round, b, deadline)
	})
	return err == nil, err
}

// castVote begins the vote of the round that comes, when the pushes that the program has begun have
// been handed to the worker: it then holds the vote back until they are committed. Otherwise votes
// could be two rounds ahead of keys whose gradients are being computed, and a process that takes
// over this place would not find the vote of its round any more.
func (s *dist) castVote() error {
	v := &s.vote
	v.out = make([]byte, 8)
	out, id := v.out, v.key.id
	v.pending = &awaited{ended: make(chan ps.Done, 1)}
	v.pending.begin = func(now, deadline ps.Time) (uint64, error) {
		mine := uint64(0)
		if s.job.worker.Standing().Changes {
			mine = 1
		}
		return s.job.worker.Push(now, worker.PushOp{Key: id,
			Value: binary.LittleEndian.AppendUint64(nil, mine), Out: out, Priority: 127,
			Deadline: deadline})
	}
	uses := map[*engine.Engine][]engine.Use{}
	for _, k := range s.all() {
		if k.eng != nil {
			uses[k.eng] = append(uses[k.eng], engine.Use{Var: k.turn, Access: engine.Overwrite})
		}
	}
	if len(uses) == 0 {
		return v.send(s, v.pending)
	}
	left := new(atomic.Int32)
	left.Store(int32(len(uses)))
	pending := v.pending
	for eng, turns := range uses {
		eng.PushUses(&engine.Task{Name: "kvstore vote", NoSkip: true, Priority: band(127),
			Fn: func(*engine.Run) error {
				if left.Add(-1) == 0 {
					if err := v.send(s, pending); err != nil {
						pending.end(&ps.Done{Err: err})
					}
				}
				return nil
			}}, turns...)
	}
	return nil
}

// send hands a vote to the worker.
func (v *vote) send(s *dist, pending *awaited) error {
	if err := s.job.call(s.cfg.timeout, pending); err != nil {
		return v.key.fail("vote", err)
	}
	return nil
}

// Leaving reports whether this worker is to leave with the next change of the group.
func (j *Job) Leaving() (leaving bool) {
	j.driver.do(func() { leaving = j.worker.Standing().Leaves }, nil)
	return leaving
}

// drain asks for this worker to leave. It reports false if the program takes part in no changes, or
// if nobody else is there.
func (j *Job) drain() (can bool) {
	j.driver.do(func() {
		if now := j.worker.Standing(); j.elastic && len(now.Group.Ranks) > 1 && now.Member {
			j.worker.WantLeave()
			can = true
		}
	}, nil)
	return can
}

// Agree implements Joint: every worker has a key to which it alone adds.
func (s *dist) Agree(ctx context.Context, name string, number uint64) ([]uint64, error) {
	mine, err := s.number(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]uint64, s.NumWorkers())
	// A worker that has come later has no number, but hears the others'.
	if s.Rank() < len(mine) {
		if err := s.say(ctx, mine[s.Rank()], number); err != nil {
			return nil, err
		}
	}
	if err := s.Barrier(ctx); err != nil {
		return nil, err
	}
	for r, k := range mine {
		if all[r], err = s.readNumber(ctx, k); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// say gives a number to the others. An earlier process in this place may have said one already.
func (s *dist) say(ctx context.Context, own *distKey, number uint64) error {
	present, err := s.readNumber(ctx, own)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(nil, number-present)
	if _, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.Push(now, worker.PushOp{Key: own.id, Value: b, Deadline: deadline})
	}); err != nil {
		return own.fail("agreement", err)
	}
	return nil
}

// number makes the keys of a name, one per worker. Their numbers depend on the order of the calls
// of Agree and on the rank, not on the number of workers: a job that continues from a snapshot may
// have more or fewer. The key of votes has number 0.
func (s *dist) number(ctx context.Context, name string) ([]*distKey, error) {
	s.mu.Lock()
	s.agreed++
	first := s.agreed << 16
	s.mu.Unlock()
	var list []*distKey
	for r := range s.NumWorkers() {
		k := &distKey{store: s, id: first | uint32(r), name: fmt.Sprintf("%s of worker %d", name, r),
			shape: dtype.Shape{1}, dtype: dtype.Int64}
		if err := s.create(ctx, k, worker.KeySpec{Direct: true},
			make([]byte, 8)); err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}

// readNumber pulls a number. The memory belongs to the call, which may outlive this one.
func (s *dist) readNumber(ctx context.Context, k *distKey) (uint64, error) {
	out := make([]byte, 8)
	if _, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.Pull(now, k.id, out, 127, deadline)
	}); err != nil {
		return 0, k.fail("agreement", err)
	}
	return binary.LittleEndian.Uint64(out), nil
}
