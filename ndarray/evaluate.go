package ndarray

import (
	"fmt"
	"slices"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
	"gomx/op/prim"
)

// evaluate computes the gradients and stores them: results[i] is the gradient of target i. head
// gives engine and device.
func (b *backprop) evaluate(results []op.Entry, head *Array) error {
	// The gradients of the last layers come first, as they would in a loop over the layers.
	last := slices.Clone(results)
	slices.Reverse(last)
	last = slices.DeleteFunc(last, func(e op.Entry) bool { return !e.Valid() })
	var order []*op.Node
	for _, n := range op.Topo(last) {
		if n.IsVar() || b.forward[n].step != nil {
			continue
		}
		order = append(order, n)
		for _, e := range n.In {
			b.uses[e]++
		}
	}
	b.aim(results)
	for _, n := range order {
		if err := b.step(n, head); err != nil {
			return err
		}
	}
	for i := range b.targets {
		if err := b.store(&b.targets[i], results[i]); err != nil {
			return err
		}
	}
	return nil
}

// aim marks gradients that belong to one target only, so that they are computed directly into its
// array.
func (b *backprop) aim(results []op.Entry) {
	wanted := map[op.Entry]int{}
	for _, e := range results {
		wanted[e]++
	}
	for i, e := range results {
		t := b.targets[i]
		if e.Valid() && !e.Node.IsVar() && b.forward[e.Node].step == nil && wanted[e] == 1 &&
			t.req == GradWrite && !b.record {
			b.direct[e] = t.grad
		}
	}
	for _, e := range results {
		b.uses[e]++
	}
}

// step computes one node of the gradient graph.
func (b *backprop) step(n *op.Node, head *Array) error {
	in := make([]*Array, len(n.In))
	var aliases []*Array
	for i, e := range n.In {
		a, err := b.value(e, slices.Contains(n.Op.Ignores, i))
		if err != nil {
			return err
		}
		if in[i] = a; b.record {
			if in[i] = b.traced(e, a); in[i] != a {
				aliases = append(aliases, in[i])
			}
		}
	}
	out := make([]*Array, n.NumOutputs())
	var err error
	if n.Op == functionGrad.Op {
		err = b.call(n, in, out)
	} else {
		err = b.invoke(n, head, in, out)
		for _, a := range aliases {
			a.Close()
		}
	}
	if err != nil {
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

// invoke applies the operator of a node of the gradient graph.
func (b *backprop) invoke(n *op.Node, head *Array, in, out []*Array) error {
	iv := invocation{op: n.Op, params: n.Params, in: in,
		eng: head.chunk.eng, dev: head.chunk.dev, untaped: !b.record, train: b.tape.train}
	for i := range out {
		if g := b.direct[n.Entry(i)]; g != nil {
			if iv.out == nil {
				iv.out = make([]*Array, len(out))
			}
			iv.out[i] = g
		}
	}
	p, err := iv.prepare()
	if err != nil {
		return err
	}
	return iv.push(p, out)
}

// traced returns the value of an entry with its place on the tape.
func (b *backprop) traced(e op.Entry, a *Array) *Array {
	from, ok := b.forward[e.Node]
	if !ok {
		return a // a gradient, which is on the tape already, or a constant
	}
	t := &Array{shape: a.shape, dtype: a.dtype}
	if a.chunk != nil {
		t = a.alias("Gradients")
	}
	t.trace = trace{tape: b.tape, step: from.step, index: e.Index}
	t.leaf.Store(from.leaf)
	return t
}

// value returns the array of an entry that a gradient node reads; shapeOnly says that the node
// reads the shape only.
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
	if v.overwritten() {
		return nil, blame("%s", v.complaint())
	}
	return v.array, nil
}

// overwritten reports whether an operand was written since the tape recorded it.
func (v *saved) overwritten() bool {
	return v.checked && v.array.chunk.writes.Load() != v.version
}

// complaint is the message of an error about an operand that was overwritten.
func (v *saved) complaint() string {
	name := ""
	if n := v.array.chunk.v.Name(); n != "" {
		name = fmt.Sprintf(" %q", n)
	}
	return fmt.Sprintf("the array%s of shape %v was overwritten after the tape had recorded it", name,
		v.array.shape)
}

// drop closes a computed gradient that no node and no target needs any more.
func (b *backprop) drop(e op.Entry) {
	if v, ok := b.values[e]; ok && b.names[e] == nil && b.direct[e] == nil && !e.Node.IsVar() {
		v.array.Close()
		delete(b.values, e)
	}
}

// store writes a gradient into the target's array; the zero entry means zero.
func (b *backprop) store(t *target, e op.Entry) error {
	if !e.Valid() {
		if t.req == GradWrite {
			fill(t.grad, 0)
			b.place(t.grad)
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
	if b.record {
		from := b.traced(e, v)
		t.grad.Close()
		t.grad = from.Copy()
		b.place(t.grad)
		if from != v {
			from.Close()
		}
	} else if t.req == GradWrite {
		if !e.Node.IsVar() {
			noticeRows(t.grad, v, e.Node.Op.Name)
		}
		copyArray(t.grad, v)
	} else if _, err := Invoke(prim.ElemwiseAdd.Op, nil, []*Array{t.grad, v.Detach()},
		[]*Array{t.grad}); err != nil {
		return err
	}
	if b.uses[e]--; b.uses[e] == 0 {
		b.drop(e)
	}
	return nil
}

// place puts a gradient on the tape if gradients are recorded, also a gradient that depends on
// nothing.
func (b *backprop) place(g *Array) {
	if b.record && g.trace.tape == nil {
		g.trace.tape = b.tape
	}
}

// Graph is a graph to be evaluated operator by operator.
type Graph struct {
	Outputs []op.Entry
	Values  map[*op.Node]*Array // of the variables
	Engine  *engine.Engine      // for operators without inputs
	Device  device.Device       // for operators without inputs
	// Seed returns the place in the random stream from which a node draws; nil: the process-wide
	// stream goes on.
	Seed func(n *op.Node) op.Seed
}

// Evaluate applies the operators of a graph as if a program had called them one after the other:
// on the tape of the arrays, and also while they are traced. The mode is the tape's. Arrays between
// are released as soon as nothing reads them.
func Evaluate(g Graph) ([]*Array, error) {
	values, uses := map[op.Entry]*Array{}, map[op.Entry]int{}
	order := op.Topo(g.Outputs)
	for _, n := range order {
		for _, e := range n.In {
			uses[e]++
		}
	}
	for _, e := range g.Outputs {
		uses[e]++
	}
	for _, n := range order {
		if !n.IsVar() {
			if err := g.apply(n, values); err != nil {
				return nil, op.WithOp(err, n.Op.Name, n.Name, n.Site)
			}
		} else if v := g.Values[n]; v != nil {
			values[n.Entry(0)] = v
		} else {
			return nil, &op.Error{Op: "Evaluate", Arg: n.Name, Msg: "the variable has no value"}
		}
		for _, e := range n.In {
			if uses[e]--; uses[e] == 0 && !e.Node.IsVar() {
				values[e].Close()
				delete(values, e)
			}
		}
		for i := range n.NumOutputs() {
			if e := n.Entry(i); uses[e] == 0 && !n.IsVar() {
				values[e].Close()
				delete(values, e)
			}
		}
	}
	out := make([]*Array, len(g.Outputs))
	for i, e := range g.Outputs {
		out[i] = values[e]
	}
	return out, nil
}

// apply computes the outputs of a node.
func (g *Graph) apply(n *op.Node, values map[op.Entry]*Array) error {
	in := make([]*Array, len(n.In))
	for i, e := range n.In {
		in[i] = values[e]
	}
	iv := invocation{op: n.Op, params: n.Params, in: in, grad: n.Grad}
	if len(in) == 0 {
		iv.eng, iv.dev = g.Engine, g.Device
	}
	if g.Seed != nil && n.Op.Random {
		iv.seed = op.Some(g.Seed(n))
	}
	p, err := iv.prepare()
	if err != nil {
		return err
	}
	out := make([]*Array, len(p.out))
	if err := iv.push(p, out); err != nil {
		return err
	}
	for i, a := range out {
		values[n.Entry(i)] = a
	}
	return nil
}
