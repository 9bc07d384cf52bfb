package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// storage is the module's side of a store that updates the parameters.
//
// As MXNet does with update_on_kvstore, gradients are pushed in the order of the parameters, and
// the first parameters, which the next Forward needs first, have the highest priority.
type storage struct {
	kv    kvstore.Store
	owned bool // opened by Fit, which closes it
	keys  []storedKey
	aux   []sharedAux // of a store that processes share
}

// storedKey is a parameter that is trained.
type storedKey struct {
	index int // in Module.params
	name  string
	grad  [1]*nd.Array
	value []*nd.Array // on every device of the module
	zero  *nd.Array   // gradient of a batch that this worker does not have, made at the first use
}

// UseStore lets a store update the parameters: Update pushes gradients and pulls parameters. It is
// called after InitParams and InitOptimizer, by every worker of the store. The parameters take
// the values of worker 0, and the gradients are divided by the number of workers if the store adds
// them up. Parameters without gradients stay out of the store. If the store joins several
// processes they share the auxiliary states too: a moving average covers the batches of all
// workers.
func (m *Module) UseStore(ctx context.Context, kv kvstore.Store) error {
	if err := m.usable("UseStore"); err != nil {
		return err
	}
	switch {
	case isNil(kv):
		return errors.New("module: UseStore: the store is nil")
	case !m.net.inited:
		return errors.New("module: UseStore: the parameters have no values: call InitParams first")
	case m.updater == nil:
		return errors.New("module: UseStore: no optimizer: call InitOptimizer first")
	}
	if kv.Sums() {
		m.updater.SetRescale(1 / float64(m.replicas.batchSize(m.net.fed)*kv.NumWorkers()))
	}
	o, err := m.updater.Settled()
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	s := &storage{kv: kv}
	for i, name := range m.net.params {
		if g := m.replicas.current.first().Grads[name]; g != nil {
			s.keys = append(s.keys, storedKey{index: i, name: name, grad: [1]*nd.Array{g},
				value: m.net.copies(name)})
		}
	}
	if !optimizer.Elementwise(o) { // so that keys travel whole
		if err := kv.SetOptimizer(ctx, o); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	for i := range s.keys {
		k := &s.keys[i]
		if err := kv.Init(ctx, k.name, k.value[0]); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	if err := s.shareAux(ctx, m); err != nil {
		return err
	}
	if err := kv.SetOptimizer(ctx, o); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	for i := range s.keys {
		k := &s.keys[i]
		if err := kv.Pull(k.name, -i, k.value...); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	if err := s.pullAux(); err != nil {
		return err
	}
	m.store = s
	return s.giveLoaded(ctx, m)
}

// giveLoaded gives the states that LoadStates has read to the store, unless the job has gone on
// from there already.
func (s *storage) giveLoaded(ctx context.Context, m *Module) error {
	if j, ok := s.kv.(kvstore.Joint); !m.loaded || ok && j.Resumed() > 0 {
		return nil
	}
	states := map[int][]*nd.Array{}
	for i := range s.keys {
		states[s.keys[i].index] = m.updater.State(s.keys[i].index)
	}
	m.loaded = false
	return s.load(ctx, states)
}

// update pushes all gradients and pulls all parameters. Auxiliary states, which are known before
// the gradients, go first.
func (s *storage) update(grads map[string]*nd.Array) error {
	if err := s.updateAux(); err != nil {
		return err
	}
	for i := range s.keys {
		k := &s.keys[i]
		if k.grad[0] = grads[k.name]; k.grad[0] == nil {
			k.grad[0] = k.none() // the network of this batch's bucket does not have the parameter
		}
		if err := s.kv.PushPull(k.name, -i, k.grad[:], k.value); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// idle takes part in a round without a batch: its gradients are zeros.
func (s *storage) idle() error {
	if err := s.updateAux(); err != nil {
		return err
	}
	for i := range s.keys {
		k := &s.keys[i]
		if err := s.kv.PushPull(k.name, -i, []*nd.Array{k.none()}, k.value); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// none returns a gradient of zeros.
func (k *storedKey) none() *nd.Array {
	if k.zero == nil {
		v := k.value[0]
		k.zero = nd.Zeros(v.Shape(), nd.As(v.DType()), nd.On(v.Device()), nd.Using(v.Engine()))
	}
	return k.zero
}

// states returns the states of the store's optimizer, by the numbers of the parameters.
func (s *storage) states(ctx context.Context) (map[int][]*nd.Array, error) {
	list, err := s.kv.OptimizerStates(ctx)
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	byName := map[string][]*nd.Array{}
	for _, st := range list {
		byName[st.Key] = st.Arrays
	}
	out := map[int][]*nd.Array{}
	for i := range s.keys {
		out[s.keys[i].index] = byName[s.keys[i].name]
	}
	return out, nil
}

// load gives states to the store.
func (s *storage) load(ctx context.Context, states map[int][]*nd.Array) error {
	var list []kvstore.State
	for i := range s.keys {
		if arrays := states[s.keys[i].index]; len(arrays) > 0 {
			list = append(list, kvstore.State{Key: s.keys[i].name, Arrays: arrays})
		}
	}
	if err := s.kv.SetOptimizerStates(ctx, list); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}

// stateArrays returns the states that SaveStates writes.
func (m *Module) stateArrays() (func(i int) []*nd.Array, error) {
	if m.store == nil {
		return m.updater.State, nil
	}
	states, err := m.store.states(context.Background())
	return func(i int) []*nd.Array { return states[i] }, err
}

// share holds this worker's rank in its job and its counts of batches and rounds.
type share struct {
	rank   int
	rounds int // batches of an epoch of the worker that has the most; 0: unknown
	// rounds that are left out: an earlier process in this place has taken part in them, or they
	// have closed
	resumed int
	joined  int // rounds that an earlier process had taken part in when this one began
	round   int // rounds so far, those that were left out included
}

// openStore opens the store that Fit has been given the name of, and hands out the data among the
// workers.
func (f *fitting) openStore(ctx context.Context) error {
	c, m := &f.config, f.m
	if c.kv == nil && !kvstore.IsDist(c.store) {
		if c.store != "" && c.store != "local" && c.store != "device" {
			return fmt.Errorf("module: store %q, want one of %s", c.store,
				strings.Join(kvstore.Names(), ", "))
		}
		// one process: the module's own updater does the rest
		return m.reduceWith(ctx, cmp.Or(c.store, "device"), c.compression)
	}
	kv, owned := c.kv, false
	if kv == nil {
		var err error
		if kv, err = kvstore.Open(ctx, c.store, c.storeOptions...); err != nil {
			return fmt.Errorf("module: %w", err)
		}
		owned = true
	}
	f.share.rank = kv.Rank()
	if s, ok := f.train.(dataio.Sharder); ok && kv.NumWorkers() > 1 && !s.Sharded() {
		if err := s.Shard(kv.Rank(), kv.NumWorkers()); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	if err := kv.SetCompression(c.compression); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := m.UseStore(ctx, kv); err != nil {
		return err
	}
	m.store.owned = owned
	joint, ok := kv.(kvstore.Joint)
	if !ok {
		return nil
	}
	batches := uint64(0)
	if n, ok := f.train.(dataio.Counter); ok {
		batches = uint64(n.Batches())
	}
	all, err := joint.Agree(ctx, "batches", batches)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	for _, n := range all {
		f.share.rounds = max(f.share.rounds, int(n))
		if n == 0 {
			f.share.rounds = 0 // somebody's iterator does not know
			break
		}
	}
	f.share.resumed = int(joint.Resumed())
	f.share.joined = f.share.resumed
	return f.findSaved()
}

// closeStore closes a store that Fit has opened. Afterwards the module updates its parameters
// itself.
func (f *fitting) closeStore() error {
	s := f.m.store
	if s == nil || !s.owned {
		return nil
	}
	f.m.store = nil
	err := s.kv.Close()
	s.closeAux()
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}

// keepUp leaves out the rounds that other workers have closed without this one, in jobs where they
// may: a push to a closed round has no effect. It first waits for the pulled parameters, because
// they show how far the others are.
func (f *fitting) keepUp(ctx context.Context) error {
	if f.m.store == nil {
		return nil
	}
	j, ok := f.m.store.kv.(kvstore.Joint)
	if !ok || j.Backups() == 0 {
		return nil
	}
	if err := f.m.Wait(ctx); err != nil {
		return err
	}
	f.share.resumed += int(j.Skip())
	return nil
}

// loadStates gives the states of a file to the optimizer, wherever it runs.
func (m *Module) loadStates(path string, list []checkpoint.IndexedState) error {
	loaded := map[int][]*nd.Array{}
	for _, s := range list {
		i, err := m.stateIndex(path, s)
		if err != nil {
			return err
		}
		arrays, err := s.State.Arrays()
		if err != nil {
			return fmt.Errorf("module: %s: state of %s: %w", path, m.net.params[i], err)
		}
		loaded[i] = arrays
		if m.store == nil {
			if err := m.setState(i, arrays); err != nil {
				return fmt.Errorf("module: %s: %w", path, err)
			}
		}
	}
	if m.store == nil {
		return nil
	}
	return m.store.load(context.Background(), loaded)
}
