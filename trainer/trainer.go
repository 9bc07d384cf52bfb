package trainer

import (
	"errors"

	"gomx/kvstore/joint"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Trainer changes parameters by their gradients, with an optimizer in this process or in a store.
// The zero Trainer has no parameters and no optimizer. It is used by one goroutine at a time.
//
// A step is Reduce, which adds up the gradients of the devices, then Step, which changes the
// parameters on all devices.
type Trainer struct {
	Scaler *Scaler // nil: gradients are not scaled

	params  []Param            // by the optimizer's numbers
	updater *optimizer.Updater // nil: no optimizer has been chosen
	loaded  bool               // LoadStates has given states to the updater
	clip    *clipper           // nil: gradients are not clipped
	sums    *sums              // adds up the gradients, made at the first use
	store   *Store             // nil: the trainer updates the parameters itself
}

// Param is a parameter of a trainer.
type Param struct {
	Name    string
	Fixed   bool        // it is never trained and has no states
	Weights []*nd.Array // one per device, with equal values whenever a step begins
}

// Gradients are the results of a backward pass.
type Gradients interface {
	// Of returns the gradients of a parameter, one per device; nil if there are none.
	Of(name string) []*nd.Array
	// Firsts returns the gradients on the first device by name, with those of inputs if they are
	// computed. After Reduce the gradients of parameters there are the sums over the devices.
	Firsts() map[string]*nd.Array
}

// Track makes the trainer update the arrays of params, which may be arrays of other devices than
// before.
func (t *Trainer) Track(params []Param) error {
	t.params = params
	if t.sums == nil || t.sums.shared {
		return nil
	}
	err := t.sums.kv.Close()
	t.sums = nil
	return err
}

// Params returns the parameters by the optimizer's numbers.
func (t *Trainer) Params() []Param { return t.params }

// SetUpdater chooses the optimizer, by an updater that knows the names and the multipliers of the
// parameters and the factor of gradients.
func (t *Trainer) SetUpdater(u *optimizer.Updater) { t.updater, t.loaded = u, false }

// Updater returns the updater that SetUpdater has set, nil before.
func (t *Trainer) Updater() *optimizer.Updater { return t.updater }

// Store returns the store that updates the parameters, nil if the trainer does it itself.
func (t *Trainer) Store() *Store { return t.store }

// LeaveStore makes the trainer update the parameters itself from now on.
func (t *Trainer) LeaveStore() { t.store = nil }

// Loaded reports whether the updater has states that LoadStates has given to it, and that no run
// has taken over.
func (t *Trainer) Loaded() bool { return t.loaded }

// SetLoaded changes the answer of Loaded.
func (t *Trainer) SetLoaded(loaded bool) { t.loaded = loaded }

// Step lets the optimizer change the parameters by reduced gradients, asynchronously: here, or in
// the store. With a loss scale that is not fixed it waits for the gradients, and changes nothing if
// one is not finite. Steps counts the backward passes so far.
func (t *Trainer) Step(g Gradients, steps uint64) error {
	if t.updater == nil {
		return errors.New("no optimizer has been chosen")
	}
	grads := g.Firsts()
	if t.Scaler != nil {
		if skip, err := t.Scaler.overflowed(grads, steps); err != nil {
			return err
		} else if skip {
			return t.skip()
		}
	}
	if t.clip != nil {
		if err := t.clip.scale(grads, t.params, t.updater.Rescale()); err != nil {
			return err
		}
	}
	if t.store != nil {
		return t.store.update(grads)
	}
	if err := t.update(grads); err != nil {
		return err
	}
	for i := range t.params {
		if p := &t.params[i]; grads[p.Name] != nil {
			Spread(p.Weights)
		}
	}
	return nil
}

// update starts the steps of all parameters that have a gradient, on the first device.
func (t *Trainer) update(grads map[string]*nd.Array) error {
	t.updater.Begin()
	defer t.updater.End()
	for i := range t.params {
		p := &t.params[i]
		if grads[p.Name] == nil {
			continue
		}
		if err := t.updater.Update(i, p.Weights[0], grads[p.Name]); err != nil {
			return err
		}
	}
	return nil
}

// skip is the step of a batch whose gradients cannot be used.
func (t *Trainer) skip() error {
	if t.store != nil && t.store.joint != nil {
		return t.store.Idle()
	}
	return nil
}

// LimitNorm puts a limit of the gradients' norm into force; 0 is none.
func (t *Trainer) LimitNorm(limit float64) error {
	if limit == 0 {
		return nil
	}
	if t.store != nil && t.store.joint != nil {
		return ClipJobError(t.store.kv.Name())
	}
	t.clip = &clipper{limit: limit}
	return nil
}

// EndLimit ends the effect of LimitNorm.
func (t *Trainer) EndLimit() {
	if t.clip != nil {
		t.clip.close()
		t.clip = nil
	}
}

// Spread copies the first array, a parameter on the first device, to the others.
func Spread(copies []*nd.Array) {
	if joint.Can(copies) && joint.Spread(copies[0], copies[1:]) {
		return
	}
	for _, a := range copies[1:] {
		copies[0].CopyInto(a)
	}
}

func closeAll(list []*nd.Array) {
	for _, a := range list {
		a.Close()
	}
}
