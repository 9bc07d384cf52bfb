package cut

import (
	"fmt"
	"maps"
	"slices"

	"gomx/graph"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/prim"
)

// Plan is a graph divided among stages. It is immutable.
type Plan struct {
	Stages    []Stage
	Transfers []Transfer
}

// Stage is the part of one stage: a graph of its own.
type Stage struct {
	// Outputs are the outputs of the stage's graph: first outputs of the whole graph, then one for
	// each element of Out. An output of the whole graph that several stages read is an output of
	// the last of them.
	Outputs []op.Entry
	// Finals are the numbers of the whole graph's outputs that the first Outputs are.
	Finals []int
	// In and Out are the numbers of the transfers to and from the stage. Out follows the order of
	// the whole graph.
	In, Out []int
}

// Transfer is a value that one stage computes and sends to a later one in each micro-batch.
type Transfer struct {
	Entry    op.Entry // the value in the whole graph
	From, To int      // stages
	Var      *op.Node // the variable that stands for the value in stage To
	Grad     bool     // stage To sends the gradient of the value back
}

// Cut divides the graph that computes outs. The placement at has a stage for each operator; wanted
// reports the variables whose gradients are wanted. Cut answers an error for an operator that reads
// a later stage, for a state that two stages use, and for a stage without operators.
func Cut(outs []op.Entry, at map[*op.Node]int, stages int, wanted func(v *op.Node) bool) (p *Plan,
	err error) {
	defer op.Recover(&err)
	at = maps.Clone(at)
	outs = claim(outs, at)
	c := &cutter{outs: outs, nodes: op.Topo(outs), order: graph.Order(outs), at: at,
		wanted: wanted, position: map[*op.Node]int{}, readers: map[op.Entry][]int{},
		needs: map[*op.Node]bool{}, imports: map[arrival]int{}, made: map[*op.Node]*op.Node{},
		plan: &Plan{Stages: make([]Stage, stages)}}
	if err := c.place(); err != nil {
		return nil, err
	}
	c.route()
	c.copyNodes()
	for q := stages - 1; q >= 0; q-- {
		c.finish(q)
		if err := c.flow(q); err != nil {
			return nil, err
		}
	}
	return c.plan, nil
}

// claim returns the outputs, with a copy in the place of an output that is a variable or an output
// already, as an executor makes them: every output has an array of its own. A copy runs in the
// latest stage of the operators that come before it, where the order of the stages is kept.
func claim(outs []op.Entry, at map[*op.Node]int) []op.Entry {
	list, claimed, copies := make([]op.Entry, len(outs)), map[op.Entry]bool{}, map[*op.Node]bool{}
	for i, e := range outs {
		if e.Node.IsVar() || claimed[e] {
			c := prim.Identity.Node(op.NoParams{}, e)
			c.Name, c.Attrs, c.Site = e.Node.Name+"_copy", e.Node.Attrs, e.Node.Site
			copies[c] = true
			e = c.Entry(0)
		}
		claimed[e] = true
		list[i] = e
	}
	if len(copies) == 0 {
		return list
	}
	latest := 0
	for _, n := range graph.Order(list) {
		if copies[n] {
			at[n] = latest
		}
		latest = max(latest, at[n])
	}
	return list
}

// replicated is the stage of variables that every reader has a copy of.
const replicated = -1

// cutter is the state of Cut.
type cutter struct {
	outs     []op.Entry
	nodes    []*op.Node // of the whole graph, each behind the nodes that it reads or runs after
	order    []*op.Node // the same nodes, in the order in which gradients are added
	wanted   func(v *op.Node) bool
	at       map[*op.Node]int      // stages of operators, and of variables once place has run
	position map[*op.Node]int      // in order
	readers  map[op.Entry][]int    // stages that read an entry, ascending
	needs    map[*op.Node]bool     // nodes that depend on a wanted variable
	imports  map[arrival]int       // transfers by entry and receiving stage
	made     map[*op.Node]*op.Node // operators in the graphs of their stages
	plan     *Plan
}

// arrival is an entry of the whole graph in a stage that does not compute it.
type arrival struct {
	entry op.Entry
	stage int
}

// place checks the stages of operators and finds the stages of variables.
func (c *cutter) place() error {
	filled := make([]bool, len(c.plan.Stages))
	states := map[*op.Node]*op.Node{} // the operator that changes a state, by state
	for i, n := range c.order {
		c.position[n] = i
	}
	for _, n := range c.nodes {
		if n.IsVar() {
			c.at[n], c.needs[n] = replicated, c.wanted(n)
			continue
		}
		q, ok := c.at[n]
		if !ok {
			return fmt.Errorf("cut: %s %q has no stage, want one of 0 to %d", n.Op.Name, n.Name,
				len(filled)-1)
		}
		if q < 0 || q >= len(filled) {
			return fmt.Errorf("cut: %s %q is in stage %d, want one of 0 to %d", n.Op.Name, n.Name,
				q,
				len(filled)-1)
		}
		filled[q] = true
		for k, e := range n.In {
			if !e.Node.IsVar() && c.at[e.Node] > q {
				return fmt.Errorf("cut: %s %q of stage %d reads %q of stage %d, want a value of "+
					"the same stage or an earlier one", n.Op.Name, n.Name, q, e.Node.Name,
					c.at[e.Node])
			}
			if n.Mutates(k) {
				states[e.Node] = n
			}
			c.needs[n] = c.needs[n] || c.needs[e.Node] && !n.Mutates(k)
			c.readers[e] = append(c.readers[e], q)
		}
	}
	for q, ok := range filled {
		if !ok {
			return fmt.Errorf("cut: stage %d of %d has no operator, want at least one in each", q,
				len(filled))
		}
	}
	for e, list := range c.readers {
		slices.Sort(list)
		c.readers[e] = slices.Compact(list)
	}
	return c.placeVariables(states)
}

// placeVariables gives parameters to their first readers and states to the operators that change
// them.
func (c *cutter) placeVariables(states map[*op.Node]*op.Node) error {
	for _, v := range c.nodes {
		if !v.IsVar() {
			continue
		}
		list := c.readers[v.Entry(0)]
		if n := states[v]; n != nil {
			c.at[v] = c.at[n]
			if len(list) > 1 {
				return fmt.Errorf("cut: stages %v use the state %q, which %s %q of stage %d "+
					"changes; want one stage", list, v.Name, n.Op.Name, n.Name, c.at[n])
			}
		} else if c.wanted(v) {
			c.at[v] = 0
			if len(list) > 0 {
				c.at[v] = list[0]
			}
		}
	}
	return nil
}

// route makes the transfers: each value goes along the stages that read it.
func (c *cutter) route() {
	for _, n := range c.order {
		if c.at[n] == replicated {
			continue
		}
		for i := range n.NumOutputs() {
			e, from := n.Entry(i), c.at[n]
			for _, to := range c.readers[e] {
				if to == from {
					continue
				}
				number := len(c.plan.Transfers)
				c.plan.Transfers = append(c.plan.Transfers, Transfer{Entry: e, From: from, To: to,
					Var: op.Var(fmt.Sprintf("_import%d_%s", number, e))})
				c.imports[arrival{e, to}] = number
				c.plan.Stages[from].Out = append(c.plan.Stages[from].Out, number)
				c.plan.Stages[to].In = append(c.plan.Stages[to].In, number)
				from = to
			}
		}
	}
}

// copyNodes copies every operator to the graph of its stage. Serial numbers keep the order in which
// the whole graph sums gradients, and stream numbers the random numbers that it draws.
func (c *cutter) copyNodes() {
	streams := 0
	for _, n := range c.nodes {
		if n.IsVar() {
			continue
		}
		m := *n
		m.In, m.After, m.Serial = make([]op.Entry, len(n.In)), nil, c.position[n]+1
		for k, e := range n.In {
			m.In[k] = c.in(e, c.at[n])
		}
		for _, a := range n.After {
			if c.at[a] == c.at[n] && !a.IsVar() {
				m.After = append(m.After, c.made[a])
			}
		}
		m.Attrs = maps.Clone(n.Attrs)
		delete(m.Attrs, graph.GroupAttr)
		if n.Op.Random {
			if !graph.HasStream(n) {
				graph.SetStream(&m, streams)
			}
			streams++
		}
		c.made[n] = &m
	}
}

// in returns the entry that stands for an entry of the whole graph in stage q.
func (c *cutter) in(e op.Entry, q int) op.Entry {
	switch {
	case c.at[e.Node] != replicated && c.at[e.Node] != q:
		return c.plan.Transfers[c.imports[arrival{e, q}]].Var.Entry(0)
	case e.Node.IsVar():
		return e
	}
	return c.made[e.Node].Entry(e.Index)
}

// finish lists the outputs of stage q. The transfers from q know already whether gradients come
// back. A variable is passed on by an operator of its own, which comes last, so that the gradient
// from later stages is the first term. For the same reason an output of the whole graph is an
// output of the last stage that reads it: the gradient of an output comes before all other terms.
func (c *cutter) finish(q int) {
	s := &c.plan.Stages[q]
	used := map[op.Entry]bool{}
	for i, e := range c.outs {
		if c.last(e) != q {
			continue
		}
		local := c.in(e, q)
		if local.Node.IsVar() {
			pass := prim.Identity.Node(op.NoParams{}, local)
			pass.Name, pass.Serial = e.Node.Name, len(c.order)+1+len(s.Out)+i
			pass.Site = e.Node.Site
			local = pass.Entry(0)
		}
		used[local] = true
		s.Outputs, s.Finals = append(s.Outputs, local), append(s.Finals, i)
	}
	for i, number := range s.Out {
		t := &c.plan.Transfers[number]
		e := c.in(t.Entry, q)
		pass := (*op.Node)(nil)
		switch {
		case !t.Grad && c.needs[t.Entry.Node]:
			pass = loss.BlockGrad.Node(op.NoParams{}, e)
		case e.Node.IsVar() || used[e]:
			pass = prim.Identity.Node(op.NoParams{}, e)
		}
		if pass != nil {
			pass.Name = fmt.Sprintf("_export%d_%s", number, t.Entry)
			pass.Serial, pass.Site = len(c.order)+1+i, t.Entry.Node.Site
			e = pass.Entry(0)
		}
		used[e] = true
		s.Outputs = append(s.Outputs, e)
	}
}

// last returns the last stage that reads an entry, or the stage that computes it if no other does.
func (c *cutter) last(e op.Entry) int {
	q := c.at[e.Node]
	if list := c.readers[e]; len(list) > 0 {
		q = max(q, list[len(list)-1])
	}
	return q
}

// flow finds the values for which stage q computes a gradient: the values that depend on a wanted
// variable, and that reach an output or another gradient through operators that let gradients pass.
func (c *cutter) flow(q int) error {
	s := &c.plan.Stages[q]
	var wrt, heads, headGrads []op.Entry
	var numbers []int
	for _, number := range s.In {
		if t := &c.plan.Transfers[number]; c.needs[t.Entry.Node] {
			numbers, wrt = append(numbers, number), append(wrt, t.Var.Entry(0))
		}
	}
	heads = append(heads, s.Outputs[:len(s.Finals)]...)
	headGrads = make([]op.Entry, len(heads))
	for i, number := range s.Out {
		if c.plan.Transfers[number].Grad {
			heads = append(heads, s.Outputs[len(s.Finals)+i])
			headGrads = append(headGrads, op.Var("_head").Entry(0))
		}
	}
	grads, err := graph.Gradient(heads, headGrads, wrt)
	if err != nil {
		return err
	}
	for i, g := range grads {
		c.plan.Transfers[numbers[i]].Grad = g.Valid()
	}
	return nil
}
