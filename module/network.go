package module

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/checkpoint"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
	"gomx/trainer"
)

// network is a symbol with the roles of its arguments and with its values on every device.
//
// Invariants: values is empty until Bind, and has an element per device afterwards, whose arrays
// are the arrays of all executors on the device. The parameters have equal values on all devices
// whenever a run begins.
type network struct {
	symbol *sym.Symbol
	roles
	values  []values     // by device
	drifted bool         // the devices' auxiliary states differ
	given   *givenParams // set before there is memory for them
	inited  bool         // the parameters have values
	tables  tables       // parameters of which batches read rows
}

// values holds the parameters and the auxiliary states on one device. Every update refreshes the
// parameters of all devices; settleAux averages the auxiliary states before they are read.
type values struct{ args, aux map[string]*nd.Array }

// roles says which arguments of a symbol are data, labels and parameters.
type roles struct {
	fed        []feed // where the arrays of a batch go, data first
	dataNames  []string
	labelNames []string // labels that are arguments of the symbol
	params     []string // the other arguments, in order
}

// feed says which argument an array of a batch becomes.
type feed struct {
	name  string
	label bool
	index int // in Batch.Data or Batch.Label
	axis  int // of the batch, -1 if there is none
}

// of returns the array of a batch that f is about, nil if there is none.
func (f feed) of(b *dataio.Batch) *nd.Array {
	list := b.Data
	if f.label {
		list = b.Label
	}
	if f.index >= len(list) {
		return nil
	}
	return list[f.index]
}

// assign decides which arguments of a symbol are data, labels and parameters.
func assign(s *sym.Symbol, c *config, data, label []dataio.Desc, training bool) (r roles,
	err error) {
	args := s.Arguments()
	if err := s.Err(); err != nil {
		return r, err
	}
	if err := c.checkPlaces(); err != nil {
		return r, err
	}
	if r.dataNames, err = rename(c.data, data, "data"); err != nil {
		return r, err
	}
	for i, name := range r.dataNames {
		if !slices.Contains(args, name) {
			return r, fmt.Errorf("module: data %q is not an argument of the symbol, whose "+
				"arguments are %s", name, quoted(args))
		}
		r.fed = append(r.fed, feed{name, false, i, batchAxis(s, name)})
	}
	labels, err := rename(c.labels, label, "label")
	if err != nil {
		return r, err
	}
	for i, name := range labels {
		if slices.Contains(args, name) {
			r.fed = append(r.fed, feed{name, true, i, batchAxis(s, name)})
			r.labelNames = append(r.labelNames, name)
		}
	}
	if err := r.missingLabels(args, labels, c.labels, training); err != nil {
		return r, err
	}
	for _, a := range args {
		if !r.isInput(a) {
			r.params = append(r.params, a)
		}
	}
	for _, f := range c.fixed {
		if !slices.Contains(r.params, f) {
			return r, fmt.Errorf("module: fixed parameter %q is not a parameter of the symbol, "+
				"whose parameters are %s", f, quoted(r.params))
		}
	}
	return r, nil
}

// rename returns the argument names for the arrays that an iterator provides.
func rename(configured []string, descs []dataio.Desc, what string) ([]string, error) {
	if configured != nil && len(descs) > 0 && len(configured) != len(descs) {
		return nil, fmt.Errorf("module: %d %s names (%s), the iterator provides %d arrays",
			len(configured), what, quoted(configured), len(descs))
	}
	if configured != nil {
		return configured, nil
	}
	names := make([]string, len(descs))
	for i, d := range descs {
		names[i] = d.Name
	}
	return names, nil
}

// missingLabels finds arguments that are labels but that nothing feeds: a mistake in training; in
// inference they keep their zeros. Configured lists the labels that the user has named, if any.
func (r *roles) missingLabels(args, provided, configured []string, training bool) error {
	for _, a := range args {
		if !strings.HasSuffix(a, "label") || r.isInput(a) ||
			configured != nil && !slices.Contains(configured, a) {
			continue
		}
		if training {
			got := "no label"
			if len(provided) > 0 {
				got = "label " + quoted(provided)
			}
			return fmt.Errorf("module: the symbol wants label %q, the iterator provides %s: "+
				"name the iterator's label so, or say module.Labels", a, got)
		}
		r.labelNames = append(r.labelNames, a)
	}
	return nil
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}

// isInput reports whether batches feed an argument.
func (r *roles) isInput(name string) bool {
	return slices.Contains(r.dataNames, name) || slices.Contains(r.labelNames, name)
}

// request returns whether the gradient of an argument is computed. Fixed parameters have none.
func (r *roles) request(name string, fixed []string, inputGrads bool) op.Req {
	switch {
	case slices.Contains(fixed, name), slices.Contains(r.labelNames, name):
		return op.ReqNull
	case slices.Contains(r.dataNames, name) && !inputGrads:
		return op.ReqNull
	}
	return op.ReqWrite
}

// on returns the values on device k: none before there are any.
func (n *network) on(k int) values {
	if k < len(n.values) {
		return n.values[k]
	}
	return values{}
}

// first returns the values on the first device, which programs and files see.
func (n *network) first() values { return n.on(0) }

// spread copies a parameter from the first device to the others.
func (n *network) spread(name string) { trainer.Spread(n.copies(name)) }

// spreadAll copies all parameters and auxiliary states from the first device to the others.
func (n *network) spreadAll() {
	for _, name := range slices.Sorted(maps.Keys(n.first().args)) {
		n.spread(name)
	}
	for _, s := range n.auxStates() {
		trainer.Spread(s.Copies)
	}
	n.drifted = false
}

// settleAux gives all devices the averages of the auxiliary states that they have made of their
// parts of the batches. Integers, which count, keep the first device's values.
func (n *network) settleAux() {
	if !n.drifted {
		return
	}
	n.drifted = false
	for _, s := range n.auxStates() {
		trainer.Average(s.Copies)
	}
}

// copies returns the arrays of a parameter on all devices.
func (n *network) copies(name string) []*nd.Array {
	list := make([]*nd.Array, len(n.values))
	for k, v := range n.values {
		list[k] = v.args[name]
	}
	return list
}

// auxStates lists the auxiliary states by name.
func (n *network) auxStates() (list []trainer.AuxState) {
	for _, name := range slices.Sorted(maps.Keys(n.first().aux)) {
		copies := make([]*nd.Array, len(n.values))
		for k, v := range n.values {
			copies[k] = v.aux[name]
		}
		list = append(list, trainer.AuxState{Name: name, Copies: copies})
	}
	return list
}

// arrays lists the parameters and the auxiliary states of all devices by the names that they have
// in the file of a run.
func (n *network) arrays() (list []checkpoint.Named) {
	for _, name := range n.params {
		list = append(list, checkpoint.Named{Name: "arg:" + name, Array: n.first().args[name]})
	}
	for k, v := range n.values {
		for _, name := range n.symbol.AuxStates() {
			list = append(list, checkpoint.Named{Name: auxKey(k, name), Array: v.aux[name]})
		}
	}
	return list
}

// setArrays restores the arrays that arrays has listed.
func (n *network) setArrays(from map[string]*nd.Array) error {
	for _, a := range n.arrays() {
		if err := trainer.CopySame(a.Name, from[a.Name], a.Array); err != nil {
			return err
		}
	}
	for _, name := range n.params {
		n.spread(name)
	}
	return nil
}

// wait waits for all pending computations on the values and returns the first error.
func (n *network) wait(ctx context.Context) error {
	for _, v := range n.values {
		for _, list := range []map[string]*nd.Array{v.args, v.aux} {
			for _, name := range slices.Sorted(maps.Keys(list)) {
				if err := list[name].Wait(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
