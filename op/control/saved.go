package control

import (
	"fmt"
	"slices"

	"gomx/op"
)

// extended is a graph inside an operator whose outputs are followed by the values that its gradient
// reads. A loop keeps them for all steps; values that no gradient reads are not computed.
type extended struct {
	graph *op.Graph
	saved map[op.Entry]int  // places among the saved outputs
	fwd   map[*op.Node]bool // nodes of the graph
	still map[*op.Node]bool // nodes that give the same in every step
	err   error             // says why the graph has no gradient in full
}

// extendedKey finds an extended graph among the results that a graph keeps.
type extendedKey string

// extend finds the values that the gradient of a graph reads. fixed tells the inputs that are the
// same in all steps, carried the inputs that are states.
//
// Saved values may have gradients in turn, when a gradient is differentiated: they count as outputs
// until no further value is found.
func extend(g *op.Graph, isFixed, carried []bool) *extended {
	return g.Memo(extendedKey(fmt.Sprint(isFixed, carried)), func() any {
		x := newExtended(g, isFixed)
		if err := x.collect(g, carried); err != nil {
			x = newExtended(g, isFixed)
			x.err = err
		}
		for _, n := range g.Nodes() {
			if !n.IsVar() && (n.Draws() || len(n.Op.Changes(n.Params)) > 0) {
				for i := range n.NumOutputs() {
					x.save(n.Entry(i))
				}
			}
		}
		for k, v := range g.Inputs {
			if carried[k] {
				x.save(v.Entry(0))
			}
		}
		return x
	}).(*extended)
}

func newExtended(g *op.Graph, isFixed []bool) *extended {
	x := &extended{graph: &op.Graph{Inputs: g.Inputs, Outputs: slices.Clip(g.Outputs)},
		saved: map[op.Entry]int{}, fwd: map[*op.Node]bool{}, still: map[*op.Node]bool{}}
	for k, v := range g.Inputs {
		x.fwd[v], x.still[v] = true, isFixed[k]
	}
	for _, n := range g.Nodes() {
		if x.fwd[n] = true; n.IsVar() {
			continue
		}
		still := !n.Draws() && len(n.Op.Changes(n.Params)) == 0
		for _, e := range n.In {
			still = still && x.still[e.Node]
		}
		x.still[n] = still
	}
	return x
}

// save makes an entry an output, unless it is one of the saved ones.
func (x *extended) save(e op.Entry) {
	if _, ok := x.saved[e]; !ok {
		x.saved[e] = len(x.saved)
		x.graph.Outputs = append(x.graph.Outputs, e)
	}
}

// collect saves the values that the gradients of all inputs read.
func (x *extended) collect(g *op.Graph, carried []bool) error {
	var wrt []op.Entry
	for k, v := range g.Inputs {
		if !g.Changed()[k] {
			wrt = append(wrt, v.Entry(0))
		}
	}
	for found := -1; found < len(x.saved); {
		found = len(x.saved)
		outs := slices.Clone(x.graph.Outputs)
		heads := make([]op.Entry, len(outs))
		for i := range heads {
			heads[i] = op.Var("head").Entry(0)
		}
		grads, err := op.Backprop(outs, heads, wrt)
		if err != nil {
			return err
		}
		for _, n := range op.Topo(valid(grads)) {
			if x.fwd[n] || n.IsVar() {
				continue
			}
			for k, e := range n.In {
				if x.fwd[e.Node] && !x.still[e.Node] && !slices.Contains(n.Op.Ignores, k) &&
					!e.Node.IsVar() {
					x.save(e)
				}
			}
		}
	}
	return nil
}

// valid returns the entries of a list that refer to nodes.
func valid(list []op.Entry) []op.Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e op.Entry) bool { return !e.Valid() })
}

// mover copies gradients of a graph into a graph of their own. It finds the values that they read
// among the inputs of that graph: values that the forward operator has saved, and its inputs. A
// value of which only the shape is read is computed from inputs of the same shape, so that passes
// can leave the computation out.
type mover struct {
	x     *extended
	value func(e op.Entry) op.Entry // input for a saved value or a variable; none: the zero Entry
	shape func(e op.Entry) op.Entry // input for the shape of a variable
	made  [2]map[*op.Node]*op.Node  // copies: of values, of shapes
}

func newMover(x *extended, value, shape func(e op.Entry) op.Entry) *mover {
	return &mover{x: x, value: value, shape: shape,
		made: [2]map[*op.Node]*op.Node{{}, {}}}
}

// move returns e in the new graph. Variables that belong to no forward graph stay as they are. It
// panics with *op.Error for a value that is neither saved nor may be computed again.
func (m *mover) move(e op.Entry, shape bool) op.Entry {
	n, forward := e.Node, m.x.fwd[e.Node]
	switch {
	case !forward && n.IsVar():
		return e
	case forward && n.IsVar() && shape:
		return m.shape(e)
	case forward && n.IsVar():
		return m.value(e)
	}
	again := !n.Draws() && len(n.Op.Changes(n.Params)) == 0
	if forward && !m.x.still[n] && (!shape || !again) {
		if v := m.value(e); v.Valid() {
			return v
		}
		if !again {
			panic(&op.Error{Op: n.Op.Name, Node: n.Name, Site: n.Site,
				Msg: "its value is not saved for a gradient and cannot be computed again"})
		}
	}
	at := 0
	if forward && shape {
		at = 1
	}
	c := m.made[at][n]
	if c == nil {
		copied := *n
		c = &copied
		c.After, c.Turn = nil, 0
		c.In = make([]op.Entry, len(n.In))
		for k, in := range n.In {
			c.In[k] = m.move(in, at == 1 || slices.Contains(n.Op.Ignores, k))
		}
		m.made[at][n] = c
	}
	return c.Entry(e.Index)
}
