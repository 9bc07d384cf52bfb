package gluon

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/trainer"
)

// Run is a training loop that another process can continue exactly. Save writes everything that the
// next step depends on to one file: parameters with their running statistics, the optimizer's
// states, counts and learning rate, the loss scale, the position in the process-wide random stream,
// and the states of the loaders, metrics and values that Resume was given.
type Run struct {
	path   string
	params *Params
	t      *Trainer
	states []dataio.Stateful
	found  bool
}

// Resume begins a training loop, or takes over the loop of an earlier process that has called Save
// with the same prefix: a process that is killed at any instant and started again ends with the
// parameters of one that was not, bit for bit on processors of one kind. Batches after the last
// Save are trained again.
//
//	run, err := gluon.Resume("runs/net", net.Params(), t, loader)
//	for loader.Epoch() < 10 {
//		for batch, err := range loader.Batches(ctx) {
//			... t.Step(batch.Size)
//			if t.Steps()%100 == 0 {
//				err = run.Save()
//			}
//		}
//		err = run.Save()
//	}
//
// The program makes network, trainer and loader as before, calls Init or Load, and then Resume,
// before the first step. The file is prefix.resume; remove it to begin anew. The states are loaders
// of package gluon/data, iterators of package io, metrics, and other values by Keep, in the same
// order in each process. In the jobs of several processes Resume is an error.
func Resume(prefix string, params *Params, t *Trainer, states ...dataio.Stateful) (*Run, error) {
	r := &Run{path: checkpoint.RunPath(prefix), params: params, t: t, states: states}
	err := r.check()
	if err == nil {
		err = checkpoint.RemoveTemporary(prefix)
	}
	if err == nil {
		err = trainer.ReadRun(r.path, r.restore)
	}
	if err != nil {
		return nil, fmt.Errorf("gluon: Resume: %w", err)
	}
	return r, nil
}

// check reports what cannot be resumed.
func (r *Run) check() error {
	c := &r.t.config
	switch {
	case c.kind.Job:
		return fmt.Errorf("with the store %s, whose servers or other workers have a part of the "+
			"run",
			c.kind.Name)
	case c.onStore.Or(false):
		return errors.New("with UpdateOnStore(true): the store has the optimizer's states")
	case c.compression.Kind != compress.None:
		return errors.New("with Compress: what compression leaves for later batches is not saved")
	case r.t.steps > 0:
		return fmt.Errorf("after %d steps of the trainer, want a new one", r.t.steps)
	}
	for i, s := range r.states {
		if s == nil {
			return fmt.Errorf("state %d is nil", i)
		}
	}
	return nil
}

// Resumed reports whether the loop continues an earlier process.
func (r *Run) Resumed() bool { return r.found }

// runRecord is the description in the file of a run.
type runRecord struct {
	trainer.Run
	States [][]byte       `json:"states"` // in the order of the arguments of Resume
	Rate   *trainer.Exact `json:"rate,omitempty"`
}

// Save writes the file of the run. It is called between two steps, and waits for the values. A
// process that is killed meanwhile leaves the file as it was.
func (r *Run) Save() (err error) {
	defer op.Recover(&err)
	if err := r.save(); err != nil {
		return fmt.Errorf("gluon: Save: %w", err)
	}
	return nil
}

func (r *Run) save() error {
	if err := r.t.attach(); err != nil {
		return err
	}
	rec := &runRecord{}
	rec.Identity, rec.Steps = r.identity(), r.t.steps
	r.t.core.Describe(&rec.Run)
	if rate, ok := r.t.core.Updater().SetRate(); ok {
		exact := trainer.Exact(rate)
		rec.Rate = &exact
	}
	for i, s := range r.states {
		text, err := s.State()
		if err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
		rec.States = append(rec.States, text)
	}
	arrays := r.t.core.Arrays()
	for name, p := range r.params.distinct() {
		for k, a := range p.kept() {
			arrays = append(arrays, checkpoint.Named{Name: valueKey(k, name), Array: a})
		}
		if p.request() == nd.GradAdd {
			for k, a := range p.All() {
				arrays = append(arrays, checkpoint.Named{Name: gradKey(k, name), Array: a.Grad()})
			}
		}
	}
	return trainer.WriteRun(r.path, rec, arrays)
}

// The names of arrays in the file of a run.
func valueKey(device int, name string) string { return fmt.Sprintf("arg:%d:%s", device, name) }
func gradKey(device int, name string) string  { return fmt.Sprintf("grad:%d:%s", device, name) }

// kept returns the arrays of a parameter that a file must have: of all devices if they differ.
func (p *Param) kept() []*nd.Array {
	list := p.All()
	if !p.State && len(list) > 1 {
		return list[:1]
	}
	return list
}

// identity tells this run from others.
func (r *Run) identity() []trainer.Identity {
	names := crc32.NewIEEE()
	for name, p := range r.params.All() {
		fmt.Fprintln(names, name, p.DType, len(p.Shape))
	}
	return []trainer.Identity{
		{Name: "network", Value: fmt.Sprintf("%d parameters, checksum %08x", len(r.params.names),
			names.Sum32())},
		r.t.core.OptimizerIdentity(),
		{Name: "loss scale", Value: fmt.Sprint(r.t.core.Scaler != nil)},
		{Name: "number of states", Value: fmt.Sprint(len(r.states))}}
}

// restore takes over all of a run.
func (r *Run) restore(text []byte, arrays map[string]*nd.Array) (err error) {
	defer op.Recover(&err)
	rec := &runRecord{}
	if err := json.Unmarshal(text, rec); err != nil {
		return err
	}
	if err := rec.Check(); err != nil {
		return err
	}
	if err := trainer.SameRun(rec.Identity, r.identity()); err != nil {
		return err
	}
	if len(rec.States) != len(r.states) {
		return fmt.Errorf("it has %d states, want %d", len(rec.States), len(r.states))
	}
	for name, p := range r.params.distinct() {
		if err := p.restore(name, arrays); err != nil {
			return err
		}
	}
	if err := r.t.attach(); err != nil {
		return err
	}
	if err := r.t.core.Restore(&rec.Run, arrays); err != nil {
		return err
	}
	if rec.Rate != nil {
		if err := r.t.core.Updater().SetLR(float64(*rec.Rate)); err != nil {
			return err
		}
	}
	for i, s := range r.states {
		if err := s.SetState(rec.States[i]); err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
	}
	r.t.core.Scaler.Restore(rec.Scale)
	r.t.steps, r.found = rec.Steps, true
	nd.SetRandomState(rec.Random)
	return nil
}

// restore takes over the values of a parameter, if the file has some, and the gradients that are
// being accumulated.
func (p *Param) restore(name string, arrays map[string]*nd.Array) error {
	first := arrays[valueKey(0, name)]
	if first == nil {
		return nil // no Forward had used it
	}
	if err := p.Set(first); err != nil {
		return err
	}
	for k, a := range p.kept() {
		if err := trainer.CopySame(valueKey(k, name), arrays[valueKey(k, name)], a); err != nil {
			return err
		}
	}
	if p.request() != nd.GradAdd {
		return nil
	}
	for k, a := range p.All() {
		if err := trainer.CopySame(gradKey(k, name), arrays[gradKey(k, name)],
			a.Grad()); err != nil {
			return err
		}
	}
	return nil
}

// Keep makes a value of the program a state for Resume, such as the best score so far. JSON must be
// able to write and read it.
func Keep[T any](v *T) dataio.Stateful { return kept[T]{v} }

// kept is a value of the program.
type kept[T any] struct{ v *T }

// State implements io.Stateful.
func (k kept[T]) State() ([]byte, error) { return json.Marshal(k.v) }

// SetState implements io.Stateful.
func (k kept[T]) SetState(state []byte) error {
	var v T
	if err := json.Unmarshal(state, &v); err != nil {
		return err
	}
	*k.v = v
	return nil
}
