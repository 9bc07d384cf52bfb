package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gomx/checkpoint"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// SaveStates writes the optimizer's states of the trained parameters to a file that MXNet's Module
// loads. It waits for them.
func (t *Trainer) SaveStates(path string) error {
	list, err := t.indexed()
	if err != nil {
		return err
	}
	return checkpoint.SaveStates(path, list)
}

// SaveOptimizer writes the optimizer with its states and counts of updates to a file that MXNet's
// Trainer.load_states reads. It waits for the states. An optimizer that MXNet does not have is left
// out.
func (t *Trainer) SaveOptimizer(path string) error {
	list, err := t.indexed()
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Count = t.updater.Progress(list[i].Index).Count
	}
	call, ok := t.optimizerCall()
	if !ok {
		return checkpoint.SaveStates(path, list)
	}
	return checkpoint.SaveTrainerStates(path, list, call)
}

// optimizerCall returns the call by which MXNet makes the optimizer.
func (t *Trainer) optimizerCall() (c checkpoint.Call, ok bool) {
	text, err := optimizer.Encode(t.updater.Optimizer())
	if err != nil {
		return c, false
	}
	o, err := named(text)
	if err != nil {
		return c, false
	}
	delete(o.Params, "lr_mult") // of names, which MXNet's parameters do not have
	delete(o.Params, "wd_mult")
	delete(o.Params, "seed") // SGLD's, which MXNet draws from the process
	if s, ok := o.Params["lr_scheduler"].(map[string]any); ok {
		class := map[any]string{"factor": "FactorScheduler", "multifactor": "MultiFactorScheduler",
			"poly": "PolyScheduler", "cosine": "CosineScheduler"}[s["name"]]
		params, _ := s["params"].(map[string]any)
		o.Params["lr_scheduler"] = checkpoint.Call{Module: "mxnet.lr_scheduler", Name: class,
			Keywords: params}
	}
	if rate, ok := t.updater.SetRate(); ok {
		o.Params["learning_rate"] = rate
	}
	return checkpoint.Call{Module: "mxnet.optimizer.optimizer", Name: "create",
		Args: []any{o.Name}, Keywords: o.Params}, true
}

// encoded is the form of an optimizer that optimizer.Encode writes.
type encoded struct {
	Name   string         `json:"name"`
	Params map[string]any `json:"params"`
}

// named reads the form.
func named(text []byte) (e encoded, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // integers stay integers
	err = d.Decode(&e)
	return e, err
}

// indexed returns the states by the numbers of the parameters.
func (t *Trainer) indexed() ([]checkpoint.IndexedState, error) {
	if t.updater == nil {
		return nil, errors.New("no optimizer whose states could be saved")
	}
	states, err := t.states()
	if err != nil {
		return nil, err
	}
	var list []checkpoint.IndexedState
	for i, p := range t.params {
		arrays, ok := states[i]
		if p.Fixed || !ok {
			continue
		}
		s, err := checkpoint.StateOf(arrays...)
		if err != nil {
			return nil, fmt.Errorf("state of %s: %w", p.Name, err)
		}
		list = append(list, checkpoint.IndexedState{Index: i, State: s})
	}
	return list, nil
}

// states returns the states of the optimizer, by the numbers of the parameters that have been
// updated or that the store updates.
func (t *Trainer) states() (map[int][]*nd.Array, error) {
	if t.store != nil {
		return t.store.states(context.Background())
	}
	out := map[int][]*nd.Array{}
	for i := range t.params {
		if t.updated(i) {
			out[i] = t.updater.State(i)
		}
	}
	return out, nil
}

// updated reports whether the updater has updated parameter i or has been given a state for it.
func (t *Trainer) updated(i int) bool {
	return t.updater.State(i) != nil || t.updater.Progress(i).Count > 0
}

// LoadStates gives the states of a file that SaveStates or MXNet's Module wrote to the optimizer,
// wherever it runs.
func (t *Trainer) LoadStates(path string) error {
	if t.updater == nil {
		return errors.New("no optimizer that states could be given to")
	}
	list, err := checkpoint.LoadStates(path)
	if err != nil {
		return err
	}
	loaded := map[int][]*nd.Array{}
	for _, s := range list {
		i, err := t.stateIndex(path, s)
		if err != nil {
			return err
		}
		arrays, err := s.State.Arrays()
		if err != nil {
			return fmt.Errorf("%s: state of %s: %w", path, t.params[i].Name, err)
		}
		loaded[i] = arrays
		if t.store == nil {
			if err := t.setState(i, arrays); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			t.setCount(i, s.Count)
		}
	}
	if t.store != nil { // which keeps them
		t.loaded = false
		return t.store.load(context.Background(), loaded)
	}
	t.loaded = true
	return nil
}

// stateIndex returns the number of the parameter that a state belongs to.
func (t *Trainer) stateIndex(path string, s checkpoint.IndexedState) (int, error) {
	i := s.Index
	for k, p := range t.params {
		if s.Name == p.Name {
			i = k
		}
	}
	if i < 0 || i >= len(t.params) || s.Name != "" && t.params[i].Name != s.Name {
		return 0, fmt.Errorf("%s: state of parameter %d %q, want one of the %d parameters",
			path, s.Index, s.Name, len(t.params))
	}
	return i, nil
}

// setCount gives the updater the count of updates of parameter i; 0: it is not known.
func (t *Trainer) setCount(i, count int) {
	if count > 0 {
		p := t.updater.Progress(i)
		p.Count, p.Updates = count, max(p.Updates, count)
		t.updater.SetProgress(i, p)
	}
}

// setState gives loaded arrays to the updater, which wants as many as the optimizer makes.
func (t *Trainer) setState(i int, arrays []*nd.Array) error {
	p := t.params[i]
	if len(p.Weights) == 0 {
		return fmt.Errorf("parameter %s has no values yet", p.Name)
	}
	want := t.updater.NewState(p.Weights[0])
	if len(arrays) != len(want) {
		return fmt.Errorf("state of %s has %d arrays, optimizer %s wants %d", p.Name, len(arrays),
			t.updater.Optimizer().Name(), len(want))
	}
	for k, a := range arrays {
		if a == nil || !a.Shape().Equal(want[k].Shape()) || a.DType() != want[k].DType() {
			return fmt.Errorf("state %d of %s does not fit: want %v of shape %v", k, p.Name,
				want[k].DType(), want[k].Shape())
		}
		a.CopyInto(want[k])
	}
	t.updater.SetState(i, want)
	return nil
}
