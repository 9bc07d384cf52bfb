package export

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"gomx/compile"
	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	"gomx/op"
	"gomx/op/control"
)

// controlRules are loops and choices, whose graphs become graphs inside of a node. These read values
// around them by their names.
var controlRules = rules{
	control.Foreach.Op: on(foreach), control.WhileLoop.Op: on(while), control.Cond.Op: on(choice),
}

// inline adds the nodes of a graph. in are the values of its inputs; it returns the values of its
// outputs.
func inline(c *call, g *op.Graph, in []value) []value {
	if c.ex.config.training && slices.Contains(g.Changed(), true) {
		return c.fail("a graph that changes states in training")
	}
	given := compile.Given{Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}}
	read := g.Nodes()
	for i, n := range g.Inputs {
		if slices.Contains(read, n) {
			given.Shapes[n.Name], given.Types[n.Name] = in[i].shape, in[i].typ
		}
		c.ex.values[n.Entry(0)] = in[i]
	}
	facts, err := compile.Infer(g.Outputs, given)
	if err != nil {
		return c.fail("%v", err)
	}
	around := c.ex.facts
	c.ex.facts = facts
	defer func() { c.ex.facts = around }()
	for _, n := range read {
		if n.IsVar() {
			continue
		}
		if err := c.ex.node(n); err != nil {
			return c.fail("%v", err)
		}
	}
	outs := make([]value, len(g.Outputs))
	for i, e := range g.Outputs {
		outs[i] = c.ex.values[e]
		if outs[i].name == "" {
			return c.fail("output %d of its graph has no form in ONNX", i)
		}
	}
	return outs
}

// inside makes an attribute of a graph with inputs, whose nodes f adds. Its outputs are values that
// f returns, each made by a node of its own, as runtimes want it.
func inside(c *call, name string, inputs []value, f func() []value) *attribute {
	g := &onnxpb.GraphProto{Name: proto.String(c.ex.unique(c.node.Name + "_" + name))}
	around := c.ex.graph.Node
	c.ex.graph.Node = nil
	for _, v := range f() {
		g.Output = append(g.Output, c.ex.info(c.unary("Identity", v)))
	}
	g.Node, c.ex.graph.Node = c.ex.graph.Node, around
	for _, v := range inputs {
		g.Input = append(g.Input, c.ex.info(v))
	}
	return &attribute{Name: proto.String(name), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}
}

// inner names a value of a graph inside.
func inner(c *call, what string, shape dtype.Shape, t dtype.Type) value {
	return value{c.ex.unique(fmt.Sprintf("%s_%s", c.node.Name, what)), shape, t}
}

// rowOf is the row of an array, in ONNX a number where the array has one axis, in gomx one element.
func rowOf(x value) (onnx, gomx dtype.Shape) {
	if len(x.shape) == 1 {
		return dtype.Shape{}, dtype.Shape{1}
	}
	return x.shape[1:], x.shape[1:]
}

// rowsIn gives rows the shapes that they have in arrays of ONNX.
func rowsIn(c *call, rows []value) []value {
	list := make([]value, len(rows))
	for i, v := range rows {
		shape, _ := rowOf(c.out(i))
		list[i] = c.reshape(v, shape)
	}
	return list
}

// foreach becomes Scan, whose states come first.
func foreach(c *call, p control.ForeachParams) []value {
	n, all := len(p.InDataLocs), c.all()
	data, states, rest := all[:n], all[n:n+len(p.InStateLocs)], all[n+len(p.InStateLocs):]
	in := make([]value, len(p.Body.Inputs))
	var formal []value
	for j, k := range p.InStateLocs {
		in[k] = inner(c, "state", states[j].shape, states[j].typ)
		formal = append(formal, in[k])
	}
	rows := make([]value, n)
	for j := range data {
		shape, _ := rowOf(data[j])
		rows[j] = inner(c, "row", shape, data[j].typ)
	}
	for j, k := range p.RemainLocs {
		in[k] = rest[j]
	}
	body := inside(c, "body", append(formal, rows...), func() []value {
		for j, k := range p.InDataLocs {
			_, shape := rowOf(data[j])
			in[k] = c.reshape(rows[j], shape)
		}
		outs := inline(c, p.Body, in)
		if outs == nil {
			return nil
		}
		return append(slices.Clone(outs[p.NumOutData:]), rowsIn(c, outs[:p.NumOutData])...)
	})
	if c.failed != "" {
		return nil
	}
	m := len(states)
	outs := c.nodes("Scan", append(slices.Clone(states), data...),
		append(slices.Clone(c.outs[p.NumOutData:p.NumOutData+m]), c.outs[:p.NumOutData]...), body,
		num("num_scan_inputs", n))
	return append(slices.Clone(outs[m:]), outs[:m]...)
}

// condition adds the nodes of a graph that decides.
func condition(c *call, g *op.Graph, in []value) value {
	outs := inline(c, g, in)
	if len(outs) != 1 {
		return value{}
	}
	return c.truth(c.reshape(outs[0], dtype.Shape{}))
}

// picked lists values by their places.
func picked(all []value, places []int) []value {
	list := make([]value, len(places))
	for i, k := range places {
		list[i] = all[k]
	}
	return list
}

// choice becomes If.
func choice(c *call, p control.CondParams) []value {
	all := c.all()
	may := condition(c, p.Pred, picked(all, p.CondInputLocs))
	branch := func(name string, g *op.Graph, places []int) *attribute {
		return inside(c, name, nil, func() []value { return inline(c, g, picked(all, places)) })
	}
	then := branch("then_branch", p.Then, p.ThenInputLocs)
	other := branch("else_branch", p.Else, p.ElseInputLocs)
	if c.failed != "" {
		return nil
	}
	return c.nodes("If", one(may), c.outs[:p.NumOutputs], then, other)
}

// steps is a WhileLoop while it is exported.
type steps struct {
	*call
	p      control.WhileLoopParams
	states []int // inputs of the operator that are loop variables
}

// with returns the inputs of the operator with other values of the loop variables.
func (r *steps) with(states []value) []value {
	all := r.all()
	for j, k := range r.states {
		all[k] = states[j]
	}
	return all
}

// while becomes Loop. ONNX's Loop has as many rows as it takes steps. Loops with rows therefore take
// all steps, and keep their variables and give rows of zeros when the condition holds no more.
func while(c *call, p control.WhileLoopParams) []value {
	r := &steps{call: c, p: p}
	for _, k := range p.FuncVarLocs {
		r.states = append(r.states, p.FuncInputLocs[k])
	}
	first := picked(c.all(), r.states)
	going := condition(c, p.Cond, picked(c.all(), p.CondInputLocs))
	if c.failed != "" {
		return nil
	}
	step, more := inner(c, "step", dtype.Shape{}, dtype.Int64), inner(c, "more", dtype.Shape{},
		dtype.Bool)
	formal := make([]value, len(first))
	for j, v := range first {
		formal[j] = inner(c, "state", v.shape, v.typ)
	}
	n := p.NumOutData
	in := []value{c.scalar(dtype.Int64, float64(p.MaxIterations))}
	ends := c.outs[n : n+len(first)]
	var body *attribute
	if n == 0 {
		body = inside(c, "body", append([]value{step, more}, formal...), func() []value {
			next, _, on := r.step(formal)
			return append(one(on), next...)
		})
		in = append(append(in, going), first...)
	} else {
		active := inner(c, "active", dtype.Shape{}, dtype.Bool)
		body = inside(c, "body", append([]value{step, more, active}, formal...), func() []value {
			return r.masked(more, active, formal)
		})
		in = append(append(in, c.scalar(dtype.Bool, 1), going), first...)
		ends = append([]value{{"", dtype.Shape{}, dtype.Bool}}, ends...)
	}
	if c.failed != "" {
		return nil
	}
	outs := c.nodes("Loop", in, append(slices.Clone(ends), c.outs[:n]...), body)
	m := len(ends)
	return append(slices.Clone(outs[m:]), outs[m-len(first):m]...)
}

// step adds the nodes of one step: the next variables, rows, and whether to go on.
func (r *steps) step(states []value) (next, rows []value, on value) {
	outs := inline(r.call, r.p.Body, picked(r.with(states), r.p.FuncInputLocs))
	if outs == nil {
		return nil, nil, value{}
	}
	next, rows = outs[r.p.NumOutData:], outs[:r.p.NumOutData]
	return next, rows, condition(r.call, r.p.Cond, picked(r.with(next), r.p.CondInputLocs))
}

// masked adds the nodes of one step that has an effect while it is active.
func (r *steps) masked(more, active value, states []value) []value {
	next, rows, on := r.step(states)
	if r.failed != "" {
		return nil
	}
	list := []value{more, r.test("And", active, on)}
	for j, v := range next {
		list = append(list, r.where(active, v, states[j]))
	}
	for _, v := range rowsIn(r.call, rows) {
		list = append(list, r.where(active, v, r.like(v, 0)))
	}
	return list
}
