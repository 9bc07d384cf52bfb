package onnx

import (
	"errors"
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// mostSteps is the greatest number of steps of a loop that is imported step by step.
const mostSteps = 1 << 12

// controlRows choose between graphs and repeat them.
var controlRows = map[string]row{"If": {1, ifNode}, "Loop": {0, loopNode}, "Scan": {0, scanNode}}

// body is a graph in an attribute.
type body struct {
	c    *call
	name string // of the attribute
	g    *onnxpb.GraphProto
	// stand gets a stand-in for every value around the graph that its nodes read, by name; nil:
	// the nodes read the values themselves.
	stand map[string]*value
}

// bodyOf returns the graph of an attribute, which wants a number of inputs.
func bodyOf(c *call, name string, inputs int) (body, bool) {
	g := c.attr[name].GetG()
	switch {
	case g == nil:
		c.fail("no graph in the attribute %q", name)
	case len(g.GetInput()) != inputs:
		c.fail("%s: the graph has %d inputs, want %d", name, len(g.GetInput()), inputs)
	}
	return body{c: c, name: name, g: g}, c.err == nil
}

// run imports the nodes of the graph for values of its inputs. They see the names around the graph.
func (b body) run(in []*value) ([]*value, error) {
	inner := newScope(b.c.scope)
	if b.stand != nil {
		b.standIns(b.g, inner)
	}
	if err := b.c.im.initializers(b.g, inner); err != nil {
		return nil, err
	}
	for i, v := range b.g.GetInput() {
		inner.values[v.GetName()] = in[i]
	}
	if err := b.c.im.run(b.g.GetNode(), inner); err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	var outs []*value
	for _, o := range b.g.GetOutput() {
		v := inner.find(o.GetName())
		if v == nil {
			return nil, fmt.Errorf("%s: no node computes the output %q", b.name, o.GetName())
		}
		outs = append(outs, v)
	}
	return outs, nil
}

// standIns gives the values around the graph that nodes of g read stand-ins in a scope. A name that
// a node inside gives a value to is found there first.
func (b body) standIns(g *onnxpb.GraphProto, inner *scope) {
	names := func(list []string) {
		for _, name := range list {
			v := b.c.scope.find(name)
			if v != nil && v.fixed == nil && !v.sequence && b.stand[name] == nil {
				b.stand[name] = standIn(b.c, v)
				inner.values[name] = b.stand[name]
			}
		}
	}
	for _, n := range g.GetNode() {
		names(n.GetInput())
		for _, a := range n.GetAttribute() {
			for _, deeper := range file.Graphs(a) {
				b.standIns(deeper, inner)
			}
		}
	}
	for _, o := range g.GetOutput() {
		names([]string{o.GetName()})
	}
}

// ifNode imports the branch that a known condition takes, and both for other conditions.
func ifNode(c *call) []*sym.Symbol {
	if c.in[0].size() != 1 {
		return c.fail("a condition of shape %v, want one value", c.in[0].shape)
	}
	if c.in[0].fixed == nil {
		return choice(c)
	}
	hold := c.ints(0)
	if c.err != nil {
		return nil
	}
	name := "else_branch"
	if hold[0] != 0 {
		name = "then_branch"
	}
	b, ok := bodyOf(c, name, 0)
	if !ok {
		return nil
	}
	outs, err := b.run(nil)
	if err != nil {
		return c.fail("%w", err)
	}
	c.direct = outs
	return nil
}

// choice becomes a Cond. Branches whose results differ in shape need a known condition.
func choice(c *call) []*sym.Symbol {
	var branches [2][]*value
	var ins []*value
	var with []*sym.Symbol
	for i, name := range []string{"then_branch", "else_branch"} {
		b, ok := bodyOf(c, name, 0)
		if !ok {
			return nil
		}
		b.stand = map[string]*value{}
		outs, err := b.run(nil)
		if err != nil {
			_, unknown := c.in[0].ints()
			return c.fail("%w; both branches are not possible: %w", unknown, err)
		}
		for name, v := range b.stand {
			ins, with = append(ins, v), append(with, c.scope.find(name).s)
		}
		branches[i] = outs
	}
	if !alike(branches[0], branches[1]) {
		_, err := c.in[0].ints()
		return c.fail("the branches give different shapes: %w", err)
	}
	if len(branches[0]) == 0 {
		c.direct = []*value{}
		return nil
	}
	branch := func(outs []*value) func() []*sym.Symbol {
		return func() []*sym.Symbol { return replaced(outs, ins, with) }
	}
	for i, s := range sym.Cond(c.x(0), branch(branches[0]), branch(branches[1])) {
		v := branches[0][i]
		c.direct = append(c.direct, &value{name: v.name, s: s, shape: v.shape, typ: v.typ})
	}
	c.im.switched(c.in[0])
	if err := settled(c, c.direct); err != nil {
		return c.fail("%w", err)
	}
	return nil
}

// switched notes the inputs of the model that a condition depends on, if each is one integer or
// boolean.
func (im *importing) switched(cond *value) {
	var names []string
	for _, n := range cond.s.Nodes() {
		if !n.IsVar() || im.fixed[n] != nil {
			continue
		}
		v, known := im.inputOf[n]
		if !known || v.size() != 1 || v.typ.IsFloat() {
			return
		}
		names = append(names, v.name)
	}
	for _, name := range names {
		if !slices.Contains(im.switches, name) {
			im.switches = append(im.switches, name)
		}
	}
}

// standIn makes a variable in the place of a value that changes from step to step.
func standIn(c *call, v *value) *value {
	return c.im.variable(c.node.GetOpType()+"_"+v.name, v.shape, v.typ)
}

// replaced returns the symbols of values, joined, with stand-ins replaced by symbols.
func replaced(outs []*value, ins []*value, with []*sym.Symbol) []*sym.Symbol {
	list := make([]*sym.Symbol, len(outs))
	for i, v := range outs {
		list[i] = v.s
	}
	all := sym.Group(list...)
	names, inputs := all.Inputs(), map[string]*sym.Symbol{}
	for i, v := range ins {
		if name := v.s.Entries()[0].Node.Name; slices.Contains(names, name) {
			inputs[name] = with[i]
		}
	}
	return outputs(all.Compose(inputs), len(outs))
}

// reads reports whether the outputs depend on a stand-in.
func reads(outs []*value, in *value) bool {
	for _, v := range outs {
		if slices.Contains(v.s.Inputs(), in.s.Entries()[0].Node.Name) {
			return true
		}
	}
	return false
}

// alike reports whether values have the shapes and types of others.
func alike(a, b []*value) bool {
	return slices.EqualFunc(a, b, func(v, w *value) bool {
		return v.shape.Equal(w.shape) && v.typ == w.typ && !v.sequence && !w.sequence
	})
}

// repetition is an import of Loop: the most steps, and its body, whose inputs are the number of the
// step, the condition, and the states; the outputs the next condition, states, and rows.
type repetition struct {
	c      *call
	body   body
	steps  int
	states []*value // first values
}

// loopNode becomes a WhileLoop if the states keep their shapes; otherwise the steps are imported
// one after the other.
func loopNode(c *call) []*sym.Symbol {
	states := c.in[min(2, len(c.in)):]
	for i, v := range states {
		if v == nil {
			return c.fail("input %d is missing", i+2)
		}
	}
	b, ok := bodyOf(c, "body", 2+len(states))
	if !ok {
		return nil
	}
	if n := len(b.g.GetOutput()); n < 1+len(states) {
		return c.fail("body: %d outputs for %d states", n, len(states))
	}
	if !c.has(0) {
		return c.fail("no greatest number of steps, want one that is known at import")
	}
	steps := c.ints(0)
	if c.err != nil {
		return nil
	}
	if len(steps) != 1 || steps[0] < 0 {
		return c.fail("%v steps, want a number of at least 0", steps)
	}
	r := repetition{c, b, min(steps[0], 1<<31-1), states}
	if c.has(1) && c.in[1].fixed != nil {
		if hold := c.ints(1); len(hold) != 1 || hold[0] == 0 {
			r.steps = 0
		}
	}
	var outs []*value
	err := errChanges
	if !slices.ContainsFunc(states, func(v *value) bool { return v.sequence }) {
		outs, err = r.loop()
	}
	if need := (*NotConstant)(nil); errors.Is(err, errChanges) || errors.As(err, &need) &&
		need.Input == "" {
		outs, err = r.unroll(err)
	}
	if err != nil {
		return c.fail("%w", err)
	}
	c.direct = outs
	return nil
}

// errChanges is the error of states that change their shape or type.
var errChanges = errors.New("body: a state changes its shape or its type from step to step")

// scalar makes a constant of one number.
func (r repetition) scalar(a *nd.Array) *value { return r.c.im.constant("step", a, dtype.Shape{}) }

// loop makes a WhileLoop over the number of the step, the condition and the states.
func (r repetition) loop() ([]*value, error) {
	c := r.c
	always := r.scalar(nd.FromSlice([]bool{true}, 1))
	at := standIn(c, r.scalar(nd.FromSlice([]int64{0}, 1)))
	ins := []*value{at, always}
	for _, v := range r.states {
		ins = append(ins, standIn(c, v))
	}
	outs, err := r.body.run(ins)
	if err != nil {
		return nil, err
	}
	n := len(r.states)
	next, rows := outs[1:1+n], outs[1+n:]
	if outs[0].size() != 1 {
		return nil, fmt.Errorf("body: a condition of shape %v, want one value", outs[0].shape)
	}
	if !alike(next, r.states) {
		return nil, errChanges
	}
	if hold, err := outs[0].ints(); err == nil && hold[0] == 0 {
		r.steps = min(r.steps, 1)
	}
	known := outs[0].fixed != nil && (!c.has(1) || c.in[1].fixed != nil)
	if !known && len(rows) > 0 {
		return nil, fmt.Errorf("the condition depends on values, so the number of rows of output %d "+
			"does", n)
	}
	if r.steps == 0 {
		return r.none(rows), nil
	}
	first := []*sym.Symbol{sym.Identity(r.scalar(nd.FromSlice([]int64{0}, 1)).s), always.s}
	if c.has(1) {
		first[1] = cast(c.x(1), dtype.Bool)
	}
	first[1] = sym.Identity(first[1])
	for _, v := range r.states {
		first = append(first, v.s)
	}
	limit := c.indices([]int{r.steps})
	list, last := sym.WhileLoop(func(vars []*sym.Symbol) *sym.Symbol {
		return sym.ElemwiseMul(cast(sym.Lesser(vars[0], limit), dtype.Float32),
			cast(vars[1], dtype.Float32))
	}, func(vars []*sym.Symbol) (outputs, states []*sym.Symbol) {
		with := append([]*sym.Symbol{vars[0], always.s}, vars[2:]...)
		all := replaced(outs, ins, with)
		states = append([]*sym.Symbol{plus(vars[0], 1), cast(all[0], dtype.Bool)}, all[1:1+n]...)
		return all[1+n:], states
	}, first, r.steps)
	var results []*value
	for i, s := range append(last[2:len(last):len(last)], list...) {
		shape := outs[1+i].shape
		if i >= n {
			shape = append(dtype.Shape{r.steps}, shape...)
			s = c.reshape(s, shape)
		}
		results = append(results, &value{name: c.node.GetName(), s: s, shape: shape,
			typ: outs[1+i].typ})
	}
	return results, settled(c, results)
}

// settled infers the symbols of results, so that a mistake is found here.
func settled(c *call, results []*value) error {
	for _, v := range results {
		c.fact(v.s)
	}
	return c.err
}

// none returns the results of a loop without a step: the first states, and no rows.
func (r repetition) none(rows []*value) []*value {
	list := slices.Clone(r.states)
	for _, v := range rows {
		shape := append(dtype.Shape{0}, v.shape...)
		list = append(list, r.c.im.constant(v.name, nd.Empty(shape, nd.As(v.typ)), shape))
	}
	return list
}

// unroll imports every step with its number as a constant; reason says why a loop was not made.
func (r repetition) unroll(reason error) ([]*value, error) {
	c, n := r.c, len(r.states)
	if r.steps > mostSteps {
		return nil, fmt.Errorf("%d steps, want at most %d: each is imported because: %w", r.steps,
			mostSteps, reason)
	}
	states := slices.Clone(r.states)
	var rows [][]*value
	for i := range r.steps {
		outs, err := r.body.run(append([]*value{r.scalar(nd.FromSlice([]int64{int64(i)}, 1)),
			r.scalar(nd.FromSlice([]bool{true}, 1))}, states...))
		if err != nil {
			return nil, err
		}
		states = outs[1 : 1+n]
		rows = append(rows, outs[1+n:])
		hold, err := outs[0].ints()
		if err != nil || len(hold) != 1 {
			return nil, fmt.Errorf("step %d: the condition is not known at import (%w); a loop in the "+
				"graph is not possible: %w", i, err, reason)
		}
		if hold[0] == 0 {
			break
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no step is taken, so the shapes of the rows are not known: %w", reason)
	}
	results := states
	for k := range rows[0] {
		var column []*value
		for _, row := range rows {
			column = append(column, row[k])
		}
		v, err := stacked(c, column, 0)
		if err != nil {
			return nil, err
		}
		results = append(results, v)
	}
	return results, nil
}

// stacked joins values of one shape along a new axis.
func stacked(c *call, list []*value, axis int) (*value, error) {
	first := list[0]
	var parts []*sym.Symbol
	for _, v := range list {
		if !alike([]*value{v}, list[:1]) {
			return nil, fmt.Errorf("rows of shapes %v and %v, want the same", first.shape, v.shape)
		}
		parts = append(parts, v.s)
	}
	shape := slices.Insert(first.shape.Clone(), axis, len(list))
	s := c.reshape(sym.Stack(parts, sym.StackParams{Axis: axis}), shape)
	outs, err := c.valuesOf(out(s))
	if err != nil {
		return nil, err
	}
	outs[0].shape = shape
	return outs[0], nil
}
