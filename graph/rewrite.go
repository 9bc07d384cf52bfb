package graph

import (
	"strings"

	"gomx/op"
)

// rewriter copies a graph node by node and lets a rule replace some of the nodes. It does not
// change the old nodes.
type rewriter struct {
	facts   *Facts                // of the caller; new entries are added to them
	uses    map[op.Entry]int      // readers of an old entry; being an output counts as one
	outs    map[op.Entry]bool     // old entries that are outputs
	readers map[op.Entry]*op.Node // the last old node that reads an old entry
	made    map[op.Entry]op.Entry // new entries by old entry
	was     map[op.Entry]op.Entry // old entries by new entry
	nodes   map[*op.Node]*op.Node // new nodes by old node
	changes int                   // number of places changed
}

// rule returns the entry that takes the place of the first output of n, whose inputs have been
// rewritten to in; the other outputs of n must have no readers. The zero Entry means that n stays.
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

// newRewriter readies the rewriting of the graph that computes outs, and returns its nodes, inputs
// first.
func newRewriter(outs []op.Entry, f *Facts) (*rewriter, []*op.Node) {
	r := &rewriter{facts: f, uses: map[op.Entry]int{}, outs: map[op.Entry]bool{},
		readers: map[op.Entry]*op.Node{}, made: map[op.Entry]op.Entry{},
		was: map[op.Entry]op.Entry{}, nodes: map[*op.Node]*op.Node{}}
	order := op.Topo(outs)
	for _, n := range order {
		for _, e := range n.In {
			r.uses[e]++
			r.readers[e] = n
		}
	}
	for _, e := range outs {
		r.uses[e]++
		r.outs[e] = true
	}
	return r, order
}

// now returns the new entries in the places of old ones.
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

// only reports whether new entry e has exactly one reader, and nothing reads the outputs behind the
// first of its node.
func (r *rewriter) only(e op.Entry) bool {
	old, ok := r.was[e]
	return ok && r.uses[old] == 1 && !r.wanted(old.Node)
}

// wanted reports whether any output of old node n but the first has a reader.
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

// Change is one thing that a pass did.
type Change struct {
	Node   string `json:"node"`   // name of the node that the pass replaced or made
	Before string `json:"before"` // text of the old expression
	After  string `json:"after"`  // text of the expression in its place
}

// describe writes n as an expression of its inputs.
func describe(n *op.Node, in []op.Entry) string {
	const most = 4
	list := make([]string, 0, most)
	for i, e := range in {
		if i == most {
			list = append(list, "…")
			break
		}
		list = append(list, e.String())
	}
	return n.Op.Name + "(" + strings.Join(list, ", ") + ")"
}

// describeEntry writes the node that computes e as an expression; a variable is its name.
func describeEntry(e op.Entry) string {
	if e.Node.IsVar() {
		return e.Node.Name
	}
	return describe(e.Node, e.Node.In)
}
