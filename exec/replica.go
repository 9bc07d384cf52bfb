package exec

import (
	"errors"
	"fmt"
	"maps"

	nd "gomx/ndarray"
)

// Replicate returns an executor that infers the same compiled graph for another goroutine: it
// shares arguments, auxiliary states and all forms of parameters that are kept between runs, and
// has inputs, outputs and planned memory of its own. The arguments that inputs names get new
// arrays. Callers that write other arrays while replicas run must order those writes themselves.
//
// The replica uses the planned memory of shared, another replica that runs in turn with it. When
// shared is nil it allocates new memory.
func (ex *Executor) Replicate(shared *Executor, inputs ...string) (*Executor, error) {
	if ex.closed {
		return nil, errors.New("exec: Replicate of a closed executor")
	}
	b, err := ex.program(false)
	if err != nil {
		return nil, err
	}
	b.p.shared.Store(true)
	c := ex.config
	c.Shared = nil
	r := &Executor{net: ex.net, config: c, eng: ex.eng, facts: ex.facts, Args: maps.Clone(ex.Args),
		Grads: map[string]*nd.Array{}, Aux: ex.Aux,
		spread: ex.spread}
	for _, name := range inputs {
		a := ex.Args[name]
		if a == nil {
			return nil, fmt.Errorf("exec: no argument %q to replicate, want one of %v", name,
				ex.net.arguments())
		}
		if b.p.DerivesFrom(name) {
			return nil, fmt.Errorf("exec: argument %q cannot differ between replicas: they "+
				"share what is derived from it", name)
		}
		r.Args[name] = ex.zeros(a.Storage(), a.Shape(), nd.On(a.Device()), nd.As(a.DType()),
			nd.Name(name))
	}
	if err := r.allocOutputs(); err != nil {
		return nil, err
	}
	r.join(shared)
	r.programs[inferring] = b.p.bind(r)
	return r, nil
}

// Redirect makes a the array of output i for the runs that follow. Shape and type must be the
// bound ones.
func (ex *Executor) Redirect(i int, a *nd.Array) error {
	if i < 0 || i >= len(ex.outputs) {
		return fmt.Errorf("exec: output %d redirected, want one of 0..%d", i, len(ex.outputs)-1)
	}
	old := ex.outputs[i]
	if err := ex.admit(fmt.Sprintf("array for output %s", ex.net.Outputs[i]), a, old); err != nil {
		return err
	}
	ex.outputs[i] = a
	for _, b := range ex.programs {
		if b != nil {
			b.arrays[b.p.Outputs[i]] = a
		}
	}
	return nil
}
