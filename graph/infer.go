package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/op"
)

// InferShapes fills in the unknown shapes of all entries, starting from those that are given
// (normally of some variables), by sweeping forward and backward until nothing more is learned.
// Shapes may remain unknown; contradictions are errors that name the operator.
func InferShapes(g *Indexed, shapes []dtype.Shape) error {
	return sweep(g, func(i int) (bool, error) { return inferNode(g, i, shapes) })
}

// InferTypes fills in the unknown element types of all entries in the same way as InferShapes fills
// in shapes.
func InferTypes(g *Indexed, types []dtype.Type) error {
	return sweep(g, func(i int) (bool, error) { return inferNodeType(g, i, types) })
}

// sweep calls infer on every operator, forward and backward in turn, until a whole sweep changes
// nothing.
func sweep(g *Indexed, infer func(i int) (changed bool, err error)) error {
	for forward := true; ; forward = !forward {
		changed := false
		for k := range g.Nodes {
			i := k
			if !forward {
				i = len(g.Nodes) - 1 - k
			}
			if g.Nodes[i].IsVar() {
				continue
			}
			c, err := infer(i)
			if err != nil {
				return err
			}
			changed = changed || c
		}
		if !changed {
			return nil
		}
	}
}

// inferNode runs the shape inference of node i and stores the shapes of its inputs and outputs.
func inferNode(g *Indexed, i int, shapes []dtype.Shape) (changed bool, err error) {
	n := g.Nodes[i]
	in := make([]dtype.Shape, len(n.In))
	for k, e := range n.In {
		in[k] = shapes[g.Entry(e)].Clone()
	}
	from, to := g.Out(i)
	out := make([]dtype.Shape, to-from)
	for k := range out {
		out[k] = shapes[from+k].Clone()
	}
	given := append([]dtype.Shape{}, in...)
	if err := n.Op.InferShape(n.Params, in, out); err != nil {
		return false, inferError(n, err, given)
	}
	for k, e := range n.In {
		c, err := learn(&shapes[g.Entry(e)], in[k])
		if err != nil {
			return false, inferError(n, op.Errorf(inputName(n, k), "%v", err), given)
		}
		changed = changed || c
	}
	for k := range out {
		c, err := learn(&shapes[from+k], out[k])
		if err != nil {
			return false, inferError(n, err, given)
		}
		changed = changed || c
	}
	return changed, nil
}

// learn merges an inferred shape into *s.
func learn(s *dtype.Shape, inferred dtype.Shape) (changed bool, err error) {
	if s.Known() && s.Equal(inferred) {
		return false, nil
	}
	m, ok := s.Merge(inferred)
	if !ok {
		return false, fmt.Errorf("shape %v, want %v", *s, inferred)
	}
	changed = !m.Equal(*s)
	*s = m
	return changed, nil
}

// inferError adds the node and the shapes of its inputs to an error.
func inferError(n *op.Node, err error, in []dtype.Shape) error {
	e := op.WithOp(err, n.Op.Name, n.Name, n.Site)
	var b strings.Builder
	for k, s := range in {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %v", inputName(n, k), s)
	}
	var named *op.Error
	if errors.As(e, &named) {
		named.Msg += " (inputs: " + b.String() + ")"
	}
	return e
}

func inputName(n *op.Node, k int) string {
	if names := n.Op.Inputs(n.Params); k < len(names) {
		return names[k].Name
	}
	return fmt.Sprintf("input %d", k)
}

// inferNodeType runs the type inference of node i and stores the types of its inputs and outputs.
func inferNodeType(g *Indexed, i int, types []dtype.Type) (changed bool, err error) {
	n := g.Nodes[i]
	in := make([]dtype.Type, len(n.In))
	for k, e := range n.In {
		in[k] = types[g.Entry(e)]
	}
	from, to := g.Out(i)
	out := append([]dtype.Type{}, types[from:to]...)
	if err := n.Op.InferType(n.Params, in, out); err != nil {
		return false, op.WithOp(err, n.Op.Name, n.Name, n.Site)
	}
	store := func(t *dtype.Type, inferred dtype.Type, what string) error {
		if *t == inferred || inferred == dtype.Unknown {
			return nil
		}
		if *t != dtype.Unknown {
			return op.WithOp(op.Errorf(what, "element type %v, want %v", *t, inferred), n.Op.Name,
				n.Name, n.Site)
		}
		*t, changed = inferred, true
		return nil
	}
	for k, e := range n.In {
		if err := store(&types[g.Entry(e)], in[k], inputName(n, k)); err != nil {
			return false, err
		}
	}
	for k := range out {
		if err := store(&types[from+k], out[k], "output"); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// Stored infers the storage types of the entries that outs depend on, from those of the variables.
// The map has the sparse entries only. Where an operator has no kernel for the storage types of its
// inputs, they are made dense, and so are its outputs: MXNet infers the same.
func Stored(outs []op.Entry, vars func(v *op.Node) op.Storage) map[op.Entry]op.Storage {
	known := map[op.Entry]op.Storage{}
	for _, n := range op.Topo(outs) {
		stored := []op.Storage{op.Dense}
		if n.IsVar() {
			stored[0] = vars(n)
		} else {
			stored, _ = n.Op.OutStorage(n.Params, storedInputs(n, known))
		}
		for i, s := range stored {
			if s != op.Dense {
				known[n.Entry(i)] = s
			}
		}
	}
	return known
}

// storedInputs lists the storage types of the inputs of n.
func storedInputs(n *op.Node, known map[op.Entry]op.Storage) []op.Storage {
	in := make([]op.Storage, len(n.In))
	for i, e := range n.In {
		in[i] = known[e]
	}
	return in
}

// StoredGradients infers the storage types of the gradients of the outputs by entries as MXNet
// does, where gradients with the storage types of the outputs flow into these. It reports whether
// one of them is made of other sparse values, as a sum is, or has another storage type than the
// nodes that Gradient makes give it.
func StoredGradients(outs, wrt []op.Entry, vars func(v *op.Node) op.Storage) (stored []op.Storage,
	composed bool, err error) {
	known := Stored(outs, vars)
	grads, err := gradientNodes(outs, wrt, known)
	if err != nil {
		return nil, false, err
	}
	var valid []op.Entry
	for _, e := range grads {
		if e.Valid() {
			valid = append(valid, e)
		}
	}
	made := Stored(valid, vars)
	stored = flowBack(outs, wrt, known)
	for i, e := range grads {
		composed = composed || e.Valid() && (stored[i] != made[e] ||
			stored[i] != op.Dense && !op.AllDense(storedInputs(e.Node, made)))
	}
	return stored, composed, nil
}

// gradientNodes makes the nodes of the gradients by wrt. The nodes know the storage types of the
// operands, on which their operators depend.
func gradientNodes(outs, wrt []op.Entry, known map[op.Entry]op.Storage) ([]op.Entry, error) {
	twins := map[*op.Node]*op.Node{}
	twin := func(e op.Entry) op.Entry {
		if n := twins[e.Node]; n != nil {
			e.Node = n
		}
		return e
	}
	for _, n := range op.Topo(outs) {
		if n.IsVar() {
			continue
		}
		m := *n
		m.In = make([]op.Entry, len(n.In))
		for i, e := range n.In {
			m.In[i] = twin(e)
		}
		if in := storedInputs(n, known); !op.AllDense(in) {
			m.Storage = in
		}
		twins[n] = &m
	}
	heads, flow := make([]op.Entry, len(outs)), make([]op.Entry, len(outs))
	for i, e := range outs {
		heads[i], flow[i] = twin(e), op.Var("head").Entry(0)
	}
	to := make([]op.Entry, len(wrt))
	for i, e := range wrt {
		to[i] = twin(e)
	}
	return Gradient(heads, flow, to)
}

// constant reports whether no gradient flows through n to any of its inputs.
func constant(n *op.Node) bool {
	if !n.Op.HasGrad() {
		return true
	}
	heads := make([]op.Entry, n.NumOutputs())
	for i := range heads {
		heads[i] = op.Var("head").Entry(0)
	}
	grads, err := op.Gradient(n, heads, nil)
	return err == nil && !slices.ContainsFunc(grads, op.Entry.Valid)
}

// flowBack returns the storage types of the gradients by wrt. An operator says which its gradients
// have; the zero gradient of a constant operator has the storage type of the input. A sum of
// several is row_sparse where all are, and otherwise dense.
func flowBack(outs, wrt []op.Entry, known map[op.Entry]op.Storage) []op.Storage {
	flow := map[op.Entry]op.Storage{}
	add := func(e op.Entry, s op.Storage) {
		if before, ok := flow[e]; ok && (before != s || s == op.CSR) {
			s = op.Dense
		}
		flow[e] = s
	}
	for _, e := range outs {
		add(e, known[e])
	}
	order := op.Topo(outs)
	for _, n := range slices.Backward(order) {
		if n.IsVar() {
			continue
		}
		heads, reached := make([]op.Storage, n.NumOutputs()), false
		for i := range heads {
			s, ok := flow[n.Entry(i)]
			if reached = reached || ok; !ok {
				s = known[n.Entry(i)]
			}
			heads[i] = s
		}
		if !reached {
			continue
		}
		grads := storedInputs(n, known)
		if n.Op.SaysGradStorage() || !constant(n) {
			grads = n.Op.GradStorage(n.Params, grads, heads)
		}
		for k, e := range n.In {
			add(e, grads[k])
		}
	}
	stored := make([]op.Storage, len(wrt))
	for i, e := range wrt {
		stored[i] = flow[e]
	}
	return stored
}
