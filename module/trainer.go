package module

import (
	"context"
	"errors"
	"fmt"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// trainer changes parameters by their gradients, with an optimizer in this process or in a store.
// It knows neither networks nor executors: gradients come with every step.
//
// A step is reduce, which adds up the gradients of the devices, then step, which changes the
// parameters on all devices.
type trainer struct {
	params  []param            // by the optimizer's numbers
	updater *optimizer.Updater // nil: no optimizer has been chosen
	loaded  bool               // loadStates has given states to the updater
	scaler  *scaler            // nil: gradients are not scaled
	clip    *clipper           // of a Fit; nil: gradients are not clipped
	sums    *sums              // adds up the devices' gradients, made at the first use
	store   *storage           // nil: the trainer updates the parameters itself
}

// param is a parameter of a trainer.
type param struct {
	name    string
	fixed   bool        // it is never trained and has no states
	weights []*nd.Array // one per device, with equal values whenever a step begins
}

// gradients are the results of a backward pass.
type gradients interface {
	// gradsOf returns the gradients of a parameter, one per device; nil if there are none.
	gradsOf(name string) []*nd.Array
	// firsts returns the gradients on the first device by name, with those of inputs if they are
	// computed. After reduce the gradients of parameters there are the sums over the devices.
	firsts() map[string]*nd.Array
}

// sums adds up the gradients of the devices.
type sums struct {
	name string
	// has no optimizer: the sum of the pushed arrays replaces the value
	kv          *kvstore.KV
	compression compress.Method
	known       map[string]bool
}

// track makes the trainer update the arrays of params, which may be arrays of other devices than
// before.
func (t *trainer) track(params []param) error {
	t.params = params
	if t.sums == nil {
		return nil
	}
	err := t.sums.kv.Close()
	t.sums = nil
	return err
}

// optimize chooses the optimizer. Gradients are divided by the batch size, unless that is 0; attrs
// holds the attributes of the parameters, with their multipliers.
func (t *trainer) optimize(o optimizer.Optimizer, attrs map[string]map[string]string,
	batch int) error {
	names := make([]string, len(t.params))
	for i, p := range t.params {
		names[i] = p.name
	}
	u, err := optimizer.NewUpdater(o, names)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := u.SetAttrs(attrs); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if batch > 0 {
		u.SetRescale(1 / float64(batch))
	}
	t.updater, t.loaded = u, false
	return nil
}

// keepLoaded gives the states that loadStates has given to an updater, old, to the updater of
// optimize, with the counts of updates. It puts old back if the optimizers differ in kind.
func (t *trainer) keepLoaded(old *optimizer.Updater) (err error) {
	defer func() {
		if t.loaded = true; err != nil {
			t.updater = old
		}
	}()
	before, now := old.Optimizer().Name(), t.updater.Optimizer().Name()
	if now != before {
		return fmt.Errorf("module: Fit: Optimize(%s) after LoadStates, which has given states "+
			"to %s: call InitOptimizer with the optimizer of Fit before LoadStates, or leave "+
			"one of them out", now, before)
	}
	for i, p := range t.params {
		state := old.State(i)
		if state == nil {
			continue
		}
		if want := t.updater.NewState(p.weights[0]); len(want) != len(state) {
			return fmt.Errorf("module: Fit: Optimize(%s) keeps %d arrays for %s, the optimizer "+
				"that LoadStates has given states to, %s, keeps %d: their parameters differ",
				now, len(want), p.name, before, len(state))
		}
		t.updater.SetState(i, state)
		t.updater.SetProgress(i, old.Progress(i))
	}
	return nil
}

// reduceWith chooses the store that adds up the gradients of several devices.
func (t *trainer) reduceWith(ctx context.Context, name string, c compress.Method) error {
	if t.sums != nil && name == t.sums.name && c == t.sums.compression {
		return nil
	}
	kv, err := kvstore.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := kv.SetCompression(c); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if t.sums != nil {
		if err := t.sums.kv.Close(); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	t.sums = &sums{name, kv, c, map[string]bool{}}
	return nil
}

// reduce replaces the gradients of the first device by the sums over all devices. It adds them in
// the order of the devices, by pairs, so that results repeat.
func (t *trainer) reduce(g gradients) error {
	for i := range t.params {
		p := &t.params[i]
		if len(p.weights) == 1 {
			return nil
		}
		list := g.gradsOf(p.name)
		if list == nil {
			continue
		}
		if t.sums == nil {
			err := t.reduceWith(context.Background(), "device", compress.Method{})
			if err != nil {
				return err
			}
		}
		if err := t.sums.add(p.name, -i, list); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// add replaces the first gradient of a parameter by the sum of all.
func (s *sums) add(name string, priority int, grads []*nd.Array) error {
	if !s.known[name] {
		if err := s.kv.Init(context.Background(), name, grads[0]); err != nil {
			return err
		}
		s.known[name] = true
	}
	return s.kv.PushPull(name, priority, grads, grads[:1])
}

// step lets the optimizer change the parameters by reduced gradients, asynchronously: here, or in
// the store. With a loss scale that is not fixed it waits for the gradients, and changes nothing if
// one is not finite. Steps counts the backward passes so far.
func (t *trainer) step(g gradients, steps uint64) error {
	if t.updater == nil {
		return errors.New("module: no optimizer: call InitOptimizer first")
	}
	grads := g.firsts()
	if t.scaler != nil {
		if skip, err := t.scaler.overflowed(grads, steps); err != nil {
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
	for i := range t.params {
		p := &t.params[i]
		if grads[p.name] == nil {
			continue
		}
		if err := t.updater.Update(i, p.weights[0], grads[p.name]); err != nil {
			return fmt.Errorf("module: %w", err)
		}
		spread(p.weights)
	}
	return nil
}

// skip is the step of a batch whose gradients cannot be used.
func (t *trainer) skip() error {
	if t.store != nil && t.store.joint != nil {
		return t.store.idle()
	}
	return nil
}

// limitNorm puts a limit of the gradients' norm into force; 0 is none.
func (t *trainer) limitNorm(limit float64) error {
	if limit == 0 {
		return nil
	}
	if t.store != nil && t.store.joint != nil {
		return clipJobError(t.store.kv.Name())
	}
	t.clip = &clipper{limit: limit}
	return nil
}

// endLimit ends the effect of limitNorm.
func (t *trainer) endLimit() {
	if t.clip != nil {
		t.clip.close()
		t.clip = nil
	}
}
