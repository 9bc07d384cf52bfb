package graph

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// Facts is what is known of the entries of a graph. Passes read it and add what they make.
type Facts struct {
	Shapes map[op.Entry]dtype.Shape
	Types  map[op.Entry]dtype.Type
	// Forward is how many of the outputs belong to the forward part, which runs by itself before the rest; 0: all.
	Forward int
	// Place says where nodes run; nil: all on one device.
	Place *Placement
	// Device is where nodes run whose attributes name no device.
	Device device.Device
	// Mixed says how a graph computes with two floating-point types; nil: with those of its variables.
	Mixed *Mixed

	changes []Change // of the pass that runs
}

// kind returns the kind of the device that n runs on.
func (f *Facts) kind(n *op.Node) device.Kind {
	if d, err := device.Parse(Group(n)); err == nil {
		return d.Kind
	}
	return f.Device.Kind
}

// note records a change for the report.
func (f *Facts) note(c Change) { f.changes = append(f.changes, c) }

// FactsOf collects the shapes and types of an indexed graph, which are given by entry number.
func FactsOf(g *Indexed, shapes []dtype.Shape, types []dtype.Type) *Facts {
	f := &Facts{Shapes: map[op.Entry]dtype.Shape{}, Types: map[op.Entry]dtype.Type{}}
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			f.Shapes[n.Entry(e-from)], f.Types[n.Entry(e-from)] = shapes[e], types[e]
		}
	}
	return f
}

// copy records that e has the shape and type of old.
func (f *Facts) copy(e, old op.Entry) {
	if s, ok := f.Shapes[old]; ok {
		f.Shapes[e] = s
	}
	if t, ok := f.Types[old]; ok {
		f.Types[e] = t
	}
}

// rewriter copies a graph node by node and lets a rule put something else in the place of some.
type rewriter struct {
	facts   *Facts
	uses    map[op.Entry]int // readers in the graph before, outputs counted
	outs    map[op.Entry]bool
	made    map[op.Entry]op.Entry
	was     map[op.Entry]op.Entry // the entry before of an entry made
	nodes   map[*op.Node]*op.Node
	changes int
}

// rule returns what takes the place of the first output of n, whose inputs have been rewritten to
// in; the other outputs of n must have no readers. The zero Entry means that n stays.
type rule func(r *rewriter, n *op.Node, in []op.Entry) op.Entry

// rewrite applies a rule everywhere, inputs first, and returns the new outputs and how often the
// rule has changed something.
func rewrite(outs []op.Entry, f *Facts, apply rule) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	for _, n := range order {
		r.visit(n, apply)
	}
	return r.now(outs), r.changes
}

// newRewriter readies the rewriting of the graph that computes outs, and returns its nodes, inputs first.
func newRewriter(outs []op.Entry, f *Facts) (*rewriter, []*op.Node) {
	r := &rewriter{facts: f, uses: map[op.Entry]int{}, outs: map[op.Entry]bool{}, made: map[op.Entry]op.Entry{}, was: map[op.Entry]op.Entry{}, nodes: map[*op.Node]*op.Node{}}
	order := op.Topo(outs)
	for _, n := range order {
		for _, e := range n.In {
			r.uses[e]++
		}
	}
	for _, e := range outs {
		r.uses[e]++
		r.outs[e] = true
	}
	return r, order
}

// now returns what entries have become.
func (r *rewriter) now(list []op.Entry) []op.Entry {
	out := make([]op.Entry, len(list))
	for i, e := range list {
		out[i] = r.made[e]
	}
	return out
}

func (r *rewriter) visit(n *op.Node, apply rule) {
	in := r.now(n.In)
	if !n.IsVar() {
		if e := apply(r, n, in); e.Valid() {
			r.changes++
			r.facts.note(Change{Node: n.Name, Before: describe(n, in), After: describeEntry(e)})
			r.become(n.Entry(0), e)
			r.nodes[n] = e.Node
			return
		}
	}
	r.keep(n, in)
}

// keep leaves n as it is, but for its inputs.
func (r *rewriter) keep(n *op.Node, in []op.Entry) *op.Node {
	m := r.copied(n, in)
	r.nodes[n] = m
	for i := range n.NumOutputs() {
		r.become(n.Entry(i), m.Entry(i))
	}
	return m
}

// copied returns n with other inputs, n itself when they are the same.
func (r *rewriter) copied(n *op.Node, in []op.Entry) *op.Node {
	same := true
	for k, e := range n.In {
		same = same && e == in[k]
	}
	after := make([]*op.Node, len(n.After))
	for k, a := range n.After {
		after[k] = r.nodes[a]
		same = same && a == after[k]
	}
	if same {
		return n
	}
	m := *n
	m.In, m.After = in, after
	return &m
}

func (r *rewriter) become(old, e op.Entry) {
	r.made[old] = e
	r.was[e] = old
	r.facts.copy(e, old)
}

// only reports whether the entry made is read by one node and nothing else wants it, nor any other
// output of its node.
func (r *rewriter) only(e op.Entry) bool {
	old, ok := r.was[e]
	return ok && r.uses[old] == 1 && !r.wanted(old.Node)
}

// wanted reports whether somebody reads more than the first output of a node from before.
func (r *rewriter) wanted(n *op.Node) bool {
	for i := 1; i < n.NumOutputs(); i++ {
		if r.uses[n.Entry(i)] > 0 {
			return true
		}
	}
	return false
}

// joined makes the node that does the work of first and then of last, in the place of first.
func (r *rewriter) joined(o *op.Op, params any, first, last *op.Node, in ...op.Entry) op.Entry {
	m, err := op.NewNode(o, first.Name+"+"+last.Name, params, in...)
	if err != nil {
		panic(err)
	}
	m.Attrs, m.Site = first.Attrs, first.Site
	m.After = first.After
	return m.Entry(0)
}

// together reports whether b may move to where a is: both are placed on one device, and nothing
// but its inputs holds b back.
func together(a, b *op.Node) bool {
	return a.Attrs[GroupAttr] == b.Attrs[GroupAttr] && len(b.After) == 0
}
