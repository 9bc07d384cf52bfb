package gluon

import (
	"errors"
	"fmt"

	nd "gomx/ndarray"
	"gomx/op"
)

// StepOption is an option of Step and Update.
type StepOption func(*stepConfig)

type stepConfig struct{ stale bool }

// IgnoreStale lets a step leave alone the parameters whose gradients Backward has not stored since
// the last step. Where gradients are added up, over devices or workers, stale ones count as zeros.
func IgnoreStale() StepOption { return func(c *stepConfig) { c.stale = true } }

// Step changes the parameters by the gradients of the last Backward, asynchronously. The gradients,
// summed over devices and workers, are divided by batch, the number of samples: 1 if the loss is a
// mean already. In a job that is the number of samples of all workers together.
//
// A gradient that Backward has not stored since the last step is an error, unless IgnoreStale: it
// means that the loss does not depend on the parameter.
func (t *Trainer) Step(batch int, opts ...StepOption) (err error) {
	defer op.Recover(&err)
	if err := t.prepare(batch, opts); err != nil {
		return fmt.Errorf("gluon: Step: %w", err)
	}
	if err := t.reduce(); err != nil {
		return fmt.Errorf("gluon: Step: %w", err)
	}
	if err := t.update(); err != nil {
		return fmt.Errorf("gluon: Step: %w", err)
	}
	if err := recordStep(t, batch); err != nil {
		return fmt.Errorf("gluon: Step: %w", err)
	}
	return nil
}

// reduce adds up the gradients for an optimizer in this process.
func (t *Trainer) reduce() error {
	if t.behind > 0 && t.core.Store() == nil {
		t.behind--
		return t.core.Recall(&t.grads)
	}
	return t.core.Reduce(&t.grads)
}

// AllreduceGrads adds up the gradients over devices and workers, into the gradients of all devices.
// It is for programs that change gradients between it and Update; Step does both.
func (t *Trainer) AllreduceGrads() (err error) {
	defer op.Recover(&err)
	if err := t.sum(); err != nil {
		return fmt.Errorf("gluon: AllreduceGrads: %w", err)
	}
	return nil
}

func (t *Trainer) sum() error {
	if t.config.onStore.Or(false) {
		return t.storeError()
	}
	if err := t.attach(); err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	if err := t.gather(true); err != nil {
		return err
	}
	t.summed = true
	if t.behind > 0 {
		t.behind--
		return t.core.Recall(&t.grads)
	}
	return t.core.ReduceAll(&t.grads)
}

// storeError is the mistake of asking for sums that the store uses itself.
func (t *Trainer) storeError() error {
	return fmt.Errorf("the optimizer runs in the store %s, want UpdateOnStore(false)",
		t.config.kind.Name)
}

// Update is Step for gradients that AllreduceGrads has added up.
func (t *Trainer) Update(batch int, opts ...StepOption) (err error) {
	defer op.Recover(&err)
	if t.config.onStore.Or(false) {
		err = t.storeError()
	} else if err = t.prepare(batch, opts); err == nil && !t.summed && t.several() {
		err = errors.New("gradients that have not been added up: call AllreduceGrads first, or " +
			"Step")
	}
	if err == nil {
		err = t.update()
	}
	if err == nil {
		err = recordStep(t, batch)
	}
	if err != nil {
		return fmt.Errorf("gluon: Update: %w", err)
	}
	return nil
}

// several reports whether gradients have to be added up.
func (t *Trainer) several() bool {
	for _, list := range t.grads.lists {
		if len(list) > 1 {
			return true
		}
	}
	return t.config.kind.Job
}

// prepare collects the gradients of a step and sets their factor.
func (t *Trainer) prepare(batch int, opts []StepOption) (err error) {
	var c stepConfig
	for _, f := range opts {
		f(&c)
	}
	if batch <= 0 {
		return fmt.Errorf("a batch of %d samples, want a positive number", batch)
	}
	if err := t.attach(); err != nil {
		return err
	}
	if err := openRecord(t); err != nil {
		return err
	}
	factor := 1 / float64(batch)
	if t.core.Scaler != nil {
		factor /= t.core.Scaler.Value()
	}
	if t.core.Store() == nil {
		if !t.config.onStore.Or(false) || t.factor == 0 { // else a run before has given the store one
			t.factor = factor
		}
		t.settle()
	}
	if err := t.open(); err != nil {
		return err
	}
	if t.elastic != nil {
		if factor, err = t.elastic.factorOf(batch); err != nil {
			return err
		}
	}
	if err := t.gather(c.stale); err != nil {
		return err
	}
	if ratio := factor / t.factor; ratio != 1 {
		for _, list := range t.grads.lists {
			for _, g := range list {
				g.MulScalarInPlace(ratio) // the store divides by the batch size of the first step
			}
		}
	}
	return nil
}

// settle gives the optimizer the factor of gradients and the multipliers of the parameters.
func (t *Trainer) settle() {
	u := t.core.Updater()
	u.RescaleBy(t.factor)
	for i, p := range t.params {
		u.SetMults(t.names[i], p.LRMult, p.WDMult)
	}
}

// gather collects the gradients of the parameters that take part in the step. A stale one is an
// error, unless they are ignored.
func (t *Trainer) gather(ignore bool) error {
	clear(t.grads.firsts)
	for i, p := range t.params {
		name := t.names[i]
		list := t.grads.lists[name][:0]
		delete(t.grads.lists, name)
		if p.request() == nd.GradNull {
			continue
		}
		if t.seen[i] == nil {
			if ignore {
				continue
			}
			return t.noValues(i)
		}
		fresh := 0
		for _, a := range *t.seen[i] {
			if a.GradFresh() {
				fresh++
			} else if !ignore {
				return fmt.Errorf("the gradient of parameter %s on %v has not been stored by "+
					"Backward since the last step: the loss does not depend on it; if that is "+
					"intended, say gluon.IgnoreStale()", name, a.Device())
			}
			list = append(list, a.Grad())
		}
		if fresh == 0 && !t.config.kind.Job {
			continue
		}
		if fresh < len(list) {
			for _, a := range *t.seen[i] {
				if !a.GradFresh() {
					a.ZeroGrad()
				}
			}
		}
		t.grads.lists[name], t.grads.firsts[name] = list, list[0]
	}
	return nil
}

// noValues is the mistake of a step before a Forward has found the shape of parameter i.
func (t *Trainer) noValues(i int) error {
	return fmt.Errorf("parameter %s has no values: call Init, and use it in a Forward", t.names[i])
}

// update changes the parameters by the gathered gradients, which are used then.
func (t *Trainer) update() error {
	t.summed = false
	t.steps++
	step := func() error { return t.core.Step(&t.grads, t.steps) }
	if t.behind > 0 {
		step = t.repeat
	}
	if err := step(); err != nil {
		return err
	}
	if u := t.core.Updater(); t.core.Store() != nil {
		u.SetUpdates(u.Updates() + 1) // for LearningRate
	}
	for i, p := range t.params {
		if t.grads.firsts[t.names[i]] == nil {
			continue
		}
		for _, a := range p.values() {
			a.UseGrad()
		}
	}
	return nil
}
