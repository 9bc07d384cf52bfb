package kvstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gomx/device"
	"gomx/kvstore/compress"
	"gomx/kvstore/joint"
	"gomx/kvstore/rows"
	"gomx/kvstore/touched"
	nd "gomx/ndarray"
	"gomx/op"
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
	value *nd.Array // of a key of InitRows the rows that have been pushed
	sum   reducer
	made  *rows.Spec // how the other rows begin; nil: they are zeros, or all rows are stored
}

func newLocal(kind Kind) *local {
	return &local{name: kind.Name, onHost: kind.onHost, keys: map[string]*localKey{}}
}

func (s *local) Name() string { return s.name }

func (s *local) Init(_ context.Context, key string, value *nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkNew(key); err != nil {
		return err
	}
	if value == nil {
		return fmt.Errorf("kvstore: no value for key %q", key)
	}
	dev := value.Device()
	if s.onHost {
		dev = device.CPU()
	}
	k := &localKey{value: emptyLike(value, dev, nd.Name("kvstore "+key))}
	value.CopyInto(k.value)
	s.enter(key, k)
	return nil
}

// checkNew says why a key cannot get its first value. s.mu is held.
func (s *local) checkNew(key string) error {
	if s.closed {
		return errClosed
	}
	if s.keys[key] != nil {
		return fmt.Errorf("kvstore: key %q has a value already", key)
	}
	return nil
}

// enter makes a key known. s.mu is held.
func (s *local) enter(key string, k *localKey) {
	k.index = len(s.order)
	s.keys[key] = k
	s.order = append(s.order, key)
	if s.updater != nil {
		s.updater.SetName(k.index, key)
	}
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
	if k.made != nil {
		if sum.Storage() != nd.RowSparse {
			sum = sum.Detach().ToStorage(nd.RowSparse)
			defer sum.Close()
		}
		k.matrix().TouchLike(sum, s.updater == nil)
	} else if s.updater == nil {
		sum.CopyInto(k.value)
	}
	if s.updater == nil {
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
	if k.made == nil {
		out = k.spread(out)
	}
	for _, a := range out {
		k.pull(key, a)
	}
	return nil
}

// spread copies the value to the first array on each other device, if these can work together, and
// returns the remaining arrays.
func (k *localKey) spread(out []*nd.Array) []*nd.Array {
	if !joint.Can(out) {
		return out
	}
	var others, rest []*nd.Array
	for _, a := range out {
		if a.Device() == k.value.Device() || firstOn(others, a.Device()) >= 0 {
			rest = append(rest, a)
		} else {
			others = append(others, a)
		}
	}
	if joint.Spread(k.value, others) {
		return rest
	}
	return out
}

// sumToAll gives arrays, and the value, the sum of gradients, if there is one gradient and one array
// on each device and the devices can work together.
func (k *localKey) sumToAll(grads, out []*nd.Array) bool {
	at := firstOn(grads, k.value.Device())
	if k.made != nil || at < 0 || !joint.Sum(grads, out) {
		return false
	}
	out[at].CopyInto(k.value)
	return true
}

// pull starts to copy the whole value.
func (k *localKey) pull(key string, a *nd.Array) {
	switch {
	case k.made == nil:
		k.value.CopyInto(a)
	case a.Storage() == nd.RowSparse:
		k.matrix().Read(pulling(key), a, nil)
	default:
		all := emptyLike(k.value, k.value.Device())
		defer all.Close()
		k.matrix().Read(pulling(key), all, nil)
		all.CopyInto(a)
	}
}

// matrix returns the rows of a key.
func (k *localKey) matrix() touched.Matrix {
	m := touched.Matrix{Array: k.value}
	if k.made != nil {
		m.Begin = *k.made
	}
	return m
}

// pulling names a pull of rows in errors.
func pulling(key string) string { return fmt.Sprintf("kvstore: RowSparsePull of %q", key) }

// InitRows implements RowKeeper. The store holds the rows that have been pushed, as servers do.
func (s *local) InitRows(ctx context.Context, key string, spec RowsSpec) (err error) {
	defer op.Recover(&err)
	if err := spec.check(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkNew(key); err != nil {
		return err
	}
	of := spec.of(uint32(len(s.order) + s.tables))
	k := &localKey{made: &of, value: nd.ZerosOf(nd.RowSparse, spec.Shape, nd.As(spec.DType),
		nd.Name("kvstore "+key))}
	if spec.First != nil {
		spec.First.CopyInto(k.value)
	}
	if s.updater != nil {
		if err := worksOnRows(s.updater.Optimizer(), key, spec.DType); err != nil {
			return err
		}
	}
	s.enter(key, k)
	return nil
}

// RowSparsePull implements RowPuller.
func (s *local) RowSparsePull(key string, _ int, ids, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(key, "RowSparsePull", out)
	if err == nil {
		err = rowsFit(key, k.value.Storage(), ids, out)
	}
	if err != nil {
		return err
	}
	for i, a := range out {
		k.matrix().Read(pulling(key), a, ids[i].Detach().To(device.CPU()))
	}
	return nil
}

// HeldRows implements RowHolder.
func (s *local) HeldRows(key string, out *nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*nd.Array{out}
	k, err := s.find(key, "HeldRows", list)
	if err != nil {
		return err
	}
	if k.value.Storage() != nd.RowSparse || out.Storage() != nd.RowSparse {
		return fmt.Errorf("kvstore: HeldRows: the value of key %q is %v and the array %v, want "+
			"row_sparse", key, k.value.Storage(), out.Storage())
	}
	k.value.CopyInto(out)
	return nil
}

// CountRows implements RowHolder.
func (s *local) CountRows(key string) (n int, err error) {
	s.mu.Lock()
	k, err := s.known(key, "CountRows")
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if k.value.Storage() != nd.RowSparse {
		return k.value.Shape()[0], nil
	}
	ids, err := k.value.Indices()
	return len(ids), err
}

func (s *local) PushPull(key string, _ int, grads, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.updater == nil && s.method.Kind == compress.None {
		k, err := s.find(key, "Push", grads)
		if err == nil {
			err = fits(key, "Pull", k.value.Shape(), k.value.DType(), out)
		}
		if err != nil || k.sumToAll(grads, out) {
			return err
		}
	}
	if err := s.push(key, grads); err != nil {
		return err
	}
	return s.pull(key, out)
}

// find returns a key and checks that arrays fit it. s.mu is held.
func (s *local) find(key, what string, arrays []*nd.Array) (*localKey, error) {
	k, err := s.known(key, what)
	if err != nil {
		return nil, err
	}
	return k, fits(key, what, k.value.Shape(), k.value.DType(), arrays)
}

// known returns a key that has a value. s.mu is held.
func (s *local) known(key, what string) (*localKey, error) {
	if s.closed {
		return nil, errClosed
	}
	k := s.keys[key]
	if k == nil {
		return nil, fmt.Errorf("kvstore: %s: key %q has no value: call Init first", what, key)
	}
	return k, nil
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
		if k := s.keys[key]; k.made != nil {
			if err := worksOnRows(o, key, k.made.DType); err != nil {
				return err
			}
		}
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
