package kvstore

import (
	"context"
	"encoding/binary"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	nd "gomx/ndarray"
)

// Joint is a store of a job of several processes.
type Joint interface {
	Store
	// InitSum is Init for a key that no optimizer changes: once there is one, a push to the
	// key is added to its value, never compressed, and scaled as if all workers had contributed.
	InitSum(ctx context.Context, key string, value *nd.Array) error
	// Agree lets every worker contribute a number, and returns those of all workers by rank. Every
	// worker calls it, with the same names in the same order as Init.
	Agree(ctx context.Context, name string, number uint64) ([]uint64, error)
	// Backups returns how many workers a round closes without at most: a worker that is late then
	// contributes to none of its rounds.
	Backups() int
	// Skip, in jobs whose rounds close without the slowest workers, moves on to where the others
	// are, and returns how many rounds this worker leaves out: a program that pushes every key once
	// per step counts them as steps. It is called when all pulled values are there and nothing
	// else is under way. Without it a worker that has fallen behind stays there, and nothing that
	// it pushes counts.
	Skip() uint64
	// Resumed returns how many steps an earlier process in this worker's place has completed for
	// certain: pushes to every key, or, in a job that has tables only, calls of Clock. A program
	// that pushes every key once per step skips so many steps, in every kind of store. A repeated
	// push counts once; until the worker has caught up, pulls of keys with rounds return the values
	// of the earlier rounds.
	Resumed() uint64
}

// Agree implements Joint: every worker has a key to which it alone adds.
func (s *dist) Agree(ctx context.Context, name string, number uint64) ([]uint64, error) {
	mine, err := s.number(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]uint64, s.NumWorkers())
	own := mine[s.Rank()]
	present, err := s.readNumber(ctx, own)
	if err != nil {
		return nil, err
	}
	// An earlier process in this place may have said it already.
	b := binary.LittleEndian.AppendUint64(nil, number-present)
	if _, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.Push(now, worker.PushOp{Key: own.id, Value: b, Deadline: deadline})
	}); err != nil {
		return nil, own.fail("agreement", err)
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

// number makes the keys of a name, one per worker.
func (s *dist) number(ctx context.Context, name string) ([]*distKey, error) {
	var list []*distKey
	for r := range s.NumWorkers() {
		k := &distKey{store: s, name: fmt.Sprintf("%s of worker %d", name, r),
			shape: dtype.Shape{1}, dtype: dtype.Int64}
		if err := s.create(ctx, k, make([]byte, 8), true); err != nil {
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
