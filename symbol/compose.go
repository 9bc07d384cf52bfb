package symbol

import (
	"fmt"

	"gomx/op"
)

// Apply applies an operator, for operators that have no generated function: one's own.
func Apply[P any](h op.Handle[P], p P, data ...*Symbol) *Symbol {
	return compose(h.Op, p, nil, data...)
}

// ApplyWith is Apply with options.
func ApplyWith[P any](h op.Handle[P], p P, opts []Option, data ...*Symbol) *Symbol {
	return compose(h.Op, p, opts, data...)
}

// compose makes a node. Data inputs are taken in order from data; the others from With, else
// they become variables named after the node. The first mistake stays in the result.
func compose(o *op.Op, params any, opts []Option, data ...*Symbol) *Symbol {
	site := op.CallSite()
	c := config(opts)
	fail := func(err error) *Symbol { return &Symbol{err: op.WithOp(err, o.Name, c.name, site)} }
	for _, d := range data {
		if d != nil && d.err != nil {
			return d
		}
	}
	if o.Variadic {
		params = o.WithCount(params, countOutputs(data))
	}
	p, err := o.Normalize(params)
	if err != nil {
		return fail(err)
	}
	n := &op.Node{Op: o, Name: c.name, Params: p, Attrs: c.attrs, Site: site}
	if o.Variadic {
		data = flatten(data)
	}
	for _, a := range c.after {
		if a.err != nil {
			return a
		}
		for _, e := range a.outputs {
			n.After = append(n.After, e.Node)
		}
	}
	if err := connect(n, c, data); err != nil {
		return fail(err)
	}
	return outputsOf(n)
}

// outputsOf wraps the visible outputs of a node.
func outputsOf(n *op.Node) *Symbol {
	s := &Symbol{}
	for i := range n.NumVisible() {
		s.outputs = append(s.outputs, n.Entry(i))
	}
	return s
}

func countOutputs(data []*Symbol) int {
	n := 0
	for _, d := range data {
		if d != nil {
			n += len(d.outputs)
		}
	}
	return n
}

// flatten splits symbols of several outputs, so that a variadic operator takes them all.
func flatten(data []*Symbol) []*Symbol {
	var list []*Symbol
	for _, d := range data {
		if d == nil {
			continue
		}
		for i := range d.outputs {
			list = append(list, &Symbol{outputs: d.outputs[i : i+1]})
		}
	}
	return list
}

// connect fills in the inputs of n.
func connect(n *op.Node, c *options, data []*Symbol) error {
	used := 0
	for _, in := range n.Op.Inputs(n.Params) {
		s := c.with[in.Name]
		if s == nil && in.Role == op.Data {
			if used >= len(data) || data[used] == nil {
				return op.Errorf(in.Name, "missing")
			}
			s = data[used]
			used++
		}
		if s == nil {
			n.In = append(n.In, created(n, in, c))
			continue
		}
		if s.err != nil {
			return s.err
		}
		if len(s.outputs) != 1 {
			return op.Errorf(in.Name, "a symbol of %d outputs, want one: pick with At",
				len(s.outputs))
		}
		n.In = append(n.In, s.outputs[0])
	}
	for _, extra := range data[used:] {
		if extra != nil {
			return fmt.Errorf("%d data inputs given, want %d", len(data), used)
		}
	}
	for name := range c.with {
		if !hasInput(n, name) {
			return op.Errorf(name, "no input of this name under these parameters")
		}
	}
	return nil
}

func hasInput(n *op.Node, name string) bool {
	for _, in := range n.Op.Inputs(n.Params) {
		if in.Name == name {
			return true
		}
	}
	return false
}

// created makes the variable for an input that was not given. As in MXNet it carries the
// attributes of its node that are not private to it, and its initializer.
func created(n *op.Node, in op.Input, c *options) op.Entry {
	v := &op.Node{Site: n.Site}
	if n.Name != "" {
		v.Name = n.Name + "_" + in.Name
	}
	for key, value := range c.attrs {
		if v.Attrs == nil {
			v.Attrs = map[string]string{}
		}
		v.Attrs[key] = value
	}
	if in.Init != "" {
		if v.Attrs == nil {
			v.Attrs = map[string]string{}
		}
		v.Attrs["__init__"] = in.Init
	}
	return v.Entry(0)
}
