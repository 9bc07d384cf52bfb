package kvstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gomx/device"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/update"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// dist is the store of a job. Its pushes and pulls are operations of the engine that end when the
// servers have answered: an operation on a key holds the key's order, which the next one waits for.
type dist struct {
	name string
	job  *Job
	cfg  config
	sync bool // rounds

	mu      sync.Mutex
	keys    map[string]*distKey
	order   []string // names of the program's keys, by their numbers
	agreed  uint32   // calls of Agree
	spec    optimizer.Optimizer
	version uint64 // of the last spec
	method  compress.Method
	closed  bool

	vote vote // used by the goroutine that calls Regroup
	distRows
}

// openDist opens the store that a job shares.
func openDist(ctx context.Context, kind Kind, c config) (*dist, error) {
	job := JobOf(ctx)
	if err := kind.fits(job); err != nil {
		return nil, err
	}
	s := &dist{name: kind.Name, job: job, cfg: c, keys: map[string]*distKey{},
		version: server.RestoredVersion}
	s.distRows.store = s
	staleness := worker.Unbounded
	switch {
	case kind.bounded && c.staleness > 0:
		staleness = c.staleness
	case kind.bounded, kind.rounds:
		s.sync = true
	}
	var err error
	job.driver.do(func() {
		if job.opened {
			err = fmt.Errorf("kvstore: %s: the job has a store already", kind.Name)
			return
		}
		if err = job.worker.SetStaleness(staleness); err == nil {
			job.opened = true
		}
	}, func() { err = errClosed })
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *dist) Name() string { return s.name }

// Rank implements Member.
func (s *dist) Rank() int { return s.job.Rank() }

// NumWorkers implements Member.
func (s *dist) NumWorkers() int { return s.job.Workers() }

// Sums implements Member.
func (s *dist) Sums() bool { return s.sync }

// Resumed implements Resumer.
func (s *dist) Resumed() uint64 {
	var n uint64
	s.job.driver.do(func() { n = s.job.worker.Resumed() }, nil)
	return n
}

// Backups implements Skipper.
func (s *dist) Backups() int { return s.job.cfg.Backups }

// Skip implements Skipper.
func (s *dist) Skip() uint64 {
	var n uint64
	s.job.driver.do(func() { n = s.job.worker.Skip() }, nil)
	return n
}

func (s *dist) Init(ctx context.Context, key string, value *nd.Array) error {
	return s.init(ctx, key, value, false)
}

// InitSum implements Joint.
func (s *dist) InitSum(ctx context.Context, key string, value *nd.Array) error {
	return s.init(ctx, key, value, true)
}

// init makes a key of a program.
func (s *dist) init(ctx context.Context, key string, value *nd.Array, added bool) error {
	if value == nil {
		return fmt.Errorf("kvstore: no value for key %q", key)
	}
	if value.Storage() == nd.RowSparse && !added {
		return s.initStored(ctx, key, value)
	}
	first, err := readInitial(ctx, key, value)
	if err != nil {
		return err
	}
	k := &distKey{store: s, name: key, shape: value.Shape().Clone(), dtype: value.DType(),
		eng: value.Engine(), keyKind: keyKind{added: added}}
	if err := s.create(ctx, k, worker.KeySpec{Direct: !s.sync}, first); err != nil {
		return err
	}
	first.free()
	return nil
}

// initialMapped is the size in bytes from which initial values lie outside of the Go heap. There
// they would be garbage that lives through the first steps of training, when memory is scarcest.
const initialMapped = 64 << 10

// initialValue is a copy of the bytes of the value that a key begins with.
type initialValue []byte

// readInitial copies a value.
func readInitial(ctx context.Context, key string, value *nd.Array) (v initialValue, err error) {
	n := value.Bytes()
	if n < initialMapped {
		v = make([]byte, n)
	} else {
		p, err := device.Host(1).Alloc(0, n)
		if err != nil {
			return nil, fmt.Errorf("kvstore: value of key %q: %w", key, err)
		}
		v = unsafe.Slice((*byte)(p), n)
	}
	if err := value.ReadBytes(ctx, v); err != nil {
		v.free()
		return nil, fmt.Errorf("kvstore: value of key %q: %w", key, err)
	}
	return v, nil
}

// free gives the memory back once nothing reads it any more. After a call that has failed something
// may: its memory is kept until the process ends.
func (v initialValue) free() {
	if len(v) >= initialMapped {
		device.Host(1).Free(0, unsafe.Pointer(&v[0]), len(v))
	}
}

// create makes a key and tells the servers.
func (s *dist) create(ctx context.Context, k *distKey, spec worker.KeySpec, value []byte) error {
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return errClosed
	case s.keys[k.name] != nil:
		s.mu.Unlock()
		return fmt.Errorf("kvstore: key %q has a value already", k.name)
	}
	s.keys[k.name] = k
	if k.eng == nil {
		k.id |= worker.Aside
	} else {
		k.id = uint32(len(s.order))
		if k.alone {
			k.sparse.Init = k.sparse.Init.ForKey(k.id)
		}
		s.order = append(s.order, k.name)
		k.turn = k.eng.NewVar("kvstore " + k.name)
		k.say = k.describe
	}
	o := s.spec
	k.whole = o != nil && !optimizer.Elementwise(o) && !k.added
	s.mu.Unlock()
	if k.whole && len(value) > maxSlice {
		k.forget()
		return k.fail("Init", fmt.Errorf("%d bytes, want at most %d: %s looks at keys as a whole",
			len(value), maxSlice, o.Name()))
	}
	spec.DType, spec.Total, spec.Whole = k.dtype, uint64(len(value)), k.whole
	_, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.Init(now, k.id, spec, value, deadline)
	})
	if err == nil && spec.Direct && k.eng != nil {
		s.job.driver.do(func() { err = s.job.worker.SetClock(k.id, s.job.worker.Resumed()) },
			func() { err = errClosed })
	}
	if err != nil {
		if errors.Is(err, ps.ErrUsage) {
			k.forget()
		}
		return k.fail("Init", err)
	}
	if o == nil || k.eng == nil {
		return nil
	}
	return s.SetOptimizer(ctx, o) // once more, with the new name
}

// forget takes back a key of which no server has heard: every worker is refused it alike.
func (k *distKey) forget() {
	s := k.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, k.name)
	if n := len(s.order); n > 0 && s.order[n-1] == k.name {
		s.order = s.order[:n-1]
	}
	k.close()
}

func (s *dist) Push(key string, priority int, grads ...*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "Push", grads)
	switch {
	case err != nil:
		return err
	case k.sparse != nil:
		return k.pushRows(priority, grads)
	}
	return k.push(priority, grads)
}

func (s *dist) Pull(key string, priority int, out ...*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "Pull", out)
	if err != nil {
		return err
	}
	if k.sparse != nil {
		k.pullAll(priority, out)
		return nil
	}
	k.begin("pull", priority, nil, out)
	return nil
}

func (s *dist) PushPull(key string, priority int, grads, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "PushPull", grads)
	if err == nil {
		err = fits(key, "PushPull", k.shape, k.dtype, out)
	}
	if err != nil {
		return err
	}
	if k.sparse != nil {
		err := k.pushRows(priority, grads)
		if err == nil {
			k.pullAll(priority, out)
		}
		return err
	}
	sum, err := k.sum.addDense(grads)
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", key, err)
	}
	k.begin("push and pull", priority, sum, out)
	return nil
}

// find returns a key and checks that arrays fit it.
func (s *dist) find(key, what string, arrays []*nd.Array) (*distKey, error) {
	k, err := knownKey(s, key, what)
	if err != nil {
		return nil, err
	}
	return k, fits(key, what, k.shape, k.dtype, arrays)
}

// knownKey returns a key that has a value.
func knownKey(s *dist, key, what string) (*distKey, error) {
	s.mu.Lock()
	k, closed := s.keys[key], s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case k == nil || k.eng == nil:
		return nil, fmt.Errorf("kvstore: %s: key %q has no value: call Init first", what, key)
	}
	return k, nil
}

// all returns the keys in the order of Init.
func (s *dist) all() []*distKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inOrder(s.order, s.keys)
}

func (s *dist) Barrier(ctx context.Context) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	_, err := s.job.wait(ctx, s.cfg.timeout, s.job.worker.Barrier)
	return err
}

// drain waits until the operations on all keys are over and their pushes committed, and returns
// the first error.
func (s *dist) drain(ctx context.Context) error {
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		if err := k.rest(ctx, k.eng, k.turn); err != nil {
			return err
		}
	}
	return s.job.drained(ctx)
}

func (s *dist) SetCompression(m compress.Method) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.method = m
	return nil
}

func (s *dist) SetOptimizer(ctx context.Context, o optimizer.Optimizer) error {
	if _, err := optimizer.NewUpdater(o, nil); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	for _, k := range s.all() {
		if k.sparse == nil {
			continue
		}
		if err := worksOnRows(o, k.name, k.dtype); err != nil {
			return err
		}
	}
	if !optimizer.Elementwise(o) {
		for _, k := range s.all() {
			if _, n := k.slices(); n > 1 && k.eng != nil && !k.added {
				return fmt.Errorf("kvstore: %s looks at keys as a whole, but %q was sliced by "+
					"Init: call SetOptimizer before", o.Name(), k.name)
			}
		}
	}
	return s.sendSpec(ctx, o, nil, nil)
}

// sendSpec sets the optimizer of all servers, with states of slices, or of rows of sparse keys
// (rows.States).
func (s *dist) sendSpec(ctx context.Context, o optimizer.Optimizer, states []update.SliceState,
	byRow []byte) error {
	s.mu.Lock()
	s.spec = o
	s.version++
	u := update.Spec{Names: append([]string(nil), s.order...), Rounds: s.sync, States: states}
	for _, k := range inOrder(s.order, s.keys) {
		if k.added {
			u.Added = append(u.Added, k.id)
		}
	}
	version := s.version
	s.mu.Unlock()
	spec, err := u.Encode(version, o)
	if err != nil {
		return err
	}
	spec.Rows = byRow
	_, err = s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.SetOptimizer(now, spec, deadline)
	})
	return err
}

// optimizer returns the one that was set.
func (s *dist) optimizer() optimizer.Optimizer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec
}

func (s *dist) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.timeout)
	defer cancel()
	err := s.drain(ctx)
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	for _, k := range s.all() {
		k.close()
	}
	return err
}

// String describes the store by its name and this worker's place.
func (s *dist) String() string {
	return fmt.Sprintf("<Store %s: worker %d of %d>", s.name, s.Rank(), s.NumWorkers())
}
