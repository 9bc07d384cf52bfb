package graph

import (
	"cmp"
	"maps"
	"slices"

	"gomx/device"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// Gradient extends a graph by its derivative and returns, for each entry of wrt, the entry of its
// gradient; the zero Entry where the heads do not depend on it. headGrads holds the gradient
// flowing into each head; where it is short or holds the zero Entry, ones are meant (losses
// ignore them). The new nodes use forward entries as inputs, so planning the whole graph keeps
// alive only the forward values that the derivative reads.
//
// It is reverse accumulation over the topological order, as in nnvm's gradient pass. The terms of
// sums of gradients come in the reverse of the order in which the program recorded their nodes, if
// that is known of all nodes: the sums are then the same, bit for bit, whatever part of a program
// is one graph. Control dependencies do not change the order.
func Gradient(heads, headGrads, wrt []op.Entry) ([]op.Entry, error) {
	b := &backprop{order: byData(heads), grads: map[op.Entry][]op.Entry{},
		needs: map[*op.Node]bool{}, known: map[*op.Node]bool{}}
	for _, n := range b.order {
		b.known[n] = true
	}
	b.markNeeded(wrt)
	b.asRecorded()
	for i, h := range heads {
		if !b.needs[h.Node] {
			continue
		}
		head := op.Entry{}
		if i < len(headGrads) {
			head = headGrads[i]
		}
		if !head.Valid() {
			head = b.apply(prim.OnesLike.Op, h.Node.Name+"_head_grad", h)
			b.follow(h.Node, 0, head)
		}
		b.grads[h] = append(b.grads[h], head)
	}
	for i := len(b.order) - 1; i >= 0; i-- {
		if err := b.visit(b.order[i], len(b.order)-i); err != nil {
			return nil, err
		}
	}
	out := make([]op.Entry, len(wrt))
	for i, e := range wrt {
		out[i] = b.sum(e)
	}
	return out, nil
}

// asRecorded puts the nodes through which gradients flow into the order in which they were
// recorded, if all were, and if no pass has put a later node before an earlier one.
func (b *backprop) asRecorded() {
	for _, n := range b.order {
		if n.IsVar() || !b.needs[n] {
			continue
		}
		if n.Serial == 0 || slices.ContainsFunc(n.In, func(e op.Entry) bool {
			return b.needs[e.Node] && !e.Node.IsVar() && e.Node.Serial >= n.Serial
		}) {
			return
		}
	}
	slices.SortStableFunc(b.order, func(m, n *op.Node) int { return cmp.Compare(m.Serial, n.Serial) })
}

// backprop is the state of one run of Gradient.
type backprop struct {
	order []*op.Node              // forward nodes, inputs first
	grads map[op.Entry][]op.Entry // contributions to the gradient of an entry
	needs map[*op.Node]bool       // nodes through which gradients flow to wrt
	known map[*op.Node]bool       // forward nodes, and gradient nodes that follow has visited
}

// markNeeded finds the nodes that depend on wrt.
func (b *backprop) markNeeded(wrt []op.Entry) {
	for _, e := range wrt {
		b.needs[e.Node] = true
	}
	for _, n := range b.order {
		for k, e := range n.In {
			if b.needs[e.Node] && !n.Mutates(k) {
				b.needs[n] = true
			}
		}
	}
}

// visit propagates the gradients of n's outputs to its inputs, as the turn-th of all nodes.
func (b *backprop) visit(n *op.Node, turn int) error {
	if n.IsVar() || !b.needs[n] {
		return nil
	}
	need, any := make([]bool, len(n.In)), false
	for k, e := range n.In {
		need[k] = b.needs[e.Node] && !n.Mutates(k)
		any = any || need[k]
	}
	outGrad, flows := make([]op.Entry, n.NumOutputs()), false
	for i := range outGrad {
		outGrad[i] = b.sum(n.Entry(i))
		flows = flows || outGrad[i].Valid()
	}
	if !any || !flows {
		return nil
	}
	in, err := op.Gradient(n, outGrad, need)
	if err != nil {
		return err
	}
	b.follow(n, turn, in...)
	for k, e := range in {
		if need[k] && e.Valid() {
			b.grads[n.In[k]] = append(b.grads[n.In[k]], e)
		}
	}
	return nil
}

// follow puts the new nodes below entries into the group of n, whose gradients they compute, and
// gives them a turn; 0 is for nodes that run as soon as they can.
func (b *backprop) follow(n *op.Node, turn int, entries ...op.Entry) {
	group := Group(n)
	for _, e := range entries {
		m := e.Node
		if m == nil || m.IsVar() || b.known[m] {
			continue
		}
		b.known[m] = true
		m.Turn = turn
		if group != "" && Group(m) == "" {
			attrs := map[string]string{GroupAttr: group}
			maps.Copy(attrs, m.Attrs)
			m.Attrs = attrs
		}
		b.follow(n, turn, m.In...)
	}
}

// sum combines the contributions to the gradient of e into one entry and remembers it.
func (b *backprop) sum(e op.Entry) op.Entry {
	switch parts := b.grads[e]; len(parts) {
	case 0:
		return op.Entry{}
	case 1:
		return parts[0]
	default:
		s := b.total(e.Node.Name+"_grad_sum", parts)
		b.follow(e.Node, 0, s)
		b.grads[e] = []op.Entry{s}
		return s
	}
}

// maxTerms is the number of gradients that are summed by one operator.
const maxTerms = 3

// total adds gradients up: a few by one operator, which reads each once, many one after the other
// in place, so that no more than two of them exist at a time.
func (b *backprop) total(name string, parts []op.Entry) op.Entry {
	if len(parts) <= maxTerms {
		return b.apply(prim.AddN.Op, name, parts...)
	}
	s := parts[0]
	for _, p := range parts[1:] {
		s = b.apply(prim.GradAdd.Op, name, s, p)
	}
	return s
}

// apply makes a node of one of the operators that gradients are made of.
func (b *backprop) apply(o *op.Op, name string, in ...op.Entry) op.Entry {
	n, err := op.NewNode(o, name, nil, in...)
	if err != nil {
		panic(err)
	}
	return n.Entry(0)
}

// AddInProducts lets products that make gradients of the data of dense layers add to the gradient so
// far, where the layers share their data.
func AddInProducts(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return rewrite(outs, f, sumIntoProducts)
}

func sumIntoProducts(r *rewriter, n *op.Node, in []op.Entry) op.Entry {
	if n.Op != prim.GradAdd.Op && n.Op != prim.AddN.Op && n.Op != prim.ElemwiseAdd.Op ||
		r.facts.kind(n) != device.KindCUDA {
		return op.Entry{}
	}
	var rest, products []op.Entry
	for _, e := range in {
		if r.adds(e, n) && !slices.Contains(products, e) {
			products = append(products, e)
		} else {
			rest = append(rest, e)
		}
	}
	if len(rest) == 0 {
		rest, products = products[:1], products[1:]
	}
	if len(products) == 0 {
		return op.Entry{}
	}
	s := rest[0]
	if len(rest) > 1 {
		total, err := op.NewNode(prim.AddN.Op, n.Name, nil, rest...)
		if err != nil {
			panic(err)
		}
		total.Attrs, total.Site = n.Attrs, n.Site
		s = total.Entry(0)
		r.facts.copy(s, in[0])
	}
	for _, e := range products {
		m := e.Node
		s = r.joined(nn.FullyConnectedGradSum.Op, m.Params, m, n, append(slices.Clone(m.In), s)...)
		r.facts.copy(s, e)
		for i := 1; i < m.NumOutputs(); i++ {
			r.move(m.Entry(i), s.Node.Entry(i))
		}
	}
	return s
}

// move makes new entry e take the place of an earlier one, which nothing reads but a tail.
func (r *rewriter) move(from, e op.Entry) {
	old := r.was[from]
	r.become(old, e)
	tail, _ := r.tail(old)
	for _, n := range tail {
		if r.nodes[n] == nil {
			break // its turn comes
		}
		r.keep(n, r.now(n.In))
	}
}

// adds reports whether the product that makes e, a term of n, may add to the other terms: n alone
// reads e, and the other gradients of the layer are outputs, but for operators in tails.
func (r *rewriter) adds(e op.Entry, n *op.Node) bool {
	old, ok := r.was[e]
	if !ok || e.Index != 0 || e.Node.Op != nn.FullyConnectedGrad.Op || r.uses[old] != 1 ||
		!together(e.Node, n) {
		return false
	}
	for i := 1; i < old.Node.NumOutputs(); i++ {
		if o := old.Node.Entry(i); r.uses[o] > 0 {
			if _, ok := r.tail(o); !ok {
				return false
			}
		}
	}
	return true
}

// tail returns the old nodes between old entry o and an output, such as the conversion of a gradient
// to the type of its parameter and the division by the scale of the loss. ok is false if other nodes
// or outputs read o or a value between. Because nothing depends on a tail but its output, its nodes
// may read values that are made later.
func (r *rewriter) tail(o op.Entry) (list []*op.Node, ok bool) {
	for r.uses[o] == 1 {
		if r.outs[o] {
			return list, true
		}
		n := r.readers[o]
		if n.NumOutputs() != 1 || len(n.After) > 0 || len(n.Op.Mutates) > 0 ||
			r.nodes[n] != nil && r.nodes[n].Op != n.Op {
			break
		}
		list, o = append(list, n), n.Entry(0)
	}
	return nil, false
}
