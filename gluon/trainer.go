package gluon

import (
	"errors"
	"fmt"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
	"gomx/trainer"
)

// Trainer changes the parameters of a network by their gradients, after each batch:
//
//	t, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 1e-3})
//	for ... {
//		tape := autograd.Train()
//		l := criterion.Forward(net.Forward(tape.Watch(x)), label)
//		l.Backward()
//		err = t.Step(64) // samples
//	}
//
// Parameters on several devices have equal values on all of them: gradients are added up over the
// devices, the first device's values are updated, and the others are copies of them. In a job the
// gradients of all workers are added up, too. The parameters of all workers take the values of
// worker 0 at the first step, so that its gradients are right if the initial values are equal
// already; frozen parameters keep the values of each worker. Running statistics are the averages
// over all workers if the servers run the optimizer, otherwise they are each worker's own.
//
// A worker that takes the place of a dead one, or that belongs to a job which continues from a
// snapshot, repeats the steps that the servers know: its Step pushes nothing in them. Resume says
// how it continues at its place instead of at its first step.
//
// A parameter takes part while its GradReq is not GradNull; its multipliers LRMult and WDMult may
// change at any time, unless a store runs the optimizer.
//
// A Trainer is used by one goroutine at a time.
//
// MXNet: gluon.Trainer.
type Trainer struct {
	core   trainer.Trainer
	config trainerConfig
	net    *Net     // whose graph is still to be recorded; nil: none is
	params []*Param // by the optimizer's numbers
	names  []string
	seen   []*[]*nd.Array    // arrays of params that core has been given
	grads  gradients         // of the present step
	steps  uint64            // so far
	opened bool              // core uses the store
	owned  *kvstore.KV       // store of core that Close closes; nil: there is none
	factor float64           // of gradients, in the optimizer that the store runs
	summed bool              // AllreduceGrads has been called since the last update
	record *trainer.Recorder // of the steps; nil: nothing is recorded
	behind uint64            // steps of an earlier process in this worker's place that are left to repeat
	// of a job whose group changes; nil: there is none, or the program does not survive changes
	elastic *Elastic
}

// gradients are the gradients of the parameters that take part in a step, by name.
type gradients struct {
	lists  map[string][]*nd.Array // one per device
	firsts map[string]*nd.Array
}

// Of implements trainer.Gradients.
func (g *gradients) Of(name string) []*nd.Array { return g.lists[name] }

// Firsts implements trainer.Gradients.
func (g *gradients) Firsts() map[string]*nd.Array { return g.firsts }

// NewTrainer returns a trainer of parameters, each of which it takes once even if several blocks
// share it. The parameters may get their values later.
func NewTrainer(params *Params, o optimizer.Optimizer, opts ...TrainerOption) (*Trainer, error) {
	t := &Trainer{grads: gradients{map[string][]*nd.Array{}, map[string]*nd.Array{}}}
	for _, f := range opts {
		f(&t.config)
	}
	if params != nil {
		t.net = params.net
	}
	if err := t.begin(params, o); err != nil {
		return nil, fmt.Errorf("gluon: NewTrainer: %w", err)
	}
	return t, nil
}

func (t *Trainer) begin(params *Params, o optimizer.Optimizer) error {
	switch {
	case params == nil || len(params.names) == 0:
		return errors.New("no parameters")
	case o == nil:
		return errors.New("the optimizer is nil")
	}
	if err := t.config.complete(); err != nil {
		return err
	}
	for name, p := range params.distinct() {
		t.names, t.params = append(t.names, name), append(t.params, p)
	}
	if t.config.order != nil {
		if err := t.number(params); err != nil {
			return err
		}
	}
	t.seen = make([]*[]*nd.Array, len(t.params))
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return err
	}
	for i, name := range t.names {
		u.SetName(i, name)
	}
	t.core.SetUpdater(u)
	if t.config.scaling != nil {
		if t.core.Scaler, err = trainer.NewScaler(*t.config.scaling, nil); err != nil {
			return err
		}
	}
	return t.core.LimitNorm(t.config.clip)
}

// number numbers the parameters as Order says.
func (t *Trainer) number(params *Params) error {
	order, seen := t.config.order, map[*Param]bool{}
	if len(order) != len(t.params) {
		return fmt.Errorf("Order names %d parameters, want all %d: %v", len(order), len(t.params),
			t.names)
	}
	for i, name := range order {
		p := params.Get(name)
		if p == nil || seen[p] {
			return fmt.Errorf("Order: parameter %q does not exist or has been named before, want "+
				"each of %v", name, t.names)
		}
		seen[p], t.params[i] = true, p
	}
	t.names = order
	return nil
}

// String describes the trainer by its optimizer, its store and its parameters.
func (t *Trainer) String() string {
	if t == nil {
		return "<Trainer: nil>"
	}
	return fmt.Sprintf("<Trainer %s: %d parameters, store %s>",
		t.core.Updater().Optimizer().Name(), len(t.params), t.config.kind.Name)
}

// LearningRate returns the learning rate of the next update, before multipliers; with a schedule,
// that of the last one.
func (t *Trainer) LearningRate() float64 { return t.core.Updater().LR() }

// SetLearningRate sets the learning rate. It is an error if the optimizer has a schedule, or if it
// runs in a store already.
func (t *Trainer) SetLearningRate(rate float64) error {
	if t.core.Store() != nil {
		return fmt.Errorf("gluon: SetLearningRate(%v): the optimizer runs in the store %s: give "+
			"it "+
			"a schedule, or say UpdateOnStore(false)", rate, t.config.kind.Name)
	}
	if err := t.core.Updater().SetLR(rate); err != nil {
		return fmt.Errorf("gluon: %w", err)
	}
	return nil
}

// Steps returns the number of steps so far, in all processes of a run that Resume continues.
func (t *Trainer) Steps() uint64 { return t.steps }

// Workers returns the number of workers whose gradients Step adds up: 1 outside of jobs.
func (t *Trainer) Workers() int {
	c := &t.config
	switch {
	case t.elastic != nil:
		return len(t.elastic.group.Ranks)
	case !c.kind.Job:
		return 1
	case c.kv != nil:
		return kvstore.Wrap(c.kv).NumWorkers()
	}
	if j := kvstore.JobOf(c.ctx); j != nil {
		return j.Workers()
	}
	return 1
}

// Rank returns the number of this worker in its job: 0 outside of jobs. In an Elastic loop it is the
// number among the workers that are there.
func (t *Trainer) Rank() int {
	if e := t.elastic; e != nil {
		return max(0, e.group.Part(e.rank))
	}
	c := &t.config
	switch {
	case !c.kind.Job:
		return 0
	case c.kv != nil:
		return kvstore.Wrap(c.kv).Rank()
	}
	if j := kvstore.JobOf(c.ctx); j != nil {
		return j.Rank()
	}
	return 0
}

// ScaleLoss multiplies a loss by the loss scale of the present step, 1 without LossScale:
//
//	trainer.ScaleLoss(l).Backward()
func (t *Trainer) ScaleLoss(l *nd.Array) *nd.Array {
	if t.core.Scaler == nil {
		return l
	}
	return l.MulScalar(t.core.Scaler.Value())
}

// LossScale returns the factor of ScaleLoss.
func (t *Trainer) LossScale() float64 {
	if t.core.Scaler == nil {
		return 1
	}
	return t.core.Scaler.Value()
}

// Skipped returns how many steps have changed no parameter because a gradient was not finite.
func (t *Trainer) Skipped() int {
	if t.core.Scaler == nil {
		return 0
	}
	return t.core.Scaler.Skipped()
}
