package ndarray

import (
	"fmt"

	"gomx/graph"
	"gomx/op"
)

// Backward computes the gradients of a with respect to every array with an attached gradient that
// it was computed from, and stores them there. The gradient flowing into a is ones, or grad when
// given. Backward frees the values that the tape saved for a: a second Backward panics. It panics
// with *op.Error when a was not recorded, or when an array that the derivative reads has since been
// overwritten.
func (a *Array) Backward(grad ...*Array) {
	a.memory("Backward")
	if len(grad) > 1 {
		panic(misuse("Backward", "grad", "%d gradients, want at most one", len(grad)))
	}
	if err := Backward([]*Array{a}, grad, false); err != nil {
		panic(blame(err, "Backward"))
	}
}

// Backward differentiates the sum of several heads; grads holds the gradients flowing into them;
// heads without one, or with nil, get ones. With retain the saved values are kept for another
// Backward. Misuse is returned as *op.Error.
func Backward(heads, grads []*Array, retain bool) error {
	if t := tracingOf(heads); t != nil {
		return t.refuse("Backward", "the array is traced: call Backward with the result of the "+
			"function, or Gradients inside of it")
	}
	if s := lone(heads); s != nil {
		return s.differentiate(heads, grads, retain)
	}
	return differentiate(heads, grads, pass{retain: retain}, func(b *backprop) error {
		for _, l := range b.leaves {
			b.targets = append(b.targets, target{l.node.Entry(0), l.grad, l.req})
			l.fresh.Store(true)
		}
		return nil
	})
}

// Gradients is Backward that returns the gradients with respect to the given arrays, which are on
// the tape of the heads or have a gradient attached; attached gradients stay as they are.
func Gradients(heads, grads, wrt []*Array, retain bool) ([]*Array, error) {
	return gradients(heads, grads, wrt, pass{retain: retain})
}

// GradientGraph is Gradients that records how the gradients are computed, so that they can be
// differentiated in turn. The values that the tape saved are kept.
func GradientGraph(heads, grads, wrt []*Array) ([]*Array, error) {
	return gradients(heads, grads, wrt, pass{retain: true, record: true})
}

func gradients(heads, grads, wrt []*Array, how pass) ([]*Array, error) {
	if t := tracingOf(heads); t != nil {
		return t.differentiate(heads, grads, wrt)
	}
	var b *backprop
	err := differentiate(heads, grads, how, func(run *backprop) error {
		b = run
		for i, a := range wrt {
			if a.leaf.Load() == nil && a.trace.step == nil {
				return op.Errorf(fmt.Sprintf("array %d", i),
					"the array is not on a tape and has no gradient attached")
			}
			g, err := newArray(a.mem("Gradients").eng, a.chunk.dev, a.dtype, a.shape, "")
			if err != nil {
				return err
			}
			b.targets = append(b.targets, target{b.entry(a), g, GradWrite})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]*Array, len(wrt))
	for i, t := range b.targets {
		results[i] = t.grad.enter(heads[0].scope)
	}
	return results, nil
}

// pass holds the options of a differentiation.
type pass struct {
	retain bool // keep the values that the tape saved
	record bool // put the gradients on the tape
}

// differentiate runs a backprop for the targets that aim adds to it.
func differentiate(heads, grads []*Array, how pass, aim func(b *backprop) error) error {
	b, err := newBackprop(heads)
	if err != nil {
		return blame(err, "Backward")
	}
	b.record = how.record
	b.tape.mu.Lock()
	defer b.tape.mu.Unlock()
	if err := b.collect(heads); err != nil {
		return blame(err, "Backward")
	}
	if err := aim(b); err != nil {
		return blame(err, "Backward")
	}
	if err := b.run(heads, grads); err != nil {
		return blame(err, "Backward")
	}
	if !how.retain {
		b.free()
	}
	return nil
}

// backprop is one run of Backward. The tape's mu is held while it runs.
type backprop struct {
	tape    *Tape
	record  bool
	steps   []*step // every recorded operation that the heads depend on, each after its parents
	leaves  []*leaf // attached gradients of the heads' ancestors, by first use
	targets []target
	values  map[op.Entry]saved     // saved operands of steps, and computed gradients
	names   map[op.Entry]*op.Error // operator and argument of saved operands, for errors
	uses    map[op.Entry]int       // gradient nodes and targets that have yet to read an entry
	direct  map[op.Entry]*Array    // gradients that are computed into a target's array
	forward map[*op.Node]parent    // step or leaf of a node of the recorded graph
}

// target is a requested gradient: of entry, to be stored in grad as req says.
type target struct {
	entry op.Entry
	grad  *Array
	req   GradReq
}

// newBackprop checks the heads.
func newBackprop(heads []*Array) (*backprop, error) {
	b := &backprop{values: map[op.Entry]saved{}, names: map[op.Entry]*op.Error{},
		uses: map[op.Entry]int{}, direct: map[op.Entry]*Array{}, forward: map[*op.Node]parent{}}
	if len(heads) == 0 {
		return nil, op.Errorf("heads", "no arrays, want at least one")
	}
	for i, h := range heads {
		if !h.Recorded() {
			return nil, op.Errorf(fmt.Sprintf("head %d", i),
				"the array is not on a tape, or nothing that it was computed from has a "+
					"gradient attached")
		}
		if b.tape == nil {
			b.tape = h.trace.tape
		}
		if h.trace.tape != b.tape {
			return nil, op.Errorf(fmt.Sprintf("head %d", i),
				"the array is on another tape than the heads before it")
		}
	}
	return b, nil
}

// run builds the graph of the gradient and evaluates it.
func (b *backprop) run(heads, grads []*Array) error {
	entries := make([]op.Entry, len(heads))
	for i, h := range heads {
		entries[i] = b.entry(h)
		b.values[entries[i]] = saved{array: h}
	}
	headGrads, err := b.headGrads(heads, grads)
	if err != nil {
		return err
	}
	wrt := make([]op.Entry, len(b.targets))
	for i, t := range b.targets {
		wrt[i] = t.entry
	}
	results, err := graph.Gradient(entries, headGrads, wrt)
	if err != nil {
		return err
	}
	return b.evaluate(results, heads[0])
}

// entry returns the entry that stands for a recorded array.
func (b *backprop) entry(a *Array) op.Entry {
	if l := a.leaf.Load(); l != nil {
		return l.node.Entry(0)
	}
	return op.Entry{Node: &a.trace.step.node, Index: a.trace.index}
}

// collect lists the steps that the heads depend on, and the values they saved.
func (b *backprop) collect(heads []*Array) error {
	seen, seenLeaf := map[*step]bool{}, map[*leaf]bool{}
	addLeaf := func(l *leaf) {
		if l != nil && !seenLeaf[l] {
			seenLeaf[l] = true
			b.leaves = append(b.leaves, l)
			b.forward[l.node] = parent{leaf: l}
		}
	}
	type frame struct {
		s    *step
		next int
	}
	for _, h := range heads {
		if l := h.leaf.Load(); l != nil {
			addLeaf(l)
			b.values[l.node.Entry(0)] = saved{array: h}
			continue
		}
		stack := []frame{{s: h.trace.step}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == 0 && seen[f.s] {
				stack = stack[:len(stack)-1]
				continue
			}
			seen[f.s] = true
			if f.next < len(f.s.parents) {
				p := f.s.parents[f.next]
				f.next++
				addLeaf(p.leaf)
				if p.step != nil && !seen[p.step] {
					stack = append(stack, frame{s: p.step})
				}
				continue
			}
			if err := b.visit(f.s); err != nil {
				return err
			}
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

// visit adds the values that a step saved.
func (b *backprop) visit(s *step) error {
	if s.freed {
		return op.WithOp(errFreed(), s.plan.op.Name, "", "")
	}
	b.steps = append(b.steps, s)
	b.forward[&s.node] = parent{step: s}
	take := func(e op.Entry, v saved, arg string) {
		if old, ok := b.values[e]; ok && (old.array.chunk != nil || v.array.chunk == nil) {
			return
		}
		b.values[e] = v
		b.names[e] = &op.Error{Op: s.plan.op.Name, Arg: arg}
	}
	for i, v := range s.in {
		take(s.node.In[i], v, s.plan.inputs[i].Name)
	}
	outs := s.plan.op.Outputs(s.plan.params)
	for i, v := range s.out {
		take(op.Entry{Node: &s.node, Index: i}, v, outs[i])
	}
	return nil
}

// errFreed is the error of a Backward for values that are not there any more.
func errFreed() error {
	return op.Errorf("", "an earlier Backward has freed the values that the tape saved: ask it to "+
		"retain")
}

// headGrads returns variables for the gradients that flow into the heads.
func (b *backprop) headGrads(heads, grads []*Array) ([]op.Entry, error) {
	if err := checkHeads(heads, grads); err != nil {
		return nil, err
	}
	entries := make([]op.Entry, len(heads))
	for i, g := range grads {
		if g == nil {
			continue
		}
		entries[i] = op.Var("head_grad").Entry(0)
		if !b.record {
			g = g.Detach()
		}
		b.values[entries[i]] = saved{array: g}
	}
	return entries, nil
}

// checkHeads compares the gradients that flow into heads with the heads.
func checkHeads(heads, grads []*Array) error {
	if len(grads) > len(heads) {
		return op.Errorf("grads", "%d gradients for %d heads", len(grads), len(heads))
	}
	for i, g := range grads {
		if g != nil && (!g.shape.Equal(heads[i].shape) || g.dtype != heads[i].dtype) {
			return op.Errorf(fmt.Sprintf("gradient %d", i), "%v %v, want %v %v", g.dtype, g.shape,
				heads[i].dtype, heads[i].shape)
		}
	}
	return nil
}

// free releases the values that the steps saved, and the links between the steps.
func (b *backprop) free() {
	for _, s := range b.steps {
		s.free()
	}
}

// free releases the values that the step saved, and its links to other steps.
func (s *step) free() {
	for _, list := range [][]saved{s.in, s.out} {
		for _, v := range list {
			v.array.Close()
		}
	}
	if s.by != nil {
		s.by.Release()
	}
	s.in, s.out, s.parents, s.node.In, s.freed = nil, nil, nil, nil, true
}
