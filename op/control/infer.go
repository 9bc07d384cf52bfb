package control

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
)

// fact is the part of inference that shapes and types share: knowledge that merges.
type fact[T any] struct {
	merge func(a, b T) (T, bool)
	same  func(a, b T) bool
	infer func(n *op.Node, in, out []T) error
}

var shapeFact = fact[dtype.Shape]{
	merge: dtype.Shape.Merge,
	same:  dtype.Shape.Equal,
	infer: func(n *op.Node, in, out []dtype.Shape) error {
		for i := range in {
			in[i] = in[i].Clone()
		}
		for i := range out {
			out[i] = out[i].Clone()
		}
		return n.Op.InferShape(n.Params, in, out)
	},
}

var typeFact = fact[dtype.Type]{
	merge: func(a, b dtype.Type) (dtype.Type, bool) {
		switch {
		case a == dtype.Unknown:
			return b, true
		case b == dtype.Unknown || a == b:
			return a, true
		}
		return a, false
	},
	same: func(a, b dtype.Type) bool { return a == b },
	infer: func(n *op.Node, in, out []dtype.Type) error {
		return n.Op.InferType(n.Params, in,
			out)
	},
}

// graph fills in the facts of the inputs and outputs of a graph, by sweeping forward and backward
// until nothing more is learned.
func (f *fact[T]) graph(g *op.Graph, in, out []T, unknown T) error {
	known := map[op.Entry]T{}
	get := func(e op.Entry) T {
		if v, ok := known[e]; ok {
			return v
		}
		return unknown
	}
	learn := func(n *op.Node, e op.Entry, v T) (bool, error) {
		old := get(e)
		m, ok := f.merge(old, v)
		if !ok {
			err := op.Errorf("", "%s is %v, want %v", e, old, v)
			if n != nil && !n.IsVar() {
				err = op.WithOp(err, n.Op.Name, n.Name, n.Site)
			}
			return false, err
		}
		known[e] = m
		return !f.same(m, old), nil
	}
	for i, v := range g.Inputs {
		if _, err := learn(nil, v.Entry(0), in[i]); err != nil {
			return err
		}
	}
	for i, e := range g.Outputs {
		if _, err := learn(e.Node, e, out[i]); err != nil {
			return err
		}
	}
	nodes := g.Nodes()
	for forward, changed := true, true; changed; forward = !forward {
		changed = false
		for k := range nodes {
			n := nodes[k]
			if !forward {
				n = nodes[len(nodes)-1-k]
			}
			if n.IsVar() {
				continue
			}
			c, err := f.node(n, get, learn)
			if err != nil {
				return err
			}
			changed = changed || c
		}
	}
	for i, v := range g.Inputs {
		in[i] = get(v.Entry(0))
	}
	for i, e := range g.Outputs {
		out[i] = get(e)
	}
	return nil
}

// node runs the inference of one node.
func (f *fact[T]) node(n *op.Node, get func(op.Entry) T,
	learn func(*op.Node, op.Entry, T) (bool, error)) (changed bool, err error) {
	in, out := make([]T, len(n.In)), make([]T, n.NumOutputs())
	for k, e := range n.In {
		in[k] = get(e)
	}
	for k := range out {
		out[k] = get(n.Entry(k))
	}
	if err := f.infer(n, in, out); err != nil {
		return false, op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	for k, e := range n.In {
		c, err := learn(n, e, in[k])
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	for k := range out {
		c, err := learn(n, n.Entry(k), out[k])
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	return changed, nil
}

func inferShapes(g *op.Graph, in, out []dtype.Shape) error {
	return inside(shapeFact.graph(g, in, out, nil))
}

func inferTypes(g *op.Graph, in, out []dtype.Type) error {
	return inside(typeFact.graph(g, in, out, dtype.Unknown))
}

// inside makes an error that names a node of a graph an error of the operator around it.
func inside(err error) error {
	if err == nil {
		return nil
	}
	return op.Errorf("subgraphs", "%v", err)
}

// merger merges knowledge about operands of an operator and keeps the first contradiction.
type merger[T any] struct {
	f   *fact[T]
	err error
}

func (m *merger[T]) into(to *T, v T, what string, i int) {
	got, ok := m.f.merge(*to, v)
	if !ok && m.err == nil {
		m.err = op.Errorf(fmt.Sprintf("%s %d", what, i), "%v outside of the graph, %v inside", *to,
			v)
	}
	if ok {
		*to = got
	}
}

// inferShape infers the shapes of a loop from the shapes of its body.
func (l *loop) inferShape(in, out []dtype.Shape) error {
	g, m := l.full().graph, merger[dtype.Shape]{f: &shapeFact}
	rows := l.steps(in, out)
	bin, bout := make([]dtype.Shape, len(l.from)), make([]dtype.Shape, len(g.Outputs))
	for j, i := range l.first {
		m.into(&in[i], out[l.outs+j], "state", j)
		m.into(&out[l.outs+j], in[i], "state", j)
	}
	for k, s := range l.from {
		bin[k] = in[s.input]
		if s.kind == row {
			bin[k] = tail(in[s.input])
		}
	}
	for i := range bout {
		bout[i] = out[i]
		if l.stacked(i) {
			bout[i] = tail(out[i])
		}
	}
	for i, s := range l.from {
		if s.kind == row && in[s.input] != nil && len(in[s.input]) == 0 {
			return op.Errorf(fmt.Sprint("data", i), "a scalar, want rows")
		}
	}
	if m.err != nil {
		return m.err
	}
	if err := inferShapes(g, bin, bout); err != nil {
		return err
	}
	for k, s := range l.from {
		v := bin[k]
		switch {
		case s.kind == row && len(in[s.input]) == 1:
			v = dtype.Shape{rows}
		case s.kind == row:
			v = prepend(rows, v)
		}
		m.into(&in[s.input], v, "input", s.input)
		if s.kind == state {
			m.into(&out[l.outs+s.state], v, "state", s.state)
		}
	}
	for i, v := range bout {
		if l.stacked(i) {
			v = prepend(rows, v)
		}
		m.into(&out[i], v, "output", i)
	}
	if l.counted {
		m.into(&in[l.inputs-1], dtype.Shape{1}, "input", l.inputs-1)
	}
	if l.cond != nil {
		m.into(&out[len(out)-1], dtype.Shape{1}, "output", len(out)-1)
		if err := inferPred(l.cond, l.condOf, in); err != nil {
			return err
		}
	}
	return m.err
}

// stacked reports whether output i has a row for each step: data and saved values have.
func (l *loop) stacked(i int) bool { return i < l.outs || i >= l.outs+l.states() }

// inferPred infers the shapes of the inputs of a condition, whose output is one number.
func inferPred(g *op.Graph, from []source, in []dtype.Shape) error {
	m := merger[dtype.Shape]{f: &shapeFact}
	bin, bout := make([]dtype.Shape, len(from)), make([]dtype.Shape, 1)
	for k, s := range from {
		bin[k] = in[s.input]
	}
	if err := inferShapes(g, bin, bout); err != nil {
		return err
	}
	for k, s := range from {
		m.into(&in[s.input], bin[k], "input", s.input)
	}
	if bout[0].Known() && bout[0].Size() != 1 {
		return op.Errorf("subgraphs", "the condition has the shape %v, want one element", bout[0])
	}
	return m.err
}

// steps returns the number of rows of data and outputs, -1 if unknown.
func (l *loop) steps(in, out []dtype.Shape) int {
	if l.max >= 0 {
		return l.max
	}
	for _, s := range l.from {
		if s.kind == row && len(in[s.input]) > 0 && in[s.input][0] >= 0 {
			return in[s.input][0]
		}
	}
	for i, s := range out {
		if i < len(l.full().graph.Outputs) && l.stacked(i) && len(s) > 0 && s[0] >= 0 {
			return s[0]
		}
	}
	return -1
}

// tail is the shape of one row. As in MXNet the row of a vector has one axis of one element.
func tail(s dtype.Shape) dtype.Shape {
	switch len(s) {
	case 0:
		return nil
	case 1:
		return dtype.Shape{1}
	}
	return append(dtype.Shape{}, s[1:]...)
}

// prepend is the shape of n rows, unknown where the rank of a row is unknown.
func prepend(n int, s dtype.Shape) dtype.Shape {
	if s == nil {
		return nil
	}
	return append(dtype.Shape{n}, s...)
}

// inferType infers the element types of a loop.
func (l *loop) inferType(in, out []dtype.Type) error {
	g, m := l.full().graph, merger[dtype.Type]{f: &typeFact}
	for j, i := range l.first {
		m.into(&in[i], out[l.outs+j], "state", j)
		m.into(&out[l.outs+j], in[i], "state", j)
	}
	bin := make([]dtype.Type, len(l.from))
	for k, s := range l.from {
		bin[k] = in[s.input]
	}
	bout := append([]dtype.Type{}, out[:len(g.Outputs)]...)
	if m.err != nil {
		return m.err
	}
	if err := inferTypes(g, bin, bout); err != nil {
		return err
	}
	for k, s := range l.from {
		m.into(&in[s.input], bin[k], "input", s.input)
		if s.kind == state {
			m.into(&out[l.outs+s.state], bin[k], "state", s.state)
		}
	}
	for i, v := range bout {
		m.into(&out[i], v, "output", i)
	}
	if l.counted {
		m.into(&in[l.inputs-1], dtype.Int64, "input", l.inputs-1)
	}
	if l.cond != nil {
		m.into(&out[len(out)-1], dtype.Int64, "output", len(out)-1)
		if err := inferPredType(l.cond, l.condOf, in); err != nil {
			return err
		}
	}
	return m.err
}

// inferPredType infers the types of the inputs of a condition.
func inferPredType(g *op.Graph, from []source, in []dtype.Type) error {
	m := merger[dtype.Type]{f: &typeFact}
	bin, bout := make([]dtype.Type, len(from)), []dtype.Type{dtype.Unknown}
	for k, s := range from {
		bin[k] = in[s.input]
	}
	if err := inferTypes(g, bin, bout); err != nil {
		return err
	}
	for k, s := range from {
		m.into(&in[s.input], bin[k], "input", s.input)
	}
	return m.err
}
