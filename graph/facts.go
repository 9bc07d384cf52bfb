package graph

import (
	"maps"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// Facts holds the shapes and types of the entries of a graph. Passes read it and add the entries
// that they make. It belongs to one goroutine, and it owns its maps; use Clone to share it.
type Facts struct {
	Shapes map[op.Entry]dtype.Shape // shapes; an extent may be unknown
	Types  map[op.Entry]dtype.Type  // element types; a type may be dtype.Unknown
	// Forward is the number of outputs of the forward part, which runs by itself before the rest; 0
	// means all outputs.
	Forward int
	// Place says where nodes run; nil means that all run on one device.
	Place *Placement
	// Device is the device of nodes whose attributes name none.
	Device device.Device
	// Mixed says how a graph computes with two floating-point types; nil means with the types of
	// its variables.
	Mixed *Mixed

	changes  []Change // changes that the running pass has made
	inferred int      // inferences over whole graphs behind these facts
}

// FactsOf collects the shapes and types of an indexed graph, which are given by entry number and
// come from one inference.
func FactsOf(g *Indexed, shapes []dtype.Shape, types []dtype.Type) *Facts {
	f := &Facts{Shapes: make(map[op.Entry]dtype.Shape, len(shapes)),
		Types: make(map[op.Entry]dtype.Type, len(types)), inferred: 1}
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			f.Shapes[n.Entry(e-from)], f.Types[n.Entry(e-from)] = shapes[e], types[e]
		}
	}
	return f
}

// Clone returns a copy of f with maps of its own.
func (f *Facts) Clone() *Facts {
	c := *f
	c.Shapes, c.Types, c.changes = maps.Clone(f.Shapes), maps.Clone(f.Types), nil
	return &c
}

// Set records the shape and type of an entry.
func (f *Facts) Set(e op.Entry, s dtype.Shape, t dtype.Type) {
	if f.Shapes == nil {
		f.Shapes, f.Types = map[op.Entry]dtype.Shape{}, map[op.Entry]dtype.Type{}
	}
	f.Shapes[e], f.Types[e] = s, t
}

// Known reports whether shape and element type of e are known.
func (f *Facts) Known(e op.Entry) bool {
	s, ok := f.Shapes[e]
	t, typed := f.Types[e]
	return ok && typed && s.Known() && t != dtype.Unknown
}

// Inferred returns the number of inferences over whole graphs behind these facts.
func (f *Facts) Inferred() int { return f.inferred }

// kind returns the kind of the device that n runs on.
func (f *Facts) kind(n *op.Node) device.Kind {
	if d, err := device.Parse(Group(n)); err == nil {
		return d.Kind
	}
	return f.Device.Kind
}

// note records a change for the report.
func (f *Facts) note(c Change) { f.changes = append(f.changes, c) }

// copy records that e has the shape and type of old.
func (f *Facts) copy(e, old op.Entry) {
	if s, ok := f.Shapes[old]; ok {
		f.Shapes[e] = s
	}
	if t, ok := f.Types[old]; ok {
		f.Types[e] = t
	}
}

// Complete fills in the facts of the nodes that passes have made, from their inputs alone. Facts
// that are known stay as they are. Shapes may remain unknown.
func (f *Facts) Complete(outs []op.Entry) error {
	for _, n := range op.Topo(outs) {
		if n.IsVar() || f.knows(n) {
			continue
		}
		if err := f.learnNode(n); err != nil {
			return err
		}
	}
	return nil
}

// Infer fills in the facts of the graph that computes outs. Where inputs alone do not say enough,
// it infers over the whole graph, forward and backward.
func (f *Facts) Infer(outs []op.Entry) error {
	if err := f.Complete(outs); err != nil {
		return err
	}
	if f.knowsAll(outs) {
		return nil
	}
	f.inferred++
	g := Index(outs)
	shapes, types := make([]dtype.Shape, g.NumEntries()), make([]dtype.Type, g.NumEntries())
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			shapes[e], types[e] = f.Shapes[n.Entry(e-from)], f.typeOf(n.Entry(e-from))
		}
	}
	if err := InferShapes(g, shapes); err != nil {
		return err
	}
	if err := InferTypes(g, types); err != nil {
		return err
	}
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			f.Set(n.Entry(e-from), shapes[e], types[e])
		}
	}
	return nil
}

// typeOf returns the type of e, which may be unknown.
func (f *Facts) typeOf(e op.Entry) dtype.Type {
	if t, ok := f.Types[e]; ok {
		return t
	}
	return dtype.Unknown
}

// knows reports whether all outputs of n are known.
func (f *Facts) knows(n *op.Node) bool {
	for i := range n.NumOutputs() {
		if !f.Known(n.Entry(i)) {
			return false
		}
	}
	return true
}

// knowsAll reports whether all entries of the graph that computes outs are known.
func (f *Facts) knowsAll(outs []op.Entry) bool {
	for _, n := range op.Topo(outs) {
		if !f.knows(n) {
			return false
		}
	}
	return true
}

// learnNode infers the outputs of n from its inputs.
func (f *Facts) learnNode(n *op.Node) error {
	in, types := make([]dtype.Shape, len(n.In)), make([]dtype.Type, len(n.In))
	for k, e := range n.In {
		in[k], types[k] = f.Shapes[e].Clone(), f.typeOf(e)
	}
	given := append([]dtype.Shape{}, in...)
	out, outTypes := make([]dtype.Shape, n.NumOutputs()), make([]dtype.Type, n.NumOutputs())
	for i := range out {
		out[i], outTypes[i] = f.Shapes[n.Entry(i)].Clone(), f.typeOf(n.Entry(i))
	}
	if err := n.Op.InferShape(n.Params, in, out); err != nil {
		return inferError(n, err, given)
	}
	if err := n.Op.InferType(n.Params, types, outTypes); err != nil {
		return op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	for i := range out {
		f.Set(n.Entry(i), out[i], outTypes[i])
	}
	return nil
}
