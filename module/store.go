package module

import (
	"context"
	"errors"
	"fmt"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// storage is the module's side of a store that updates the parameters.
//
// As MXNet does with update_on_kvstore, gradients are pushed in the order of the parameters, and
// the first parameters, which the next Forward needs first, have the highest priority.
type storage struct {
	kv    *kvstore.KV
	joint kvstore.Joint // kv, if several processes share it, else nil
	owned bool          // opened by Fit, which closes it
	keys  []storedKey
	aux   []sharedAux // of a store that processes share
	// makes auxiliary states equal on all devices, before they are pushed
	settle func()
}

// storedKey is a parameter that is trained.
type storedKey struct {
	index int // in trainer.params
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
	case m.trainer.updater == nil:
		return errors.New("module: UseStore: no optimizer: call InitOptimizer first")
	}
	return m.trainer.useStore(ctx, kv, storeUse{m.replicas.current,
		m.replicas.batchSize(m.net.fed), m.net.auxStates, m.net.settleAux})
}

// storeUse is everything but parameters and optimizer that a store needs to update parameters.
type storeUse struct {
	grads  gradients // of the parameters that are trained
	batch  int       // samples per batch of this worker, 0: unknown
	aux    func() []auxState
	settle func() // makes auxiliary states equal on all devices
}

// useStore lets a store update the parameters.
func (t *trainer) useStore(ctx context.Context, store kvstore.Store, use storeUse) error {
	if _, err := kvstore.Need[kvstore.Updater](store, "UseStore"); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	kv := kvstore.Wrap(store)
	if kv.Sums() {
		t.updater.SetRescale(1 / float64(use.batch*kv.NumWorkers()))
	}
	o, err := t.updater.Settled()
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	s := &storage{kv: kv, settle: use.settle}
	s.joint, _ = kvstore.As[kvstore.Joint](kv)
	for i, p := range t.params {
		if g := use.grads.firsts()[p.name]; g != nil {
			s.keys = append(s.keys, storedKey{index: i, name: p.name, grad: [1]*nd.Array{g},
				value: p.weights})
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
	if err := s.shareAux(ctx, use.aux); err != nil {
		return err
	}
	if err := kv.SetOptimizer(ctx, o); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := s.pull(); err != nil {
		return err
	}
	t.store = s
	return t.giveLoaded(ctx)
}

// pull takes all parameters and auxiliary states from the store.
func (s *storage) pull() error {
	for i := range s.keys {
		k := &s.keys[i]
		if err := s.kv.Pull(k.name, -i, k.value...); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return s.pullAux()
}

// giveLoaded gives the states that loadStates has read to the store, unless the job has gone on
// from there already.
func (t *trainer) giveLoaded(ctx context.Context) error {
	s := t.store
	if !t.loaded || s.kv.Resumed() > 0 {
		return nil
	}
	states := map[int][]*nd.Array{}
	for i := range s.keys {
		states[s.keys[i].index] = t.updater.State(s.keys[i].index)
	}
	t.loaded = false
	return s.load(ctx, states)
}

// update pushes all gradients and pulls all parameters. Auxiliary states, which are known before
// the gradients, go first.
func (s *storage) update(grads map[string]*nd.Array) error {
	s.settle()
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
	s.settle()
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
