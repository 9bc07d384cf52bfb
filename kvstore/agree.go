package kvstore

import (
	"context"
	"encoding/binary"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
)

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
