package control

import (
	"fmt"
	"slices"

	"gomx/op"
	"gomx/op/prim"
)

// full returns the body with the values that the gradient reads.
func (l *loop) full() *extended {
	isFixed, carried := make([]bool, len(l.from)), make([]bool, len(l.from))
	for k, s := range l.from {
		isFixed[k], carried[k] = s.kind == fixed, s.kind == state
	}
	return extend(l.body, isFixed, carried)
}

// backward is a gradient of a loop in the making. It is a loop over the same steps in the opposite
// direction: its rows are gradients of the outputs, saved values and the data; its states are the
// gradients of the states and the sums of the gradients of inputs that are the same in all steps.
type backward struct {
	l    *loop
	g    *op.Grad
	x    *extended
	data inputs // rows
	init inputs // states
	same inputs // inputs that are the same in all steps

	headOf map[int]op.Entry // variables of the body for gradients of outputs, by output
}

// inputs lists inputs of a gradient's body and of its operator.
type inputs struct {
	name string
	vars []*op.Node            // of the body
	from []op.Entry            // of the operator
	of   map[op.Entry]*op.Node // variables by entry that they stand for
}

// add returns the variable that stands for entry key of the forward body, and makes it if there is
// none. The operator reads it from from.
func (p *inputs) add(key, from op.Entry) op.Entry {
	if v := p.of[key]; key.Valid() && v != nil {
		return v.Entry(0)
	}
	v := op.Var(fmt.Sprintf("%s%d", p.name, len(p.vars)))
	p.vars, p.from = append(p.vars, v), append(p.from, from)
	if key.Valid() {
		if p.of == nil {
			p.of = map[op.Entry]*op.Node{}
		}
		p.of[key] = v
	}
	return v.Entry(0)
}

// grad returns the gradients of a loop's inputs.
func (l *loop) grad(g *op.Grad) []op.Entry {
	b := &backward{l: l, g: g, x: l.full(), data: inputs{name: "row"},
		init: inputs{name: "state"}, same: inputs{name: "same"}, headOf: map[int]op.Entry{}}
	wrt, grads := b.body()
	outs, states, ends := b.outputs(wrt, grads)
	if len(outs) == 0 && len(states) == 0 {
		return make([]op.Entry, len(g.Node.In))
	}
	p := scanParams{NumOutData: len(outs), Reverse: !l.reverse, Counted: l.cond != nil || l.counted}
	if l.max > 0 {
		p.Rows = l.max
	}
	body := &op.Graph{Outputs: append(outs, states...)}
	if len(b.data.vars) == 0 && !p.Counted {
		b.anyRow()
	}
	var in []op.Entry
	for _, part := range []*inputs{&b.data, &b.init, &b.same} {
		body.Inputs, in = append(body.Inputs, part.vars...), append(in, part.from...)
	}
	switch {
	case l.cond != nil:
		in = append(in, g.Out(len(b.x.graph.Outputs)))
	case l.counted:
		in = append(in, g.In(l.inputs-1))
	}
	p.Data, p.States, p.Body = len(b.data.vars), len(b.init.vars), body
	n := scan.Node(p, in...)
	list := make([]op.Entry, len(g.Node.In))
	for i, input := range ends {
		e := n.Entry(i)
		if i < len(outs) { // the rows of a vector have one axis more
			e = prim.ReshapeLike.Apply(prim.ReshapeLikeParams{}, e, g.In(input))
		}
		if list[input].Valid() {
			list[input] = prim.GradAdd.Apply(op.NoParams{}, list[input], e)
		} else {
			list[input] = e
		}
	}
	return list
}

// body differentiates one step.
func (b *backward) body() (wrt []int, grads []op.Entry) {
	l := b.l
	var entries []op.Entry
	for k, s := range l.from {
		if !l.body.Changed()[k] && (s.kind == state || b.g.Need[s.input]) {
			wrt = append(wrt, k)
			entries = append(entries, l.body.Inputs[k].Entry(0))
		}
	}
	outs := b.x.graph.Outputs
	heads := make([]op.Entry, len(outs))
	for i, active := range b.active() {
		if active {
			heads[i] = b.head(i)
		}
	}
	grads, err := op.Backprop(outs, heads, entries)
	if err != nil {
		panic(err)
	}
	return wrt, grads
}

// active reports for each output of the body whether a gradient may flow into it: from outside, or
// from the next step, when an active output depends on the state.
func (b *backward) active() []bool {
	l, outs := b.l, b.x.graph.Outputs
	list := make([]bool, len(outs))
	seen := map[*op.Node]bool{}
	var open []*op.Node
	enter := func(i int) {
		if !list[i] {
			list[i], open = true, append(open, outs[i].Node)
		}
	}
	for i := range outs {
		if b.g.OutGrad[i].Valid() {
			enter(i)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		for k, e := range n.In {
			if !slices.Contains(n.Op.Ignores, k) {
				open = append(open, e.Node)
			}
		}
		if n.IsVar() {
			if s := l.from[b.place(n)]; s.kind == state {
				enter(l.outs + s.state)
			}
		}
	}
	return list
}

// head returns the variable for the gradient of output i of the body.
func (b *backward) head(i int) op.Entry {
	v, ok := b.headOf[i]
	switch {
	case ok:
	case b.l.stacked(i):
		v = b.data.add(op.Entry{}, b.g.OutGrad[i])
	default:
		from := b.g.OutGrad[i]
		if !from.Valid() {
			from = zerosLike(b.g.In(b.l.first[i-b.l.outs]))
		}
		v = b.init.add(op.Entry{}, from)
	}
	b.headOf[i] = v
	return v
}

// outputs moves the gradients into the body of the backward loop. Its states are the gradients of
// the states, then sums. ends has the input of the forward loop for each output.
func (b *backward) outputs(wrt []int, grads []op.Entry) (outs, states []op.Entry, ends []int) {
	l, m := b.l, newMover(b.x, b.value, b.shape)
	byState := map[op.Entry]op.Entry{}
	var sums []op.Entry
	var rowEnds, sumEnds []int
	for i, k := range wrt {
		s := l.from[k]
		switch {
		case s.kind == state:
			if head, ok := b.headOf[l.outs+s.state]; ok {
				e := zerosLike(head)
				if grads[i].Valid() {
					e = m.move(grads[i], false)
				}
				byState[head] = e
			}
		case !grads[i].Valid():
		case s.kind == row:
			outs, rowEnds = append(outs, m.move(grads[i], false)), append(rowEnds, s.input)
		default:
			acc := b.init.add(op.Entry{}, zerosLike(b.g.In(s.input)))
			sums = append(sums, prim.GradAdd.Apply(op.NoParams{}, acc, m.move(grads[i], false)))
			sumEnds = append(sumEnds, s.input)
		}
	}
	ends = rowEnds
	inputOf := map[op.Entry]int{}
	for i, head := range b.headOf {
		if !l.stacked(i) {
			inputOf[head] = l.first[i-l.outs]
		}
	}
	for _, v := range b.init.vars[:len(b.init.vars)-len(sums)] {
		states, ends = append(states, byState[v.Entry(0)]), append(ends, inputOf[v.Entry(0)])
	}
	return outs, append(states, sums...), append(ends, sumEnds...)
}

// place returns the place of a variable of the body among its inputs.
func (b *backward) place(v *op.Node) int {
	for k, n := range b.l.body.Inputs {
		if n == v {
			return k
		}
	}
	panic(fmt.Sprintf("control: %s is no input of the body", v.Name))
}

// value returns the input of the backward body that holds a value of the forward body.
func (b *backward) value(e op.Entry) op.Entry {
	if e.Node.IsVar() {
		switch s := b.l.from[b.place(e.Node)]; s.kind {
		case row:
			return b.data.add(e, b.g.In(s.input))
		case fixed:
			return b.same.add(e, b.g.In(s.input))
		}
	}
	i, ok := b.x.saved[e]
	if !ok {
		return op.Entry{}
	}
	return b.data.add(e, b.g.Out(b.l.outs+b.l.states()+i))
}

// shape returns an input of the backward body that has the shape of a variable of the forward body.
func (b *backward) shape(e op.Entry) op.Entry {
	s := b.l.from[b.place(e.Node)]
	if s.kind == state {
		return b.same.add(e, b.g.In(s.input))
	}
	return b.value(e)
}

// anyRow makes some data an input, for the number of rows.
func (b *backward) anyRow() {
	for k, s := range b.l.from {
		if s.kind == row {
			b.data.add(b.l.body.Inputs[k].Entry(0), b.g.In(s.input))
			return
		}
	}
}

func zerosLike(e op.Entry) op.Entry { return prim.ZerosLike.Apply(op.NoParams{}, e) }
