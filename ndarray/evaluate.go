package ndarray

import (
	"fmt"
	"slices"

	"gomx/op"
	"gomx/op/prim"
)

// evaluate computes the gradient entries, which belong to the targets in order.
func (b *backprop) evaluate(results []op.Entry, head *Array) error {
	forward := map[*op.Node]bool{}
	for _, s := range b.steps {
		forward[&s.node] = true
	}
	// The gradients of the last layers come first, as they would in a loop over the layers.
	last := slices.Clone(results)
	slices.Reverse(last)
	last = slices.DeleteFunc(last, func(e op.Entry) bool { return !e.Valid() })
	var order []*op.Node
	for _, n := range op.Topo(last) {
		if n.IsVar() || forward[n] {
			continue
		}
		order = append(order, n)
		for _, e := range n.In {
			b.uses[e]++
		}
	}
	b.aim(results, forward)
	for _, n := range order {
		if err := b.step(n, head); err != nil {
			return err
		}
	}
	for i, t := range b.targets {
		if err := b.store(t, results[i]); err != nil {
			return err
		}
	}
	return nil
}

// aim lets gradients that nobody else wants be computed in place where they are to be stored.
func (b *backprop) aim(results []op.Entry, forward map[*op.Node]bool) {
	wanted := map[op.Entry]int{}
	for _, e := range results {
		wanted[e]++
	}
	for i, e := range results {
		t := b.targets[i]
		if e.Valid() && !e.Node.IsVar() && !forward[e.Node] && wanted[e] == 1 && t.req == GradWrite {
			b.direct[e] = t.grad
		}
	}
	for _, e := range results {
		b.uses[e]++
	}
}

// step computes one node of the gradient.
func (b *backprop) step(n *op.Node, head *Array) error {
	iv := invocation{op: n.Op, params: n.Params, in: make([]*Array, len(n.In)),
		eng: head.chunk.eng, dev: head.chunk.dev, untaped: true, train: b.tape.train}
	for i, e := range n.In {
		a, err := b.value(e, slices.Contains(n.Op.Ignores, i))
		if err != nil {
			return err
		}
		iv.in[i] = a
	}
	outs := n.NumOutputs()
	for i := range outs {
		if g := b.direct[n.Entry(i)]; g != nil {
			if iv.out == nil {
				iv.out = make([]*Array, outs)
			}
			iv.out[i] = g
		}
	}
	p, err := iv.prepare()
	if err != nil {
		return op.WithOp(err, n.Op.Name, n.Name, "")
	}
	out := make([]*Array, outs)
	if err := iv.push(p, out); err != nil {
		return op.WithOp(err, n.Op.Name, n.Name, "")
	}
	for i, a := range out {
		e := n.Entry(i)
		b.values[e] = saved{array: a}
		if b.uses[e] == 0 {
			b.drop(e)
		}
	}
	for _, e := range n.In {
		if b.uses[e]--; b.uses[e] == 0 {
			b.drop(e)
		}
	}
	return nil
}

// value returns the array of an entry that a gradient node reads; shapeOnly says that its values do
// not matter.
func (b *backprop) value(e op.Entry, shapeOnly bool) (*Array, error) {
	v, ok := b.values[e]
	if !ok {
		return nil, op.Errorf("", "the gradient reads %v, which was not recorded", e)
	}
	if shapeOnly {
		return v.array, nil
	}
	blame := func(format string, args ...any) error {
		err := op.Errorf("", format, args...)
		if who := b.names[e]; who != nil {
			return op.WithOp(op.Errorf(who.Arg, format, args...), who.Op, "", "")
		}
		return err
	}
	if v.array.chunk == nil {
		return nil, blame("the gradient reads values that were not kept")
	}
	if v.checked && v.array.chunk.writes.Load() != v.version {
		name := ""
		if n := v.array.chunk.v.Name(); n != "" {
			name = fmt.Sprintf(" %q", n)
		}
		return nil, blame("the array%s of shape %v was overwritten after the tape had recorded it", name, v.array.shape)
	}
	return v.array, nil
}

// drop closes a computed gradient that nobody needs any more.
func (b *backprop) drop(e op.Entry) {
	if v, ok := b.values[e]; ok && b.names[e] == nil && b.direct[e] == nil && !e.Node.IsVar() {
		v.array.Close()
		delete(b.values, e)
	}
}

// store puts a gradient where it is wanted; the zero entry means zero.
func (b *backprop) store(t target, e op.Entry) error {
	if !e.Valid() {
		if t.req == GradWrite {
			fill(t.grad, 0)
		}
		return nil
	}
	if b.direct[e] != nil {
		return nil
	}
	v, err := b.value(e, false)
	if err != nil {
		return err
	}
	if t.req == GradWrite {
		copyArray(t.grad, v)
	} else if _, err := Invoke(prim.ElemwiseAdd.Op, nil, []*Array{t.grad, v.Detach()}, []*Array{t.grad}); err != nil {
		return err
	}
	if b.uses[e]--; b.uses[e] == 0 {
		b.drop(e)
	}
	return nil
}
