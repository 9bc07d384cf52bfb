package kvstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gomx/device"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/index"
	"gomx/optimizer"
)

// local is the store of one process. It does all its work by operations of the engine on the arrays
// of its keys; it starts no goroutine.
type local struct {
	name   string
	onHost bool // sums are made by the processor

	mu      sync.Mutex
	keys    map[string]*localKey
	order   []string
	tables  int
	updater *optimizer.Updater
	method  compress.Method
	closed  bool
}

// localKey is one value with the arrays that its updates need.
type localKey struct {
	index int
	value *nd.Array
	sum   reducer
}

func newLocal(kind Kind) *local {
	return &local{name: kind.Name, onHost: kind.onHost, keys: map[string]*localKey{}}
}

func (s *local) Name() string { return s.name }

func (s *local) Init(_ context.Context, key string, value *nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if s.keys[key] != nil {
		return fmt.Errorf("kvstore: key %q has a value already", key)
	}
	if value == nil {
		return fmt.Errorf("kvstore: no value for key %q", key)
	}
	k := &localKey{index: len(s.order)}
	dev := value.Device()
	if s.onHost {
		dev = device.CPU()
	}
	k.value = emptyLike(value, dev, nd.Name("kvstore "+key))
	value.CopyInto(k.value)
	s.keys[key] = k
	s.order = append(s.order, key)
	if s.updater != nil {
		s.updater.SetName(k.index, key)
	}
	return nil
}

func (s *local) Push(key string, _ int, grads ...*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(key, grads)
}

// push starts the sum of the gradients and the change of the value. s.mu is held.
func (s *local) push(key string, grads []*nd.Array) error {
	k, err := s.find(key, "Push", grads)
	if err != nil {
		return err
	}
	sum, err := k.sum.add(grads, k.value.Device(), s.method)
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", key, err)
	}
	if s.updater == nil {
		sum.CopyInto(k.value)
		return nil
	}
	if err := s.updater.Update(k.index, k.value, sum); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	return nil
}

func (s *local) Pull(key string, _ int, out ...*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pull(key, out)
}

func (s *local) pull(key string, out []*nd.Array) error {
	k, err := s.find(key, "Pull", out)
	if err != nil {
		return err
	}
	for _, a := range out {
		k.value.CopyInto(a)
	}
	return nil
}

// InitRows implements RowKeeper. The store of one process holds all rows from the beginning, with
// the values that servers would make at the first touch.
func (s *local) InitRows(ctx context.Context, key string, spec RowsSpec) (err error) {
	defer op.Recover(&err)
	if err := spec.check(key); err != nil {
		return err
	}
	s.mu.Lock()
	number := uint32(len(s.order) + s.tables)
	s.mu.Unlock()
	value, err := spec.Make(number)
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", key, err)
	}
	defer value.Close()
	return s.Init(ctx, key, value)
}

// RowSparsePull implements RowPuller.
func (s *local) RowSparsePull(key string, _ int, rows, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(key, "RowSparsePull", out)
	if err == nil {
		err = rowsFit(key, k.value.Storage(), rows, out)
	}
	if err != nil {
		return err
	}
	for i, a := range out {
		ids := rows[i].Detach().Reshape(-1).To(device.CPU())
		if err := nd.InvokeInto(index.Retain.Op, nil, []*nd.Array{k.value, ids},
			[]*nd.Array{a}); err != nil {
			return fmt.Errorf("kvstore: RowSparsePull of %q: %w", key, err)
		}
	}
	return nil
}

func (s *local) PushPull(key string, _ int, grads, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.push(key, grads); err != nil {
		return err
	}
	return s.pull(key, out)
}

// find returns a key and checks that arrays fit it. s.mu is held.
func (s *local) find(key, what string, arrays []*nd.Array) (*localKey, error) {
	if s.closed {
		return nil, errClosed
	}
	k := s.keys[key]
	if k == nil {
		return nil, fmt.Errorf("kvstore: %s: key %q has no value: call Init first", what, key)
	}
	return k, fits(key, what, k.value.Shape(), k.value.DType(), arrays)
}

func (s *local) Barrier(ctx context.Context) error {
	for _, k := range s.all() {
		if err := k.value.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// all returns the keys in the order of Init.
func (s *local) all() []*localKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inOrder(s.order, s.keys)
}

func (s *local) SetOptimizer(_ context.Context, o optimizer.Optimizer) error {
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range s.order {
		u.SetName(i, key)
	}
	s.updater = u
	return nil
}

func (s *local) SetCompression(m compress.Method) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.method = m
	return nil
}

func (s *local) OptimizerStates(context.Context) ([]State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.updater == nil {
		return nil, errNoOptimizer
	}
	list := make([]State, len(s.order))
	for i, key := range s.order {
		list[i] = State{Key: key}
		for _, a := range s.updater.State(i) {
			list[i].Arrays = append(list[i].Arrays, a.Copy())
		}
	}
	return list, nil
}

func (s *local) SetOptimizerStates(_ context.Context, states []State) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.updater == nil {
		return errNoOptimizer
	}
	made := make(map[int][]*nd.Array, len(states))
	for _, st := range states {
		k := s.keys[st.Key]
		if k == nil {
			return fmt.Errorf("kvstore: state of key %q, which has no value", st.Key)
		}
		if len(st.Arrays) == 0 {
			continue
		}
		own := s.updater.NewState(k.value)
		if err := copyState(st, own); err != nil {
			return err
		}
		made[k.index] = own
	}
	for _, i := range slices.Sorted(maps.Keys(made)) {
		s.updater.SetState(i, made[i])
	}
	return nil
}

// copyState copies the arrays of a state into those that the optimizer makes.
func copyState(st State, own []*nd.Array) error {
	if len(own) != len(st.Arrays) {
		return fmt.Errorf("kvstore: state of key %q has %d arrays, the optimizer wants %d", st.Key,
			len(st.Arrays), len(own))
	}
	for i, a := range st.Arrays {
		if a == nil || !a.Shape().Equal(own[i].Shape()) || a.DType() != own[i].DType() {
			return fmt.Errorf("kvstore: state %d of key %q does not fit: want %v of shape %v", i,
				st.Key, own[i].DType(), own[i].Shape())
		}
	}
	for i, a := range st.Arrays {
		a.CopyInto(own[i])
	}
	return nil
}

func (s *local) Close() error {
	err := s.Barrier(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, k := range s.keys {
		k.value.Close()
		k.sum.close()
	}
	return err
}

// String describes the store by its name.
func (s *local) String() string { return fmt.Sprintf("<Store %s: one process>", s.name) }
