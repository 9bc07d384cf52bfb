package symbol

import (
	"fmt"
	"slices"

	"gomx/op"
)

// Compose returns s with variables replaced by outputs of other symbols, by name, as MXNet does
// when a program calls a symbol. So networks are put together from parts:
//
//	net := head.Compose(map[string]*sym.Symbol{"features": body})
//
// s itself stays as it is. The result shares with s the nodes that do not depend on a replaced
// variable, above all the weights.
func (s *Symbol) Compose(inputs map[string]*Symbol) *Symbol {
	if s.err != nil {
		return s
	}
	fail := func(err error) *Symbol {
		return &Symbol{err: op.WithOp(err, "Compose", s.Name(), op.CallSite())}
	}
	nodes := s.Nodes()
	sub := &substitution{entry: map[*op.Node]op.Entry{}, node: map[*op.Node]*op.Node{}}
	for _, name := range sortedKeys(inputs) {
		with := inputs[name]
		switch {
		case with == nil:
			return fail(op.Errorf(name, "nil, want a symbol"))
		case with.err != nil:
			return with
		case len(with.outputs) != 1:
			return fail(op.Errorf(name, "a symbol of %d outputs, want one: pick with At",
				len(with.outputs)))
		}
		i := slices.IndexFunc(nodes, func(n *op.Node) bool { return n.IsVar() && n.Name == name })
		if i < 0 {
			return fail(fmt.Errorf("no variable %q, want one of %q", name, s.Inputs()))
		}
		sub.entry[nodes[i]] = with.outputs[0]
	}
	for _, n := range nodes {
		sub.visit(n)
	}
	t := &Symbol{outputs: make([]op.Entry, len(s.outputs))}
	for i, e := range s.outputs {
		t.outputs[i] = sub.of(e)
	}
	return t
}

// substitution copies the nodes that depend on replaced variables.
type substitution struct {
	entry map[*op.Node]op.Entry // the output that replaces a variable
	node  map[*op.Node]*op.Node // copies of operators
}

// of returns the entry that takes the place of e: e itself if nothing replaces it.
func (s *substitution) of(e op.Entry) op.Entry {
	if with, ok := s.entry[e.Node]; ok {
		return with
	}
	if n := s.node[e.Node]; n != nil {
		return n.Entry(e.Index)
	}
	return e
}

// visit copies n if something that it reads or runs after has been replaced.
func (s *substitution) visit(n *op.Node) {
	changed := false
	in := make([]op.Entry, len(n.In))
	for i, e := range n.In {
		in[i] = s.of(e)
		changed = changed || in[i] != e
	}
	after := make([]*op.Node, len(n.After))
	for i, a := range n.After {
		after[i] = s.of(a.Entry(0)).Node
		changed = changed || after[i] != a
	}
	if changed {
		t := *n
		t.In, t.After = in, slices.Clip(after)
		s.node[n] = &t
	}
}
