package ndarray

import (
	"fmt"

	"gomx/op"
	"gomx/op/control"
)

// Foreach runs body once for each row of data, which are arrays with the same number of rows. The
// body gets one row of each and the states, and returns rows of the outputs and the new states.
// Foreach returns the outputs with the rows of all steps, and the states after the last step. The
// row of a vector has one axis of one element. It is an ordinary loop: a tape records the steps one
// by one. In a function that is being traced it becomes one node, whose body is traced once.
func Foreach(body func(row, states []*Array) (outs, next []*Array), data,
	states []*Array) (outs, last []*Array) {
	rows := rowsOf(data)
	if t := recordingOf(data, states); t != nil {
		return t.foreach(body, data, states, rows)
	}
	var steps [][]*Array
	for i := range rows {
		row := make([]*Array, len(data))
		for k, a := range data {
			if row[k] = a.Slice(i, i+1); len(a.shape) > 1 {
				row[k] = a.At(i)
			}
		}
		out, next := body(row, states)
		checkStep("Foreach", len(next), len(states), len(out), steps)
		steps, states = append(steps, out), next
	}
	return stackSteps(steps, 0), states
}

// WhileLoop runs body as long as cond, a single number, is not zero, at most max times. Both get
// the loop variables; the body returns rows of the outputs and the new variables. The outputs have
// max rows; rows of steps that are not taken are zeros. Without any step there are no outputs,
// because nothing tells their shapes; a function that is being traced knows them.
//
// It waits for the condition before each step, and panics with *op.Error when its computation has
// failed.
func WhileLoop(cond func(vars []*Array) *Array, body func(vars []*Array) (outs, next []*Array),
	vars []*Array, max int) (outs, last []*Array) {
	if max < 1 {
		panic(misuse("WhileLoop", "max", "%d, want at least 1", max))
	}
	if t := recordingOf(vars); t != nil {
		return t.whileLoop(cond, body, vars, max)
	}
	var steps [][]*Array
	for len(steps) < max && holds("WhileLoop", cond(vars)) {
		out, next := body(vars)
		checkStep("WhileLoop", len(next), len(vars), len(out), steps)
		steps, vars = append(steps, out), next
	}
	return stackSteps(steps, max-len(steps)), vars
}

// Cond computes one of two branches: then if pred, a single number, is not zero, and otherwise els.
// It waits for pred, and panics with *op.Error when its computation has failed. In a function that
// is being traced, where pred has no value, it becomes a node with both branches, of which each run
// computes one.
func Cond(pred *Array, then, els func() []*Array) []*Array {
	if pred.mem("Cond"); pred.traced() != nil {
		return pred.traced().cond(pred, then, els)
	}
	if holds("Cond", pred) {
		return then()
	}
	return els()
}

// holds waits for a condition.
func holds(what string, pred *Array) bool {
	if pred.Size() != 1 {
		panic(misuse(what, "condition", "shape %v, want one element", pred.shape))
	}
	v, err := pred.Item()
	if err != nil {
		panic(op.WithOp(err, what, "", op.CallSite()))
	}
	return v != 0
}

// rowsOf returns the number of rows that all arrays have.
func rowsOf(data []*Array) int {
	if len(data) == 0 {
		panic(misuse("Foreach", "data", "no array, want at least one"))
	}
	for i, a := range data {
		if a.mem("Foreach"); len(a.shape) == 0 {
			panic(misuse("Foreach", fmt.Sprint("data ", i), "a scalar, want rows"))
		}
		if n := data[0].shape[0]; a.shape[0] != n {
			panic(misuse("Foreach", fmt.Sprint("data ", i), "%d rows, want %d as data 0 has",
				a.shape[0], n))
		}
	}
	return data[0].shape[0]
}

// checkStep reports a body that returns another number of arrays than before.
func checkStep(what string, next, states, outs int, steps [][]*Array) {
	if next != states {
		panic(misuse(what, "states", "the body returns %d, want %d as at the beginning", next,
			states))
	}
	if len(steps) > 0 && outs != len(steps[0]) {
		panic(misuse(what, "outputs", "the body returns %d, want %d as in the first step", outs,
			len(steps[0])))
	}
}

// stackSteps joins the outputs of all steps, with rows of zeros behind them.
func stackSteps(steps [][]*Array, missing int) []*Array {
	if len(steps) == 0 {
		return nil
	}
	outs := make([]*Array, len(steps[0]))
	for k := range outs {
		rows := make([]*Array, len(steps))
		for i, step := range steps {
			rows[i] = step[k]
		}
		outs[k] = Stack(rows, StackParams{})
		if missing > 0 {
			first := rows[0]
			rest := Zeros(append(Shape{missing}, first.shape...), On(first.Device()),
				As(first.dtype), Using(first.Engine()))
			outs[k] = Concat([]*Array{outs[k], rest}, ConcatParams{Dim: op.Some(0)})
		}
	}
	return outs
}

// recordingOf returns the recording of the first traced array, nil if all have values.
func recordingOf(lists ...[]*Array) *Tracing {
	for _, list := range lists {
		for _, a := range list {
			if a.mem("loop"); a.traced() != nil {
				return a.traced()
			}
		}
	}
	return nil
}

// foreach records a loop as one node.
func (t *Tracing) foreach(body func(row, states []*Array) (outs, next []*Array), data,
	states []*Array, rows int) (outs, last []*Array) {
	taken, before := map[string]bool{}, t.recorded()
	in, first := t.entries("Foreach", data), t.entries("Foreach", states)
	row, rowNodes := t.placeholders(in, data, taken, true)
	now, nowNodes := t.placeholders(first, states, taken, false)
	outs, next := body(row, now)
	checkStep("Foreach", len(next), len(states), 0, nil)
	n, err := control.NewForeach("", in, first, control.ForeachBody{Rows: rowNodes,
		States: nowNodes, Outs: t.entries("Foreach", outs), Next: t.entries("Foreach", next),
		Outside: func(n *op.Node) bool { return t.before(n, before) }})
	return t.loop("Foreach", n, err, outs, next, rows)
}

// whileLoop records a loop with a condition as one node.
func (t *Tracing) whileLoop(cond func(vars []*Array) *Array,
	body func(vars []*Array) (outs, next []*Array), vars []*Array, max int) (outs, last []*Array) {
	before, first := t.recorded(), t.entries("WhileLoop", vars)
	tested, testedNodes := t.placeholders(first, vars, map[string]bool{}, false)
	now, nowNodes := t.placeholders(first, vars, map[string]bool{}, false)
	pred := t.entries("WhileLoop", []*Array{cond(tested)})
	outs, next := body(now)
	checkStep("WhileLoop", len(next), len(vars), 0, nil)
	n, err := control.NewWhileLoop("", first, max, control.WhileBody{CondVars: testedNodes,
		Vars: nowNodes, Cond: pred[0], Outs: t.entries("WhileLoop", outs),
		Next:    t.entries("WhileLoop", next),
		Outside: func(n *op.Node) bool { return t.before(n, before) }})
	return t.loop("WhileLoop", n, err, outs, next, max)
}

// cond records a choice as one node.
func (t *Tracing) cond(pred *Array, then, els func() []*Array) []*Array {
	before := t.recorded()
	b := control.CondBody{Pred: t.entries("Cond", []*Array{pred})[0],
		Outside: func(n *op.Node) bool { return t.before(n, before) }}
	outs := then()
	b.Then, b.Else = t.entries("Cond", outs), t.entries("Cond", els())
	n, err := control.NewCond("", b)
	_, results := t.loop("Cond", n, err, nil, outs, 0)
	return results
}

// entries returns the entries that stand for arrays.
func (t *Tracing) entries(what string, list []*Array) []op.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	entries := make([]op.Entry, len(list))
	for i, a := range list {
		e, err := t.entry(a)
		if err != nil {
			panic(op.WithOp(err, what, "", op.CallSite()))
		}
		entries[i] = e
	}
	return entries
}

// placeholders returns traced arrays that stand for values inside of a body: rows of arrays, or
// values of their shapes.
func (t *Tracing) placeholders(from []op.Entry, like []*Array, taken map[string]bool,
	rows bool) ([]*Array, []*op.Node) {
	list, nodes := make([]*Array, len(like)), control.Placeholders(from, taken)
	for i, v := range nodes {
		s, shape := &step{node: *v}, like[i].shape.Clone()
		if rows && len(shape) > 1 {
			shape = shape[1:]
		} else if rows {
			shape = Shape{1}
		}
		list[i], nodes[i] = t.array(s, 0, shape, like[i].dtype), &s.node
	}
	return list, nodes
}

// loop records the node of a loop or a choice and returns its outputs: one row of each of outs for
// every step, and arrays like last.
func (t *Tracing) loop(what string, n *op.Node, err error, outs, last []*Array,
	rows int) (stacked, states []*Array) {
	if err != nil {
		panic(op.WithOp(err, what, "", op.CallSite()))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &step{node: *n}
	s.node.Name, s.node.Site = t.unused(nodeName(n.Op)), op.CallSite()
	t.count(&s.node)
	if n.Draws() {
		t.draws[&s.node] = draw{drawn.Add(1), 1}
	}
	for i, a := range outs {
		stacked = append(stacked, t.array(s, i, append(Shape{rows}, a.shape...), a.dtype))
	}
	for i, a := range last {
		states = append(states, t.array(s, len(outs)+i, a.shape.Clone(), a.dtype))
	}
	return stacked, states
}
