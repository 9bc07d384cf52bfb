package ndarray

import (
	"slices"

	"gomx/op"
)

// retained tells, per input and output of an operation, whether its derivative reads the values.
type retained struct{ in, out []bool }

// retains returns the operands that the derivative of p's operator reads. The first call computes
// them from the operator's gradient.
func (p *plan) retains() *retained {
	if k := p.keeps.Load(); k != nil {
		return k
	}
	n := &op.Node{Op: p.op, Name: p.op.Name, Params: p.params, In: make([]op.Entry, len(p.in))}
	need := make([]bool, len(p.in))
	for i := range n.In {
		n.In[i] = op.Var(p.inputs[i].Name).Entry(0)
		need[i] = !p.updates[i]
	}
	k := &retained{in: make([]bool, len(p.in)), out: make([]bool, len(p.out))}
	all, first := make([]op.Entry, len(p.out)), make([]op.Entry, len(p.out))
	for i := range all {
		all[i] = op.Var("head").Entry(0)
	}
	first[0] = all[0]
	for _, heads := range [][]op.Entry{all, first} {
		if grads, err := op.Gradient(n, heads, need); err == nil {
			k.mark(n, grads)
		}
	}
	p.keeps.Store(k)
	return k
}

// mark adds the operands of n whose values, not only whose shapes, the gradients read.
func (k *retained) mark(n *op.Node, grads []op.Entry) {
	read := func(e op.Entry) {
		if e.Node == n {
			k.out[e.Index] = true
		}
		for i, in := range n.In {
			if e == in {
				k.in[i] = true
			}
		}
	}
	grads = slices.DeleteFunc(slices.Clone(grads), func(e op.Entry) bool { return !e.Valid() })
	for _, e := range grads {
		read(e)
	}
	for _, g := range op.Topo(grads) {
		if g == n || g.IsVar() {
			continue
		}
		for i, e := range g.In {
			if !slices.Contains(g.Op.Ignores, i) {
				read(e)
			}
		}
	}
}
