package op

import "slices"

// Through returns the gradients of the node's inputs where the node computes the same as formula:
// formula makes nodes from the inputs, and the gradients flow back through these. The zero Entry
// among the formula's results, and outputs that it leaves out, let no gradient flow. Operators in
// the formula must be differentiable. It serves operators whose second derivative would be long: a
// backward operator spells the work of its kernel as nodes.
func (g *Grad) Through(formula func(in []Entry) []Entry) []Entry {
	out := formula(g.Node.In)
	nameBackward(g.Node, out)
	r := &retrace{inputs: map[Entry]bool{}, needs: map[*Node]bool{}, grads: map[Entry]Entry{},
		seen: map[*Node]bool{}}
	for i, e := range g.Node.In {
		if i >= len(g.Need) || g.Need[i] {
			r.inputs[e] = true
		}
	}
	for i, e := range out {
		if !e.Valid() || !g.OutGrad[i].Valid() {
			continue
		}
		if r.add(e, g.OutGrad[i]); !slices.Contains(g.Node.In, e) {
			r.visit(g.Node.In, e.Node)
		}
	}
	for _, n := range slices.Backward(r.order) {
		r.back(n)
	}
	in := make([]Entry, len(g.Node.In))
	for i, e := range g.Node.In {
		in[i] = r.grads[e]
		// an entry that is several inputs has all of its gradient at the first of them
		delete(r.grads, e)
	}
	return in
}

// Backprop returns the gradients of wrt, given the gradients heads that flow into outs: the zero
// Entry where none flows. It is the reverse accumulation of Through for a graph inside an operator,
// whose variables are among wrt or let no gradient flow. An operator without gradient is an error
// that names it.
func Backprop(outs, heads, wrt []Entry) (grads []Entry, err error) {
	defer Recover(&err)
	r := &retrace{inputs: map[Entry]bool{}, needs: map[*Node]bool{}, grads: map[Entry]Entry{},
		seen: map[*Node]bool{}}
	for _, e := range wrt {
		r.inputs[e] = true
	}
	for i, e := range outs {
		if !heads[i].Valid() {
			continue
		}
		if r.add(e, heads[i]); !r.inputs[e] {
			r.visit(wrt, e.Node)
		}
	}
	for _, n := range slices.Backward(r.order) {
		r.back(n)
	}
	grads = make([]Entry, len(wrt))
	for i, e := range wrt {
		grads[i] = r.grads[e]
	}
	return grads, nil
}

// retrace is reverse accumulation over the nodes of a formula.
type retrace struct {
	inputs map[Entry]bool // whose gradients are wanted
	order  []*Node        // the formula's nodes, each after its inputs
	seen   map[*Node]bool
	needs  map[*Node]bool // nodes that the gradients of inputs flow through
	grads  map[Entry]Entry
}

// visit lists n and the nodes that it is computed from, down to the entries in ends.
func (r *retrace) visit(ends []Entry, n *Node) {
	if r.seen[n] {
		return
	}
	r.seen[n] = true
	for _, e := range n.In {
		if r.inputs[e] {
			r.needs[n] = true
		}
		if !slices.Contains(ends, e) {
			r.visit(ends, e.Node)
			r.needs[n] = r.needs[n] || r.needs[e.Node]
		}
	}
	r.order = append(r.order, n)
}

// add adds to the gradient of an entry.
func (r *retrace) add(to, grad Entry) {
	if have := r.grads[to]; have.Valid() {
		n, err := NewNode(Lookup("elemwise_add"), "", nil, have, grad)
		if err != nil {
			panic(err)
		}
		grad = n.Entry(0)
	}
	r.grads[to] = grad
}

// back takes the gradients of n's outputs to its inputs.
func (r *retrace) back(n *Node) {
	if n.IsVar() || !r.needs[n] {
		return
	}
	heads, flows := make([]Entry, n.NumOutputs()), false
	for i := range heads {
		heads[i] = r.grads[n.Entry(i)]
		flows = flows || heads[i].Valid()
	}
	if !flows {
		return
	}
	need := make([]bool, len(n.In))
	for i, e := range n.In {
		need[i] = (r.inputs[e] || r.needs[e.Node]) && !n.Mutates(i)
	}
	in, err := Gradient(n, heads, need)
	if err != nil {
		panic(err) // a formula of operators that have no gradient
	}
	for i, e := range in {
		if need[i] && e.Valid() {
			r.add(n.In[i], e)
		}
	}
}
