package gluon

import (
	"encoding/json"
	"errors"
	"fmt"

	dataio "gomx/io"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/trainer"
)

// ErrRegrouped is the error of a step, of Commit and of arrays when the workers of the job are
// others than before; see Elastic.
var ErrRegrouped = kvstore.ErrRegrouped

// Shared is data that the workers of a job share, such as a data.Loader.
type Shared interface {
	dataio.Stateful
	// Sharded reports whether the data has been shared out.
	Sharded() bool
	// Position returns the epoch, and the number of batches of the whole epoch that all workers
	// have had.
	Position() (epoch, from int)
	SetEpoch(epoch int)
	// ShareRest shares out the epoch from a batch on, and all later epochs.
	ShareRest(part, parts, from int) error
}

// Elastic is a training loop whose workers may become fewer and more. In a job without servers and
// with the policy shrink (gomx launch -s 0 --policy shrink, store allreduce) the loop survives the
// death of workers, and gomx scale changes their number. When the group changes, steps, Commit and
// arrays end with ErrRegrouped; then Recover takes the worker back to the last step that all
// workers of the new group have committed: parameters and states of the optimizer, the place in the
// data, which is shared out anew, and the states that NewElastic was given. One step is lost at
// most.
//
// In a job with servers that run the optimizer in rounds (dist_sync), gomx scale changes the number
// of workers too: Step ends with ErrRegrouped before it has pushed anything, and no step is lost. A
// worker that dies has a successor there, which repeats its steps or continues by Resume, called
// after NewElastic.
//
//	e, err := gluon.NewElastic(t, loader, gluon.Keep(&best))
//	for {
//		err := train(e) // see below
//		if !errors.Is(err, gluon.ErrRegrouped) {
//			return err
//		}
//		if err := e.Recover(); err != nil {
//			return err
//		}
//	}
//
//	func train(e *gluon.Elastic) error {
//		for loader.Epoch() < 10 {
//			for batch, err := range loader.Batches(ctx) {
//				... Backward()
//				err = t.Step(batch.Size * t.Workers())
//				... work after a step
//				err = e.Commit()
//			}
//		}
//		return e.Settle()
//	}
//
// Rank and Workers of the trainer are the place in the group and its size. Step divides the
// gradients by the number that it is given, whatever the size is; the schedule of the learning rate
// counts steps.
//
// A worker that comes later calls NewElastic as the others have: it gets the parameters, the states
// of the optimizer, the number of steps and the place in the data from them, and the other states
// from the first of them. In other jobs, in jobs with servers whose data has been shared out by the
// program, and outside of jobs, the group stays as it is: NewElastic shares out the data, and the
// other methods do nothing.
//
// Like the trainer it is used by one goroutine at a time.
type Elastic struct {
	t        *Trainer
	data     Shared // nil: the program finds its samples by Steps, Rank and Workers
	states   []dataio.Stateful
	survival trainer.Survival[elasticState]
	group    kvstore.Group
	rank     int    // in the job
	marked   uint64 // steps at the last Commit
	begun    uint64 // steps before the last change of the group that NewElastic has found
}

// elasticState is the state of a loop after a step.
type elasticState struct {
	data   []byte
	states [][]byte
}

// elasticNote is the note of the group for workers that come.
type elasticNote struct {
	trainer.Sharing
	Factor trainer.Exact `json:"factor"` // of gradients; 0: there was no step
	States [][]byte      `json:"states"`
}

// NewElastic begins an elastic loop, or takes part in one that runs. The trainer is new. The data,
// which may be nil, has no share: NewElastic gives it one; in other jobs it may have. In a job
// whose group changes the parameters have values: a network whose shapes follow from its arguments
// is called with a batch before. The optimizer runs in the store there; without servers
// ClipGlobalNorm, LossScale, AllreduceGrads and Resume are errors.
func NewElastic(t *Trainer, data Shared, states ...dataio.Stateful) (e *Elastic, err error) {
	defer op.Recover(&err)
	e = &Elastic{t: t, data: data, states: states}
	if err := e.begin(); err != nil {
		return nil, fmt.Errorf("gluon: NewElastic: %w", err)
	}
	return e, nil
}

func (e *Elastic) begin() error {
	t := e.t
	for i, s := range e.states {
		if s == nil {
			return fmt.Errorf("state %d is nil", i)
		}
	}
	if !t.config.kind.Job {
		return nil
	}
	kv, err := t.join()
	if err != nil {
		return err
	}
	e.group, e.rank = kv.Group(), kv.Rank()
	s, ok := kvstore.As[kvstore.Survivor](kv)
	if !ok {
		return e.joinServers(kv)
	}
	switch {
	case t.steps > 0 || t.opened || t.elastic != nil:
		return fmt.Errorf("after %d steps of the trainer, want a new one", t.steps)
	case !t.config.onStore.Or(false):
		return errors.New("the optimizer runs in the workers, and nobody keeps values that they " +
			"could go back to: want no ClipGlobalNorm, LossScale or UpdateOnStore(false) in a job " +
			"with the policy shrink")
	case e.data != nil && e.data.Sharded():
		return errors.New("the data has been shared out: want a loader without Share and InJob, " +
			"because the number of workers changes")
	}
	return e.enter(kv, s)
}

// enter takes part in the group: it gets the values from the store, and the place from other
// workers.
func (e *Elastic) enter(kv *kvstore.KV, s kvstore.Survivor) error {
	t := e.t
	g, err := s.Where(t.config.ctx)
	if err != nil {
		return err
	}
	note, err := noteOf(g)
	if err != nil {
		return err
	}
	if err := e.use(kv, float64(note.Factor)); err != nil {
		return err
	}
	if e.group, _, err = e.survival.Arrive(t.config.ctx, kv); err != nil {
		return err
	}
	if note, err = noteOf(e.group); err != nil {
		return err
	}
	if err := e.arrive(note); err != nil {
		return err
	}
	return e.mark()
}

// use makes the trainer use the store, with the factor of gradients that other workers have given
// it; 0: there was no step.
func (e *Elastic) use(kv *kvstore.KV, factor float64) error {
	t := e.t
	if err := t.attach(); err != nil {
		return err
	}
	if t.factor = factor; factor == 0 {
		t.factor = 1 // until the first step says it
	}
	t.settle()
	if err := t.enter(kv); err != nil {
		return err
	}
	t.opened, t.elastic, t.factor = true, e, factor
	return nil
}

// joinServers begins the loop in a job with servers. If the group has not changed yet, the trainer
// uses the store from its first step on, as without Elastic.
func (e *Elastic) joinServers(kv *kvstore.KV) error {
	t := e.t
	votes, ok := kvstore.As[kvstore.Elastic](kv)
	switch {
	case e.data != nil && e.data.Sharded():
		return nil // the shares of the program stay as they are
	case !ok || !kv.Sums() || !t.config.onStore.Or(false):
		if len(e.group.Ranks) == 1 {
			return nil
		}
		return e.share()
	case t.steps > 0 || t.opened || t.elastic != nil:
		return fmt.Errorf("after %d steps of the trainer, want a new one: NewElastic comes before "+
			"Resume", t.steps)
	}
	e.survival.Vote(kv, votes)
	t.elastic = e
	if e.group.Number > 0 {
		note, err := noteOf(e.group)
		if err != nil {
			return err
		}
		if err := e.use(kv, float64(note.Factor)); err != nil {
			return err
		}
		if err := e.arrive(note); err != nil {
			return err
		}
		if err := t.catchUp(kv); err != nil {
			return err
		}
	} else if err := e.share(); err != nil {
		return err
	}
	e.begun = t.steps
	return e.mark()
}

// noteOf reads the note of a group; it is empty before the first round.
func noteOf(g kvstore.Group) (n elasticNote, err error) {
	switch {
	case g.Round == 0 && len(g.Note) == 0:
		return n, nil
	case len(g.Note) == 0:
		err = errors.New("it has none")
	default:
		err = json.Unmarshal(g.Note, &n)
	}
	if err == nil && n.Round != int(g.Round) {
		err = fmt.Errorf("it is of round %d, the group began after %d", n.Round, g.Round)
	}
	if err != nil {
		return n, fmt.Errorf("note of group %d of the job: %w", g.Number, err)
	}
	return n, nil
}

// arrive takes the place of the note.
func (e *Elastic) arrive(n elasticNote) error {
	if e.group.Round == 0 {
		return e.share()
	}
	e.setSteps(e.group.Round)
	if err := e.setStates(n.States); err != nil {
		return err
	}
	if e.data == nil {
		return nil
	}
	e.data.SetEpoch(n.Epoch)
	return e.shareFrom(n.From)
}

// setSteps takes over the number of steps.
func (e *Elastic) setSteps(n uint64) {
	e.t.steps = n
	if e.t.factor != 0 {
		e.t.core.Updater().SetUpdates(int(n)) // for LearningRate
	}
}

// setStates takes over the states of the program.
func (e *Elastic) setStates(list [][]byte) error {
	if len(list) != len(e.states) {
		return fmt.Errorf("another worker has %d states, this one %d", len(list), len(e.states))
	}
	for i, s := range e.states {
		if err := s.SetState(list[i]); err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
	}
	return nil
}

// share shares out the rest of the present epoch among the group.
func (e *Elastic) share() error {
	if e.data == nil {
		return nil
	}
	_, from := e.data.Position()
	return e.shareFrom(from)
}

func (e *Elastic) shareFrom(from int) error {
	part := e.group.Part(e.rank)
	if part < 0 {
		return kvstore.ErrLeft
	}
	return e.data.ShareRest(part, len(e.group.Ranks), from)
}

// start returns the number of steps that groups before the one of NewElastic have made.
func (e *Elastic) start() uint64 {
	if e == nil {
		return 0
	}
	return e.begun
}

// Survives reports whether the loop survives changes of the group, and calls Commit after each
// step.
func (e *Elastic) Survives() bool { return e != nil && e.survival.On() }

// Commit says that the work of the last step is done: if the group changes, the loop goes back to a
// place at which it has called Commit. It is called after each step, and may be called again, such
// as at the end of an epoch. In the body of a loop over a data.Loader the place is the one behind
// the present batch.
func (e *Elastic) Commit() (err error) {
	defer op.Recover(&err)
	if !e.Survives() {
		return nil
	}
	err = e.mark() // in any case: all workers may have the step
	if err == nil && e.survival.Changed() {
		err = ErrRegrouped
	}
	if err != nil {
		return fmt.Errorf("gluon: Commit: %w", err)
	}
	return nil
}

// mark notes the place of the loop.
func (e *Elastic) mark() (err error) {
	at, s := trainer.Sharing{Round: int(e.t.steps)}, elasticState{}
	if e.data != nil {
		at.Epoch, at.From = e.data.Position()
		if s.data, err = e.data.State(); err != nil {
			return err
		}
	}
	for i, x := range e.states {
		text, err := x.State()
		if err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
		s.states = append(s.states, text)
	}
	e.survival.Mark(&e.t.core, at, s)
	e.marked = e.t.steps
	return nil
}

// ready reports why the next step cannot be made.
func (e *Elastic) ready() error {
	switch {
	case !e.Survives():
		return nil
	case e.survival.Changed():
		return ErrRegrouped
	}
	if err := e.committed(); err != nil || e.t.behind > 0 {
		return err
	}
	return e.survival.Ask(e.t.config.ctx, e.note)
}

// note is the note of the group at a place.
func (e *Elastic) note(s *trainer.Standpoint[elasticState]) any {
	return elasticNote{s.Sharing, trainer.Exact(e.t.factor), s.State.states}
}

// committed reports that the last step has not been committed.
func (e *Elastic) committed() error {
	if e.marked == e.t.steps {
		return nil
	}
	return fmt.Errorf("step %d has not been committed: call Commit of gluon.Elastic after each "+
		"step", e.t.steps)
}

// factorOf returns the factor of gradients in a step of so many samples of all workers. The store
// scales the sums of a group to the number of workers with which the job began. At the first step
// the factor becomes the factor of the optimizer in the store.
func (e *Elastic) factorOf(batch int) (float64, error) {
	if err := e.ready(); err != nil {
		return 0, err
	}
	t := e.t
	began := t.core.Store().KV().NumWorkers()
	factor := float64(len(e.group.Ranks)) / (float64(began) * float64(batch))
	if t.factor != 0 {
		return factor, nil
	}
	t.factor = factor
	t.settle()
	return factor, t.core.Resettle(t.config.ctx)
}

// Recover goes back to the last step that all workers of the group have, after ErrRegrouped. No
// loop over the data runs any more: the next one reads the rest of the epoch, as it is shared out
// now. A worker that has left the job gets kvstore.ErrLeft, and ends.
//
// If the error is an old one, such as nd.WaitAll may return after a change, Recover goes back to the
// last Commit, behind which there must not be a step.
func (e *Elastic) Recover() (err error) {
	defer op.Recover(&err)
	switch {
	case !e.Survives():
		err = errors.New("the group of this job does not change")
	case e.survival.Changed():
		err = e.goBack()
	case e.marked != e.t.steps:
		err = fmt.Errorf("the group has not changed, and step %d has not been committed", e.t.steps)
	default:
		err = e.restore(e.survival.Last())
	}
	if err != nil {
		return fmt.Errorf("gluon: Recover: %w", err)
	}
	return nil
}

func (e *Elastic) goBack() error {
	t := e.t
	g, s, err := e.survival.Recover(t.config.ctx, &t.core, e.note)
	if err != nil {
		return err
	}
	e.group, t.summed = g, false
	e.setSteps(uint64(s.Round))
	return e.restore(s)
}

// restore takes over the state of a place.
func (e *Elastic) restore(s *trainer.Standpoint[elasticState]) error {
	for _, p := range e.t.params {
		for _, a := range p.values() {
			if p.request() == nd.GradAdd {
				a.ZeroGrad()
			}
			if p.request() != nd.GradNull {
				a.UseGrad()
			}
		}
	}
	if err := e.setStates(s.State.states); err != nil {
		return err
	}
	if e.data != nil {
		if err := e.data.SetState(s.State.data); err != nil {
			return err
		}
		if err := e.share(); err != nil {
			return err
		}
	}
	return e.mark()
}

// Settle waits until no change of the group can take back the last step, which has been committed.
// It is the end of the loop.
func (e *Elastic) Settle() (err error) {
	if !e.Survives() {
		return nil
	}
	err = e.committed()
	if err == nil {
		err = e.survival.Settle(e.t.config.ctx)
	}
	if err != nil {
		return fmt.Errorf("gluon: Settle: %w", err)
	}
	return nil
}
