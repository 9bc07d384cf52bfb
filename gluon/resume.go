package gluon

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/kvstore"
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
	job    *kvstore.KV // store of the job; nil: there is no job
	params *Params
	t      *Trainer
	states []dataio.Stateful
	found  bool
	// The file is of worker 0, because the job that the snapshot is of had no worker in this place.
	another bool
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
// order in each process.
//
// # Jobs
//
// In a job each worker has a file of its own, prefix.worker-0.resume and so on, which it needs when
// the launcher starts it again while the job goes on. It continues at its place, repeats without
// pushing the steps that it has taken part in since its last Save, and pushes the next one. With
// dist_sync the job ends with the parameters of one in which nobody dies, bit for bit. Where the
// servers run the optimizer, Save may come after any number of steps; metrics of repeated steps are
// exact if it comes after each. Where the workers do, Save is called after each step.
//
// In a job with a folder for snapshots (gomx launch --snapshots) Save also writes a snapshot of the
// servers: all workers call it after the same steps. Gomx launch --resume then continues the whole
// job from the last one, with Elastic and the optimizer on the servers also with another number of
// workers: the rest of the epoch is shared out anew, and a worker whose place the job before did not
// have takes the states of worker 0. Without snapshots a job that has ended as a whole begins anew,
// and the files of its workers are an error.
func Resume(prefix string, params *Params, t *Trainer, states ...dataio.Stateful) (*Run, error) {
	r := &Run{params: params, t: t, states: states}
	err := r.check()
	if err == nil && t.config.kind.Job {
		if r.job, err = t.join(); err == nil {
			if _, ok := kvstore.As[kvstore.Survivor](r.job); ok {
				err = errors.New("in a job with the policy shrink, whose workers take their place " +
					"from each other: want NewElastic")
			}
		}
		if err == nil {
			prefix = fmt.Sprintf("%s.worker-%d", prefix, r.job.Rank())
		}
	}
	r.path = checkpoint.RunPath(prefix)
	if err == nil {
		err = checkpoint.RemoveTemporary(prefix)
	}
	if err == nil {
		err = r.read()
	}
	if err != nil {
		return nil, fmt.Errorf("gluon: Resume: %w", err)
	}
	return r, nil
}

// read takes over the file of the run, if there is one.
func (r *Run) read() error {
	path := r.path
	if r.job != nil {
		var err error
		if path, err = r.latest(); err != nil || path == "" {
			return err
		}
	}
	return trainer.ReadRun(path, r.restore)
}

// check reports what cannot be resumed.
func (r *Run) check() error {
	c := &r.t.config
	switch {
	case c.onStore.Or(false) && !c.kind.Job:
		return errors.New("with UpdateOnStore(true): the store has the optimizer's states")
	case c.compression.Kind != compress.None:
		return errors.New("with Compress: what compression leaves for later batches is not saved")
	case r.t.steps > r.t.elastic.start():
		return fmt.Errorf("after %d steps of the trainer, want a new one", r.t.steps)
	}
	for i, s := range r.states {
		if s == nil {
			return fmt.Errorf("state %d is nil", i)
		}
	}
	return nil
}

// onServers reports whether the servers of a job have the optimizer and its states.
func (r *Run) onServers() bool { return r.job != nil && r.t.config.onStore.Or(false) }

// Resumed reports whether the loop continues an earlier process.
func (r *Run) Resumed() bool { return r.found }

// runRecord is the description in the file of a run.
type runRecord struct {
	trainer.Run
	States [][]byte       `json:"states"` // in the order of the arguments of Resume
	Rate   *trainer.Exact `json:"rate,omitempty"`
	// Factor of gradients in the optimizer of the servers of a job; 0: they have none yet.
	Factor trainer.Exact `json:"factor,omitempty"`
	Share  *shareRecord  `json:"share,omitempty"` // of the data, in a job whose workers change
	// Ways in which networks have read the parameters with row_sparse gradients, by name: whether
	// the servers of a job keep them by rows depends on it.
	Reads map[string]uint32 `json:"reads,omitempty"`
}

// Save writes the file of the run. It is called between two steps, and waits for the values. A
// process that is killed meanwhile leaves the file as it was.
//
// In a job each worker calls it for itself; with snapshots it waits for the others.
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
	if r.onServers() {
		rec.Factor, rec.Params = trainer.Exact(r.t.factor), nil
		rec.Share = r.t.elastic.sharing()
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
		if reads := p.rows.reads.Load(); reads != 0 && p.GradStorage != nd.Dense {
			if rec.Reads == nil {
				rec.Reads = map[string]uint32{}
			}
			rec.Reads[name] = reads
		}
		list, err := table{p}.kept()
		if err != nil {
			return err
		}
		for k, a := range list {
			arrays = append(arrays, checkpoint.Named{Name: valueKey(k, name), Array: a})
		}
		if p.request() == nd.GradAdd {
			for k, a := range p.All() {
				arrays = append(arrays, checkpoint.Named{Name: gradKey(k, name), Array: a.Grad()})
			}
		}
	}
	if r.job != nil {
		if err := r.snapshot(rec, arrays); err != nil {
			return err
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
	list := []trainer.Identity{
		{Name: "network", Value: fmt.Sprintf("%d parameters, checksum %08x", len(r.params.names),
			names.Sum32())},
		r.t.core.OptimizerIdentity(),
		{Name: "loss scale", Value: fmt.Sprint(r.t.core.Scaler != nil)},
		{Name: "number of states", Value: fmt.Sprint(len(r.states))}}
	if text := r.tables(); text != "" {
		list = append(list, trainer.Identity{Name: "row_sparse parameters", Value: text})
	}
	if r.job != nil {
		list = append(list, trainer.Identity{Name: "worker", Value: fmt.Sprintf("%d of %d",
			r.job.Rank(), r.job.NumWorkers())})
	}
	return list
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
	if err := r.same(rec); err != nil {
		return err
	}
	begun := r.t.elastic.start()
	if rec.Steps < begun {
		return nil // the note of the group is newer than the file
	}
	if len(rec.States) != len(r.states) {
		return fmt.Errorf("it has %d states, want %d", len(rec.States), len(r.states))
	}
	for name, reads := range rec.Reads {
		if p := r.params.Get(name); p != nil {
			p.rows.reads.Or(reads)
		}
	}
	if err := r.restoreParams(arrays); err != nil {
		return err
	}
	if err := r.t.attach(); err != nil {
		return err
	}
	if !r.onServers() {
		if err := r.t.core.Restore(&rec.Run, arrays); err != nil {
			return err
		}
	}
	if rec.Rate != nil {
		if err := r.t.core.Updater().SetLR(float64(*rec.Rate)); err != nil {
			return err
		}
	}
	for i, s := range r.states {
		if err := r.restoreState(rec, s, rec.States[i]); err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
	}
	r.t.core.Scaler.Restore(rec.Scale)
	r.t.steps, r.found = rec.Steps, true
	if r.job != nil && rec.Steps > 0 {
		if err := r.rejoin(rec, arrays); err != nil {
			return err
		}
	}
	if !r.another {
		nd.SetRandomState(rec.Random)
	}
	if r.t.elastic != nil {
		return r.t.elastic.mark()
	}
	return nil
}

// restoreParams takes over the values of all parameters.
func (r *Run) restoreParams(arrays map[string]*nd.Array) error {
	for name, p := range r.params.distinct() {
		if err := p.restore(name, arrays); err != nil {
			return err
		}
	}
	return nil
}

// restore takes over the values of a parameter, if the file has some, and the gradients that are
// being accumulated.
func (p *Param) restore(name string, arrays map[string]*nd.Array) error {
	first := arrays[valueKey(0, name)]
	if first == nil {
		return nil // no Forward had used it
	}
	set := p.Set
	if p.Storage != nd.Dense {
		set = table{p}.restore
	}
	if err := set(first); err != nil {
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
