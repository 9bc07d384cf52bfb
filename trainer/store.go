package trainer

import (
	"context"
	"errors"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Store is the trainer's side of a store that updates the parameters.
//
// Gradients are pushed in the order in which they become ready, the last parameter's first. As in
// MXNet with update_on_kvstore, the first parameters, which the next Forward needs first, have the
// highest priority.
type Store struct {
	kv    *kvstore.KV
	joint kvstore.Joint // kv, if several processes share it, else nil
	keys  []storedKey
	aux   []sharedAux // of a store that processes share
	// makes auxiliary states equal on all devices, before they are pushed
	settle func()
}

// storedKey is a parameter that is trained.
type storedKey struct {
	index int // in Trainer.params
	name  string
	grad  [1]*nd.Array
	value []*nd.Array // on every device
	zero  *nd.Array   // gradient of a batch that this worker does not have, made at the first use
	rows  *storedRows // nil: the store keeps the parameter as a whole
}

// StoreUse is everything but parameters and optimizer that a store needs to update parameters.
type StoreUse struct {
	Grads Gradients // of the parameters that are trained
	// Batch is the number of samples per batch of this worker. If the store adds up the gradients
	// of all workers, the sum is divided by it and by their number. 0: the updater's factor of
	// gradients is used as it is.
	Batch  int
	Aux    func() []AuxState
	Settle func() // makes auxiliary states equal on all devices
	// Rows describes parameters of which each batch reads some rows. A store of a job keeps rows of
	// those whose gradients or values are row_sparse, a store of one process of those whose values
	// are. Nil: the rows of batches are not known.
	Rows func(name string) RowUse
}

// UseStore lets a store update the parameters: Step pushes gradients and pulls parameters. Every
// worker of the store calls it. The parameters take the values of worker 0. Parameters without
// gradients stay out of the store. If the store joins several processes they share the auxiliary
// states too.
func (t *Trainer) UseStore(ctx context.Context, store kvstore.Store, use StoreUse) error {
	if _, err := kvstore.Need[kvstore.Updater](store, "UseStore"); err != nil {
		return err
	}
	kv := kvstore.Wrap(store)
	if kv.Sums() && use.Batch > 0 {
		t.updater.SetRescale(1 / float64(use.Batch*kv.NumWorkers()))
	}
	o, err := t.updater.Settled()
	if err != nil {
		return err
	}
	s := &Store{kv: kv, settle: use.Settle}
	s.joint, _ = kvstore.As[kvstore.Joint](kv)
	for i, p := range t.params {
		g := use.Grads.Firsts()[p.Name]
		if g == nil {
			continue
		}
		k := storedKey{index: i, name: p.Name, grad: [1]*nd.Array{g}, value: p.Weights}
		if k.rows, err = s.rowsOf(&t.params[i], g, o, use.rows(p.Name)); err != nil {
			return err
		}
		s.keys = append(s.keys, k)
	}
	if !optimizer.Elementwise(o) { // so that keys travel whole
		if err := kv.SetOptimizer(ctx, o); err != nil {
			return err
		}
	}
	for i := range s.keys {
		k := &s.keys[i]
		if k.rows != nil {
			err = s.initRows(ctx, k)
		} else {
			err = kv.Init(ctx, k.name, k.value[0])
		}
		if err != nil {
			return err
		}
	}
	if err := s.shareAux(ctx, use.Aux); err != nil {
		return err
	}
	if err := kv.SetOptimizer(ctx, o); err != nil {
		return err
	}
	if err := s.pull(); err != nil {
		return err
	}
	t.store = s
	return t.giveLoaded(ctx)
}

// Resettle gives the store the factor of gradients and the multipliers that the updater has now.
func (t *Trainer) Resettle(ctx context.Context) error {
	o, err := t.updater.Settled()
	if err != nil {
		return err
	}
	return t.store.kv.SetOptimizer(ctx, o)
}

// rows describes a parameter.
func (u *StoreUse) rows(name string) RowUse {
	if u.Rows == nil {
		return RowUse{Whole: errors.New("the rows of a batch are not known")}
	}
	return u.Rows(name)
}

// pull takes the parameters that the store keeps as a whole, and the auxiliary states, from the
// store.
func (s *Store) pull() error {
	for i := range s.keys {
		k := &s.keys[i]
		if k.rows != nil {
			continue // PullRows pulls the rows of each batch
		}
		if err := s.kv.Pull(k.name, -i, k.value...); err != nil {
			return err
		}
	}
	return s.pullAux()
}

// giveLoaded gives the states that loadStates has read to the store, unless the job has gone on
// from there already.
func (t *Trainer) giveLoaded(ctx context.Context) error {
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

// update pushes all gradients and pulls the parameters that the store keeps as a whole. Auxiliary states, which are known before
// the gradients, go first.
func (s *Store) update(grads map[string]*nd.Array) error {
	s.settle()
	if err := s.updateAux(); err != nil {
		return err
	}
	for i := len(s.keys) - 1; i >= 0; i-- {
		k := &s.keys[i]
		if k.grad[0] = grads[k.name]; k.grad[0] == nil {
			k.grad[0] = k.none() // the network of this batch's bucket does not have the parameter
		}
		if err := s.pushPull(k, i); err != nil {
			return err
		}
	}
	return nil
}

// pushPull pushes the gradient of key number i and pulls its value, unless the store keeps rows.
func (s *Store) pushPull(k *storedKey, i int) error {
	if k.rows != nil {
		k.rows.pushed = true
		return s.kv.Push(k.name, -i, k.grad[0])
	}
	if g := k.grad[0]; g.Storage() != nd.Dense && s.joint != nil {
		k.grad[0] = densely(g, k.name, s.kv.Name())
		defer k.grad[0].Close()
	}
	return s.kv.PushPull(k.name, -i, k.grad[:], k.value)
}

// Pull takes all parameters and auxiliary states from the store, for a worker that takes the place of
// another one.
func (s *Store) Pull() error { return s.pull() }

// KV returns the store.
func (s *Store) KV() *kvstore.KV { return s.kv }

// Joint returns the store if several processes share it, else nil.
func (s *Store) Joint() kvstore.Joint { return s.joint }

// Close closes the store. The parameters and the auxiliary states keep their values.
func (s *Store) Close() error {
	err := s.kv.Close()
	s.closeAux()
	s.closeRows()
	return err
}

// Idle takes part in a round without a batch: its gradients are zeros.
func (s *Store) Idle() error {
	s.settle()
	if err := s.updateAux(); err != nil {
		return err
	}
	for i := len(s.keys) - 1; i >= 0; i-- {
		k := &s.keys[i]
		k.grad[0] = k.none()
		if err := s.pushPull(k, i); err != nil {
			return err
		}
	}
	return nil
}

// none returns a gradient of zeros.
func (k *storedKey) none() *nd.Array {
	if k.zero == nil {
		v, stored := k.value[0], nd.Dense
		if k.rows != nil {
			stored = nd.RowSparse
		}
		k.zero = nd.ZerosOf(stored, v.Shape(), nd.As(v.DType()), nd.On(v.Device()),
			nd.Using(v.Engine()))
	}
	return k.zero
}

// states returns the states of the store's optimizer, by the numbers of the parameters.
func (s *Store) states(ctx context.Context) (map[int][]*nd.Array, error) {
	list, err := s.kv.OptimizerStates(ctx)
	if err != nil {
		return nil, err
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
func (s *Store) load(ctx context.Context, states map[int][]*nd.Array) error {
	var list []kvstore.State
	for i := range s.keys {
		arrays := states[s.keys[i].index]
		if len(arrays) > 0 {
			list = append(list, kvstore.State{Key: s.keys[i].name, Arrays: arrays})
		}
	}
	return s.kv.SetOptimizerStates(ctx, list)
}
