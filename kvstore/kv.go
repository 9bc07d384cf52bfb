package kvstore

import (
	"context"
	"fmt"

	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// KV is a store as programs use it. It has the methods of all abilities: without the ability, a
// method that has an error returns one that names the store and the ability, and the others answer
// for a store of one worker.
type KV struct{ Store }

// Wrap returns a store with the methods of all abilities.
func Wrap(s Store) *KV {
	if kv, ok := s.(*KV); ok {
		return kv
	}
	return &KV{s}
}

// PushPull implements Exchanger. For other stores it is Push, then Pull.
func (kv *KV) PushPull(key string, priority int, grads, out []*nd.Array) error {
	if x, ok := kv.Store.(Exchanger); ok {
		return x.PushPull(key, priority, grads, out)
	}
	if err := kv.Push(key, priority, grads...); err != nil {
		return err
	}
	return kv.Pull(key, priority, out...)
}

// RowSparsePull implements RowPuller.
func (kv *KV) RowSparsePull(key string, priority int, rows, out []*nd.Array) error {
	p, err := Need[RowPuller](kv, fmt.Sprintf("RowSparsePull(%q)", key))
	if err != nil {
		return err
	}
	return p.RowSparsePull(key, priority, rows, out)
}

// InitRows implements RowKeeper.
func (kv *KV) InitRows(ctx context.Context, key string, spec RowsSpec) error {
	k, err := Need[RowKeeper](kv, fmt.Sprintf("InitRows(%q)", key))
	if err != nil {
		return err
	}
	return k.InitRows(ctx, key, spec)
}

// Broadcast is Init, then Pull.
func (kv *KV) Broadcast(ctx context.Context, key string, value *nd.Array, out ...*nd.Array) error {
	if err := kv.Init(ctx, key, value); err != nil {
		return err
	}
	return kv.Pull(key, 0, out...)
}

// Rank returns the number of this worker, 0 in a store that is no Member.
func (kv *KV) Rank() int {
	if m, ok := kv.Store.(Member); ok {
		return m.Rank()
	}
	return 0
}

// NumWorkers returns how many workers share the store, 1 if it is no Member.
func (kv *KV) NumWorkers() int {
	if m, ok := kv.Store.(Member); ok {
		return m.NumWorkers()
	}
	return 1
}

// Sums reports whether a value changes by the sum of one push of every worker; see Member. It is so
// in a store that is no Member.
func (kv *KV) Sums() bool {
	m, ok := kv.Store.(Member)
	return !ok || m.Sums()
}

// Group returns the workers that share the data: all of them in a store that is not Elastic.
func (kv *KV) Group() Group {
	if e, ok := kv.Store.(Elastic); ok {
		return e.Group()
	}
	g := Group{}
	for r := range kv.NumWorkers() {
		g.Ranks = append(g.Ranks, r)
	}
	return g
}

// Regroup implements Elastic. Other stores never change.
func (kv *KV) Regroup(ctx context.Context, note []byte) (Group, bool, error) {
	if e, ok := kv.Store.(Elastic); ok {
		return e.Regroup(ctx, note)
	}
	return kv.Group(), false, nil
}

// Barrier implements Synchronizer.
func (kv *KV) Barrier(ctx context.Context) error {
	s, err := Need[Synchronizer](kv, "Barrier")
	if err != nil {
		return err
	}
	return s.Barrier(ctx)
}

// SetOptimizer implements Updater.
func (kv *KV) SetOptimizer(ctx context.Context, o optimizer.Optimizer) error {
	u, err := Need[Updater](kv, "SetOptimizer")
	if err != nil {
		return err
	}
	return u.SetOptimizer(ctx, o)
}

// OptimizerStates implements StateKeeper.
func (kv *KV) OptimizerStates(ctx context.Context) ([]State, error) {
	k, err := Need[StateKeeper](kv, "OptimizerStates")
	if err != nil {
		return nil, err
	}
	return k.OptimizerStates(ctx)
}

// SetOptimizerStates implements StateKeeper.
func (kv *KV) SetOptimizerStates(ctx context.Context, states []State) error {
	k, err := Need[StateKeeper](kv, "SetOptimizerStates")
	if err != nil {
		return err
	}
	return k.SetOptimizerStates(ctx, states)
}

// SetCompression implements Compressor. Every store can do without compression.
func (kv *KV) SetCompression(m compress.Method) error {
	c, ok := kv.Store.(Compressor)
	if !ok && m.Kind == compress.None {
		return nil
	}
	if !ok {
		_, err := Need[Compressor](kv, fmt.Sprintf("SetCompression(%v)", m.Kind))
		return err
	}
	return c.SetCompression(m)
}

// Table implements TableKeeper.
func (kv *KV) Table(ctx context.Context, name string, shape nd.Shape) (*Table, error) {
	k, err := Need[TableKeeper](kv, fmt.Sprintf("Table(%q)", name))
	if err != nil {
		return nil, err
	}
	return k.Table(ctx, name, shape)
}

// Clock implements TableKeeper.
func (kv *KV) Clock(ctx context.Context) error {
	k, err := Need[TableKeeper](kv, "Clock")
	if err != nil {
		return err
	}
	return k.Clock(ctx)
}

// InitSum implements Joint.
func (kv *KV) InitSum(ctx context.Context, key string, value *nd.Array) error {
	j, err := Need[Joint](kv, fmt.Sprintf("InitSum(%q)", key))
	if err != nil {
		return err
	}
	return j.InitSum(ctx, key, value)
}

// Agree implements Joint.
func (kv *KV) Agree(ctx context.Context, name string, number uint64) ([]uint64, error) {
	j, err := Need[Joint](kv, fmt.Sprintf("Agree(%q)", name))
	if err != nil {
		return nil, err
	}
	return j.Agree(ctx, name, number)
}

// Resumed returns how many steps an earlier process in this worker's place has completed, 0 in a
// store that is no Resumer.
func (kv *KV) Resumed() uint64 {
	if r, ok := kv.Store.(Resumer); ok {
		return r.Resumed()
	}
	return 0
}

// Backups returns how many workers a round closes without at most, 0 in a store that is no Skipper.
func (kv *KV) Backups() int {
	if s, ok := kv.Store.(Skipper); ok {
		return s.Backups()
	}
	return 0
}

// Skip moves on to the round of the other workers; see Skipper. In other stores no round closes
// without this worker.
func (kv *KV) Skip() uint64 {
	if s, ok := kv.Store.(Skipper); ok {
		return s.Skip()
	}
	return 0
}

// Snapshot implements Snapshotter.
func (kv *KV) Snapshot(ctx context.Context, number uint64) error {
	s, err := Need[Snapshotter](kv, fmt.Sprintf("Snapshot(%d)", number))
	if err != nil {
		return err
	}
	return s.Snapshot(ctx, number)
}

// String describes the store.
func (kv *KV) String() string {
	if kv == nil {
		return "<Store: nil>"
	}
	if s, ok := kv.Store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("<Store %s>", kv.Name())
}
