package kvstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"gomx/dtype"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/ring"
	"gomx/kvstore/update"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// allreduce is the store of a job without servers. Every worker has all values, adds up gradients
// with the other workers (package ring), and runs the same optimizer on the sums.
//
// A push is an operation of the engine that ends when the sum is there, and another one that
// changes the values. Both hold the key's order, which the next push waits for.
type allreduce struct {
	name    string
	job     *Job
	cfg     config
	replica *update.Replica

	mu      sync.Mutex
	keys    map[string]*ringKey
	order   []string
	spec    optimizer.Optimizer
	version uint64 // of the last spec
	closed  bool

	survival *survival // nil: every round has the contributions of all workers of the job
}

// openAllreduce opens the store that the workers of a job share. It waits for all of them.
func openAllreduce(ctx context.Context, kind Kind, c config) (Store, error) {
	job := JobOf(ctx)
	if err := kind.fits(job); err != nil {
		return nil, err
	}
	r, err := update.NewReplica(job.Workers(), uint64(job.cfg.SliceSize))
	if err != nil {
		return nil, err
	}
	s := &allreduce{name: kind.Name, job: job, cfg: c, replica: r, keys: map[string]*ringKey{}}
	job.driver.do(func() {
		if job.opened {
			err = fmt.Errorf("kvstore: %s: the job has a store already", kind.Name)
			return
		}
		job.opened, job.keys = true, s
	}, func() { err = errClosed })
	switch {
	case err != nil:
	case job.cfg.Policy == ps.Shrink:
		s.survival = newSurvival(s)
		r.Undoable()
		_, err = s.survival.enter(ctx)
	default:
		_, err = job.wait(ctx, c.timeout, job.ring.Join)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if s.survival != nil {
		return &survivor{s}, nil
	}
	return s, nil
}

func (s *allreduce) Name() string { return s.name }

// Rank implements Member.
func (s *allreduce) Rank() int { return s.job.Rank() }

// NumWorkers implements Member.
func (s *allreduce) NumWorkers() int { return s.job.Workers() }

// Sums implements Member.
func (s *allreduce) Sums() bool { return true }

// Resumed implements Resumer.
func (s *allreduce) Resumed() uint64 {
	var n uint64
	s.job.driver.do(func() { n = s.job.ring.Resumed() }, nil)
	return n
}

func (s *allreduce) Init(ctx context.Context, key string, value *nd.Array) error {
	return s.init(ctx, key, value, false)
}

// InitSum implements Joint.
func (s *allreduce) InitSum(ctx context.Context, key string, value *nd.Array) error {
	return s.init(ctx, key, value, true)
}

func (s *allreduce) init(ctx context.Context, key string, value *nd.Array, added bool) error {
	if value == nil {
		return fmt.Errorf("kvstore: no value for key %q", key)
	}
	b, err := readInitial(ctx, key, value)
	if err != nil {
		return err
	}
	k := &ringKey{store: s, name: key, shape: value.Shape().Clone(), dtype: value.DType(),
		eng: value.Engine(), ringMode: ringMode{added: added}}
	o, err := s.create(k, len(b))
	if err != nil {
		return err
	}
	if k.whole && len(b) > maxSlice {
		return k.fail("Init", fmt.Errorf("%d bytes, want at most %d: %s looks at keys as a whole",
			len(b), maxSlice, o.Name()))
	}
	if o != nil { // once more, with the new name
		if err := s.setSpec(o, nil); err != nil {
			return err
		}
	}
	if err := s.agreeOn(ctx, k, b); err != nil {
		return k.fail("Init", err)
	}
	b.free()
	return nil
}

// create makes a key without values, and returns the optimizer.
func (s *allreduce) create(k *ringKey, size int) (o optimizer.Optimizer, err error) {
	s.mu.Lock()
	switch {
	case s.closed:
		err = errClosed
	case s.keys[k.name] != nil:
		err = fmt.Errorf("kvstore: key %q has a value already", k.name)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	k.id = uint32(len(s.order))
	if k.eng == nil {
		k.id |= worker.Aside
	} else {
		k.turn, k.say = k.eng.NewVar("kvstore "+k.name), k.describe
	}
	s.keys[k.name] = k
	s.order = append(s.order, k.name)
	o = s.spec
	k.whole = o != nil && !optimizer.Elementwise(o) && !k.added
	s.mu.Unlock()
	s.job.driver.do(func() {
		err = s.job.ring.Create(k.id, ring.KeySpec{Total: uint64(size), DType: k.dtype,
			Aside: k.eng == nil})
	}, func() { err = errClosed })
	return o, err
}

// agreeOn gives a key the values that other workers have, or else the value of worker 0.
func (s *allreduce) agreeOn(ctx context.Context, k *ringKey, value []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.timeout, ps.ErrTimeout)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ranks, err := s.members(ctx)
		if err != nil {
			return err
		}
		rounds := s.Resumed()
		alone := true
		var last error
		for _, rank := range ranks {
			if rank == s.Rank() {
				continue
			}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			v, err := s.fetch(short, rank, k.id, rounds)
			stop()
			switch {
			case err != nil:
				alone, last = false, err
			case v == nil:
			case v.plain:
				s.mu.Lock()
				k.plain = true
				s.mu.Unlock()
				return nil
			default:
				return s.replica.Load(k.id, k.dtype, k.whole, len(value), v.bytes, rounds)
			}
			if err := context.Cause(ctx); err != nil {
				return errors.Join(err, last)
			}
		}
		if alone && s.Rank() == ranks[0] && rounds == 0 {
			s.replica.Init(k.id, k.dtype, k.whole, value, 0)
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no other worker has values after %d rounds: %w", rounds,
				context.Cause(ctx)), last)
		}
	}
}

// members returns the ranks of the workers whose contributions sums have.
func (s *allreduce) members(ctx context.Context) (ranks []int, err error) {
	if s.survival != nil {
		return s.survival.ranks(ctx)
	}
	for r := range s.NumWorkers() {
		ranks = append(ranks, r)
	}
	return ranks, nil
}

// isPlain reports whether nobody keeps the values of a key.
func (s *allreduce) isPlain(id uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(id) >= len(s.order) {
		return false
	}
	return s.keys[s.order[id]].plain
}

func (s *allreduce) Push(key string, priority int, grads ...*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "Push", grads)
	if err != nil {
		return err
	}
	return k.push(priority, grads, nil)
}

func (s *allreduce) Pull(key string, priority int, out ...*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "Pull", out)
	if err != nil {
		return err
	}
	k.pull(priority, out)
	return nil
}

// PushPull implements Exchanger.
func (s *allreduce) PushPull(key string, priority int, grads, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.find(key, "PushPull", grads)
	if err == nil {
		err = fits(key, "PushPull", k.shape, k.dtype, out)
	}
	if err != nil {
		return err
	}
	return k.push(priority, grads, out)
}

// find returns a key and checks that arrays fit it.
func (s *allreduce) find(key, what string, arrays []*nd.Array) (*ringKey, error) {
	s.mu.Lock()
	k, closed := s.keys[key], s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case k == nil || k.eng == nil:
		return nil, fmt.Errorf("kvstore: %s: key %q has no value: call Init first", what, key)
	}
	return k, fits(key, what, k.shape, k.dtype, arrays)
}

// all returns the keys in the order of Init.
func (s *allreduce) all() []*ringKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inOrder(s.order, s.keys)
}

// Agree implements Joint: every worker contributes an array with its own number in its place.
func (s *allreduce) Agree(ctx context.Context, name string, number uint64) ([]uint64, error) {
	if s.survival != nil {
		return s.survival.agree(ctx, name, number)
	}
	k := &ringKey{store: s, name: name, shape: dtype.Shape{s.NumWorkers()}, dtype: dtype.Int64}
	mine, all := make([]byte, 8*s.NumWorkers()), make([]byte, 8*s.NumWorkers())
	if _, err := s.create(k, len(mine)); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(mine[8*s.Rank():], number)
	if _, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.ring.Push(now, ring.PushOp{Key: k.id, Value: mine, Out: all, Keep: true,
			Priority: 127, Deadline: deadline})
	}); err != nil {
		return nil, k.fail("agreement", err)
	}
	list := make([]uint64, s.NumWorkers())
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(all[8*i:])
	}
	return list, nil
}

// Barrier implements Synchronizer.
func (s *allreduce) Barrier(ctx context.Context) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	_, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		s.job.driver.machine.(*peer).report()
		return s.job.worker.Barrier(now, deadline)
	})
	return err
}

// drain waits until the operations on all keys are over, and returns the first error.
func (s *allreduce) drain(ctx context.Context) error {
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		if err := k.rest(ctx, k.eng, k.turn); err != nil {
			return err
		}
	}
	return nil
}

// SetOptimizer implements Updater. Every worker runs the optimizer that it is given, so all must be
// given the same one.
func (s *allreduce) SetOptimizer(ctx context.Context, o optimizer.Optimizer) error {
	if _, err := optimizer.NewUpdater(o, nil); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		if err := s.takeUp(ctx, k); err != nil {
			return k.fail("SetOptimizer", err)
		}
		if !optimizer.Elementwise(o) && s.replica.Slices(k.id) > 1 && !k.added {
			return fmt.Errorf("kvstore: %s looks at keys as a whole, but %q was sliced by Init: "+
				"call SetOptimizer before", o.Name(), k.name)
		}
	}
	s.mu.Lock()
	s.spec = o
	s.mu.Unlock()
	return s.setSpec(o, nil)
}

// takeUp gives the replica the value of a key of which nobody has kept the sums.
func (s *allreduce) takeUp(ctx context.Context, k *ringKey) error {
	s.mu.Lock()
	plain := k.plain
	s.mu.Unlock()
	if !plain {
		return nil
	}
	b := make([]byte, k.shape.Size()*k.dtype.Size())
	done, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.ring.Collect(now, k.id, b, deadline)
	})
	if err != nil {
		return err
	}
	s.replica.Init(k.id, k.dtype, k.whole, b, done.Clock)
	s.mu.Lock()
	k.plain = false
	s.mu.Unlock()
	return nil
}

// OptimizerStates implements StateKeeper.
func (s *allreduce) OptimizerStates(ctx context.Context) ([]State, error) {
	if !s.replica.Active() {
		return nil, errNoOptimizer
	}
	if err := s.drain(ctx); err != nil {
		return nil, err
	}
	var list []State
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		whole, err := joinStates(s.replica.Slices(k.id), func(i uint16) ([]byte, error) {
			return s.replica.State(k.id, i), nil
		})
		if err != nil {
			return nil, k.fail("optimizer state", err)
		}
		arrays, err := stateArrays(whole, k.shape, k.eng)
		if err != nil {
			return nil, k.fail("optimizer state", err)
		}
		list = append(list, State{Key: k.name, Arrays: arrays})
	}
	return list, nil
}

// SetOptimizerStates implements StateKeeper. Every worker must be given the same states.
func (s *allreduce) SetOptimizerStates(ctx context.Context, states []State) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	o := s.spec
	s.mu.Unlock()
	if o == nil {
		return errNoOptimizer
	}
	var all []update.SliceState
	for _, st := range states {
		s.mu.Lock()
		k := s.keys[st.Key]
		s.mu.Unlock()
		if k == nil || k.eng == nil {
			return fmt.Errorf("kvstore: state of key %q, which has no value", st.Key)
		}
		list, err := sliceStates(ctx, st, k.id, k.shape, k.dtype, s.replica.Slices(k.id))
		if err != nil {
			return k.fail("optimizer state", err)
		}
		all = append(all, list...)
	}
	return s.setSpec(o, all)
}

// setSpec gives the replica the optimizer, with the names of all keys.
func (s *allreduce) setSpec(o optimizer.Optimizer, states []update.SliceState) error {
	s.mu.Lock()
	s.version++
	u := update.Spec{Names: append([]string(nil), s.order...), Rounds: true, States: states}
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
	return s.replica.SetSpec(spec)
}

// SetCompression accepts no compression: the sums that workers exchange would have to be compressed
// once more, by an error that nobody feeds back.
func (s *allreduce) SetCompression(m compress.Method) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("kvstore: %w", err)
	}
	if m.Kind == compress.None {
		return nil
	}
	return fmt.Errorf("kvstore: SetCompression(%v): the store allreduce sends sums, which are not "+
		"compressed: want no compression, or servers (dist_sync)", m.Kind)
}

// Close waits until all pushes are complete here and at the other workers.
func (s *allreduce) Close() error {
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
	if err == nil {
		_, err = s.job.wait(ctx, s.cfg.timeout, s.job.ring.Leave)
	}
	if s.survival != nil && errors.Is(err, ErrRegrouped) {
		err = nil // the others go on from here, or have all that this worker has
	}
	for _, k := range s.all() {
		k.close()
	}
	return err
}

// String describes the store by its name and this worker's place.
func (s *allreduce) String() string {
	return fmt.Sprintf("<Store %s: worker %d of %d>", s.name, s.Rank(), s.NumWorkers())
}
