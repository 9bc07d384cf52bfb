package control

import (
	"fmt"
	"slices"

	"gomx/op"
	"gomx/op/prim"
)

// A program makes the node of a loop in three steps, with any recorder of graphs: it makes
// variables for the inputs of the body (Placeholders), computes the body from them, and hands the
// entries that the body returned to NewForeach, NewWhileLoop or NewCond. These cut the body out of
// the graph around it: a value that the body reads and that was computed outside becomes an input.

// Outside reports whether a node was made outside of the body. Variables that belong to no body are
// outside anyway; nil: all other nodes are inside.
type Outside func(n *op.Node) bool

// Placeholders makes a variable for each entry, named after the entry as MXNet does: data-0 stands
// for output 0 of data. Names in taken are avoided, and new ones added to it.
func Placeholders(entries []op.Entry, taken map[string]bool) []*op.Node {
	list := make([]*op.Node, len(entries))
	for i, e := range entries {
		name := e.Node.Name
		if name == "" {
			name = "in"
		}
		list[i] = op.Var(unique(fmt.Sprintf("%s-%d", name, e.Index), taken))
	}
	return list
}

// unique returns a name that is not taken and takes it.
func unique(name string, taken map[string]bool) string {
	free := name
	for i := 1; taken[free]; i++ {
		free = fmt.Sprintf("%s-%d", name, i)
	}
	taken[free] = true
	return free
}

// ForeachBody is a step of a foreach loop: the variables that stand for one row of each data and
// for the states, and the entries computed from them.
type ForeachBody struct {
	Rows, States []*op.Node
	Outs, Next   []op.Entry // rows of the outputs, new states
	Outside      Outside
}

// NewForeach makes the node of a loop over the rows of data. Every row variable must be used.
func NewForeach(name string, data, states []op.Entry, b ForeachBody) (*op.Node, error) {
	if len(b.Next) != len(states) {
		return nil, &op.Error{Op: Foreach.Name, Node: name, Arg: "states", Msg: fmt.Sprintf(
			"the body returns %d, want %d as at the beginning", len(b.Next), len(states))}
	}
	c := newCutter(slices.Concat(b.Rows, b.States), b.Outside)
	g, err := c.cut(b.Outs, use(b.Next, b.States, b.Outs))
	if err != nil {
		return nil, op.WithOp(err, Foreach.Name, name, "")
	}
	p := ForeachParams{NumArgs: len(g.Inputs) + 1, NumOutputs: len(g.Outputs),
		NumOutData: len(b.Outs), InDataLocs: []int{}, InStateLocs: []int{}, RemainLocs: []int{},
		Body: g}
	for i, v := range b.Rows {
		k := slices.Index(g.Inputs, v)
		if k < 0 {
			return nil, &op.Error{Op: Foreach.Name, Node: name, Arg: fmt.Sprint("data ", i),
				Msg: "the body does not use its rows"}
		}
		p.InDataLocs = append(p.InDataLocs, k)
	}
	for _, v := range b.States {
		p.InStateLocs = append(p.InStateLocs, slices.Index(g.Inputs, v))
	}
	in := slices.Concat(data, states)
	for k, v := range g.Inputs {
		if from, ok := c.from[v]; ok {
			p.RemainLocs, in = append(p.RemainLocs, k), append(in, from)
		}
	}
	return op.NewNode(Foreach.Op, name, p, in...)
}

// WhileBody is a step of a while loop: the variables that stand for the loop variables, apart for
// the condition, and the entries computed from them.
type WhileBody struct {
	CondVars, Vars []*op.Node
	Cond           op.Entry
	Outs, Next     []op.Entry // rows of the outputs, new loop variables
	Outside        Outside
}

// NewWhileLoop makes the node of a loop of at most max steps.
func NewWhileLoop(name string, vars []op.Entry, max int, b WhileBody) (*op.Node, error) {
	fail := func(arg, format string, args ...any) error {
		return &op.Error{Op: WhileLoop.Name, Node: name, Arg: arg, Msg: fmt.Sprintf(format,
			args...)}
	}
	switch {
	case max < 1:
		return nil, fail("max_iterations", "%d, want at least 1", max)
	case len(vars) == 0:
		return nil, fail("loop variables", "none, want at least one")
	case len(b.Next) != len(vars):
		return nil, fail("loop variables", "the body returns %d, want %d as at the beginning",
			len(b.Next), len(vars))
	}
	c := newCutter(b.CondVars, b.Outside)
	cond, err := c.cut([]op.Entry{b.Cond}, nil)
	if err != nil {
		return nil, op.WithOp(err, WhileLoop.Name, name, "")
	}
	d := newCutter(b.Vars, b.Outside)
	body, err := d.cut(b.Outs, use(b.Next, b.Vars, b.Outs))
	if err != nil {
		return nil, op.WithOp(err, WhileLoop.Name, name, "")
	}
	u := &union{}
	p := WhileLoopParams{NumOutputs: len(body.Outputs), NumOutData: len(b.Outs),
		MaxIterations: max, Cond: cond, Body: body, FuncVarLocs: []int{}}
	p.CondInputLocs = u.locs(cond, c, b.CondVars, vars)
	p.FuncInputLocs = u.locs(body, d, b.Vars, vars)
	for _, v := range b.Vars {
		p.FuncVarLocs = append(p.FuncVarLocs, slices.Index(body.Inputs, v))
	}
	p.NumArgs = len(u.in) + 2
	return op.NewNode(WhileLoop.Op, name, p, u.in...)
}

// CondBody has the condition and the outputs of the two branches.
type CondBody struct {
	Pred       op.Entry
	Then, Else []op.Entry
	Outside    Outside // for the branches: the condition is outside
}

// NewCond makes the node of a choice between two branches.
func NewCond(name string, b CondBody) (*op.Node, error) {
	if len(b.Then) != len(b.Else) || len(b.Then) == 0 {
		return nil, &op.Error{Op: Cond.Name, Node: name, Arg: "outputs", Msg: fmt.Sprintf(
			"%d of one branch and %d of the other, want the same number, at least 1", len(b.Then),
			len(b.Else))}
	}
	u := &union{}
	p := CondParams{NumOutputs: len(b.Then)}
	for _, part := range []struct {
		outs    []op.Entry
		outside Outside
		graph   **op.Graph
		locs    *[]int
	}{{[]op.Entry{b.Pred}, func(*op.Node) bool { return true }, &p.Pred, &p.CondInputLocs},
		{b.Then, b.Outside, &p.Then, &p.ThenInputLocs},
		{b.Else, b.Outside, &p.Else, &p.ElseInputLocs}} {
		c := newCutter(nil, part.outside)
		g, err := c.cut(part.outs, nil)
		if err != nil {
			return nil, op.WithOp(err, Cond.Name, name, "")
		}
		*part.graph, *part.locs = g, u.locs(g, c, nil, nil)
	}
	p.NumArgs = len(u.in) + 3
	return op.NewNode(Cond.Op, name, p, u.in...)
}

// union lists the inputs of an operator that several graphs read, each once. A loop variable is an
// input of its own, even where it begins with an entry that is an input anyway.
type union struct {
	in  []op.Entry
	use []int // by input: the loop variable; -1 for others
}

// locs returns the places of a graph's inputs among the operator's. Loop variables begin with the
// entries in first.
func (u *union) locs(g *op.Graph, c *cutter, vars []*op.Node, first []op.Entry) []int {
	list := []int{}
	for _, v := range g.Inputs {
		from, use := c.from[v], slices.Index(vars, v)
		if use >= 0 {
			from = first[use]
		}
		i := 0
		for i < len(u.in) && (u.in[i] != from || u.use[i] != use) {
			i++
		}
		if i == len(u.in) {
			u.in, u.use = append(u.in, from), append(u.use, use)
		}
		list = append(list, i)
	}
	return list
}

// use makes new states depend on all old ones, because a body has an input for each state: a state
// that nothing reads is tied to the new state, which has its shape and type.
func use(next []op.Entry, states []*op.Node, outs []op.Entry) []op.Entry {
	read := map[*op.Node]bool{}
	for _, n := range op.Topo(slices.Concat(outs, next)) {
		read[n] = true
	}
	tied := slices.Clone(next)
	for j, v := range states {
		if !read[v] {
			tied[j] = prim.IdentityWithAttrLike.Apply(op.NoParams{}, next[j], v.Entry(0))
		}
	}
	return tied
}

// cutter cuts a body out of the graph around it.
type cutter struct {
	own     map[*op.Node]bool // variables of the body
	outside Outside
	depends map[*op.Node]bool // nodes that depend on variables of the body
	from    map[*op.Node]op.Entry
	vars    map[op.Entry]op.Entry // variables of the body by values computed outside
	copies  map[*op.Node]*op.Node
	taken   map[string]bool
}

func newCutter(own []*op.Node, outside Outside) *cutter {
	c := &cutter{own: map[*op.Node]bool{}, outside: outside, depends: map[*op.Node]bool{},
		from: map[*op.Node]op.Entry{}, vars: map[op.Entry]op.Entry{},
		copies: map[*op.Node]*op.Node{}, taken: map[string]bool{}}
	for _, v := range own {
		c.own[v], c.taken[v.Name] = true, true
	}
	return c
}

// cut returns the graph that computes outs and states. Outputs that are variables, or equal to
// another one, are copied, because MXNet wants a node of its own for each.
func (c *cutter) cut(outs, states []op.Entry) (*op.Graph, error) {
	all := slices.Concat(outs, states)
	for _, n := range op.Topo(all) {
		c.depends[n] = c.own[n]
		if n.IsVar() {
			c.taken[n.Name] = true
		}
		for _, e := range n.In {
			c.depends[n] = c.depends[n] || c.depends[e.Node]
		}
		if c.depends[n] && !c.own[n] && c.outside != nil && c.outside(n) {
			return nil, &op.Error{Msg: fmt.Sprintf("%s %s reads a variable of the body and was "+
				"made outside of it", n.Op.Name, n.Name)}
		}
	}
	seen := map[op.Entry]bool{}
	list := make([]op.Entry, len(all))
	for i, e := range all {
		e = c.move(e)
		if e.Node.IsVar() || seen[e] {
			e = prim.Identity.Apply(op.NoParams{}, e)
		}
		seen[e], list[i] = true, e
	}
	return op.NewGraph(list), nil
}

// move returns e in the body.
func (c *cutter) move(e op.Entry) op.Entry {
	n := e.Node
	if c.own[n] {
		return e
	}
	if n.IsVar() {
		c.from[n] = e
		return e
	}
	if !c.depends[n] && c.outside != nil && c.outside(n) {
		if v, ok := c.vars[e]; ok {
			return v
		}
		name := "in"
		if n.Name != "" {
			name = e.String()
		}
		v := op.Var(unique(name, c.taken))
		c.from[v], c.vars[e] = e, v.Entry(0)
		return v.Entry(0)
	}
	m := c.copies[n]
	if m == nil {
		m = n
		in := make([]op.Entry, len(n.In))
		for k := range n.In {
			in[k] = c.move(n.In[k])
		}
		if !slices.Equal(in, n.In) || len(n.After) > 0 {
			copied := *n
			copied.In, copied.After, m = in, nil, &copied
		}
		c.copies[n] = m
	}
	return m.Entry(e.Index)
}
