package gluon

import (
	"errors"
	"fmt"
	"slices"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/trainer"
)

// attach gives the core the arrays of the parameters, if there are others than before.
func (t *Trainer) attach() error {
	changed := false
	for i, p := range t.params {
		if list := p.arrays.Load(); list != t.seen[i] {
			t.seen[i], changed = list, true
		}
	}
	if !changed {
		return nil
	}
	if t.core.Store() != nil {
		return fmt.Errorf("parameters have other arrays than before: after the first step with the "+
			"store %s, Init and Cast are too late", t.config.kind.Name)
	}
	if err := t.checkRows(); err != nil {
		clear(t.seen)
		return err
	}
	params := make([]trainer.Param, len(t.params))
	for i, p := range t.params {
		params[i] = trainer.Param{Name: t.names[i], Fixed: p.State}
		if list := t.seen[i]; list != nil {
			params[i].Weights = *list
		}
	}
	return t.core.Track(params)
}

// open makes the core use the store, at the first call.
func (t *Trainer) open() error {
	c := &t.config
	if t.opened {
		return nil
	}
	if !c.onStore.Or(false) && !c.kind.Job && c.kv == nil {
		t.opened = true
		return t.core.ReduceWith(c.ctx, c.kind.Name, c.compression)
	}
	kv, err := t.join()
	if err != nil {
		return err
	}
	if err := t.catchUp(kv); err != nil {
		return err
	}
	if err := t.enter(kv); err != nil {
		return err
	}
	t.opened = true
	return nil
}

// join returns the store that the trainer has been given, or the store that its options name, which
// the first call opens.
func (t *Trainer) join() (*kvstore.KV, error) {
	c := &t.config
	if c.kv != nil {
		return kvstore.Wrap(c.kv), nil
	}
	if t.owned != nil {
		return t.owned, nil
	}
	kv, err := kvstore.Open(c.ctx, c.kind.Name, c.storeOptions...)
	if err != nil {
		if c.kind.Job && kvstore.JobOf(c.ctx) == nil {
			return nil, fmt.Errorf("%w: gluon.InJob gives the context of the job", err)
		}
		return nil, err
	}
	t.owned = kv
	return kv, nil
}

// catchUp finds out how many steps an earlier process in this worker's place has taken part in that
// this process has not made yet.
func (t *Trainer) catchUp(kv *kvstore.KV) error {
	r := kv.Resumed()
	if r < t.steps {
		return fmt.Errorf("the worker continues at step %d, the store %s has %d", t.steps, kv.Name(),
			r)
	}
	if t.behind = r - t.steps; t.behind > 1 && !t.config.onStore.Or(false) {
		return fmt.Errorf("an earlier process in the place of worker %d has made %d steps, and this "+
			"one knows %d: want Save of gluon.Resume after each step, or the optimizer on the servers",
			kv.Rank(), r, t.steps)
	}
	return nil
}

// repeat takes the place of a step for a worker that is behind: the store has its gradients.
func (t *Trainer) repeat() error {
	t.core.Store().EndBatch()
	if t.behind--; t.behind > 0 {
		return nil
	}
	return t.core.Store().Pull()
}

// enter makes the core use an open store.
func (t *Trainer) enter(kv *kvstore.KV) error {
	c := &t.config
	for i, p := range t.params {
		if t.seen[i] == nil && p.request() != nd.GradNull {
			return t.noValues(i)
		}
	}
	if err := kv.SetCompression(c.compression); err != nil {
		return err
	}
	if !c.onStore.Or(false) {
		return t.core.ReduceIn(c.ctx, kv)
	}
	if t.factor == 0 {
		t.factor = 1
	}
	if err := t.core.UseStore(c.ctx, kv, trainer.StoreUse{Grads: t.all(), Aux: t.states,
		Settle: t.averageStates, Rows: t.rowUse}); err != nil {
		return err
	}
	t.keepRows()
	return nil
}

// all returns the gradients of all parameters that are trained, fresh or not.
func (t *Trainer) all() *gradients {
	g := &gradients{firsts: map[string]*nd.Array{}}
	for i, p := range t.params {
		if p.request() != nd.GradNull {
			g.firsts[t.names[i]] = (*t.seen[i])[0].Grad()
		}
	}
	return g
}

// states lists the running statistics, which the workers of a job share.
func (t *Trainer) states() (list []trainer.AuxState) {
	for i, p := range t.params {
		if p.State && t.seen[i] != nil {
			list = append(list, trainer.AuxState{Name: t.names[i], Copies: *t.seen[i]})
		}
	}
	return list
}

// averageStates makes the running statistics equal on all devices.
func (t *Trainer) averageStates() {
	for _, s := range t.states() {
		if len(s.Copies) > 1 {
			trainer.Average(s.Copies)
		}
	}
}

// Close closes the store that the trainer has opened, if there is one. It waits for the pushes.
func (t *Trainer) Close() error {
	err := t.record.Close(false)
	return errors.Join(err, closeStore(t))
}

// closeStore closes the store that a trainer has opened.
func closeStore(t *Trainer) error {
	if t.owned == nil {
		return nil
	}
	kv := t.owned
	t.owned = nil
	var err error
	if s := t.core.Store(); s != nil {
		err = errors.Join(t.leaveRows(), s.Close())
	} else {
		err = kv.Close()
	}
	if err != nil {
		return fmt.Errorf("gluon: %w", err)
	}
	return nil
}

// SaveStates writes the optimizer with its states and counts of updates to a file that MXNet's
// Trainer.load_states reads. It waits for them. Workers of a job write the same states.
func (t *Trainer) SaveStates(path string) error {
	if err := t.ready(); err != nil {
		return fmt.Errorf("gluon: SaveStates: %w", err)
	}
	if err := t.core.SaveOptimizer(path); err != nil {
		return fmt.Errorf("gluon: SaveStates: %w", err)
	}
	return nil
}

// LoadStates reads the states of the optimizer from a file of SaveStates or of MXNet's
// Trainer.save_states; Order says how the file numbers the parameters. The parameters have values.
func (t *Trainer) LoadStates(path string) error {
	if err := t.ready(); err != nil {
		return fmt.Errorf("gluon: LoadStates: %w", err)
	}
	if err := t.core.LoadStates(path); err != nil {
		return fmt.Errorf("gluon: LoadStates: %w", err)
	}
	return nil
}

// ready gives the core arrays and store before the first step.
func (t *Trainer) ready() error {
	if err := t.attach(); err != nil {
		return err
	}
	if !t.config.onStore.Or(false) {
		return nil
	}
	if t.opened || !undecided(t) {
		return t.open()
	}
	// The store has no states yet, and takes the loaded ones over at the first step.
	kv, err := t.join()
	if err == nil && kv.Resumed() > 0 {
		err = fmt.Errorf("the job has states: want the call after the first step, when the trainer " +
			"knows which parameters are read by rows")
	}
	return err
}

// undecided reports whether the network has not shown yet which parameters with row_sparse gradients
// it reads by rows: the store would keep them as a whole.
func undecided(t *Trainer) bool {
	return slices.ContainsFunc(t.params, func(p *Param) bool {
		return p.Storage == nd.Dense && p.GradStorage == nd.RowSparse &&
			p.request() != nd.GradNull && p.rows.reads.Load() == 0
	})
}
