package op

import (
	"fmt"
	"slices"
)

// Node is a vertex of a graph: a variable, or an operator applied to entries. A node is immutable
// once others refer to it.
type Node struct {
	Op     *Op // nil for a variable
	Name   string
	Params any               // normalized; nil for a variable
	Attrs  map[string]string // attributes as given or loaded, dunder ones included; may be nil
	In     []Entry
	After  []*Node // control dependencies: run before this node
	Site   string  // file:line that made the node, when known
	// Grad replaces the gradient function of the operator; nil: it does not
	Grad func(g *Grad) []Entry
	// of nodes that compute gradients, when known: the place in the backward part of what they
	// differentiate, from 1 on
	Turn int
	// Serial is the 1-based place among the operations that a tape or a tracing recorded; 0 where
	// nothing recorded the node. Sums of gradients follow it.
	Serial int
	// Storage has the storage types of the inputs of a node that a tape recorded; nil: all are
	// dense.
	Storage []Storage
	// Alias is the legacy alias under which a file had the operator; empty: none
	Alias string
}

// Entry is one output of a node. The zero Entry is "none".
type Entry struct {
	Node  *Node
	Index int
}

// Valid reports whether e refers to a node.
func (e Entry) Valid() bool { return e.Node != nil }

// String formats e as MXNet names outputs: the name of a variable, "fc1_output", "bn_mean".
func (e Entry) String() string {
	if e.Node == nil {
		return "none"
	}
	if e.Node.Op == nil {
		return e.Node.Name
	}
	outs := e.Node.Op.Outputs(e.Node.Params)
	if e.Index >= len(outs) {
		return fmt.Sprintf("%s[%d]", e.Node.Name, e.Index)
	}
	return e.Node.Name + "_" + outs[e.Index]
}

// Var makes a variable.
func Var(name string) *Node { return &Node{Name: name} }

// IsVar reports whether n is a variable.
func (n *Node) IsVar() bool { return n.Op == nil }

// NumOutputs returns the number of outputs, hidden ones included; a variable has one.
func (n *Node) NumOutputs() int {
	if n.Op == nil {
		return 1
	}
	return len(n.Op.Outputs(n.Params))
}

// NumVisible returns the number of outputs that composition sees.
func (n *Node) NumVisible() int {
	if n.Op == nil {
		return 1
	}
	return n.Op.NumVisible(n.Params)
}

// Entry returns output i.
func (n *Node) Entry(i int) Entry { return Entry{n, i} }

// Mutates reports whether the node changes its input i in place, in training or always.
func (n *Node) Mutates(i int) bool {
	if n.Op == nil {
		return false
	}
	return slices.Contains(n.Op.changes(n.Params), i)
}

// Draws reports whether the node draws random numbers.
func (n *Node) Draws() bool { return n.Op != nil && n.Op.draws(n.Params) }

// NewNode makes a node from parameters that it normalizes, and checks the number of inputs.
func NewNode(o *Op, name string, params any, in ...Entry) (*Node, error) {
	if o.Variadic {
		if params == nil {
			params, _ = o.Normalize(nil)
		}
		params = o.WithCount(params, len(in))
	}
	p, err := o.Normalize(params)
	if err != nil {
		return nil, WithOp(err, o.Name, name, "")
	}
	if want := o.Inputs(p); len(want) != len(in) {
		return nil, &Error{Op: o.Name, Node: name, Msg: fmt.Sprintf("%d inputs, want %d: %s",
			len(in), len(want), inputNames(want))}
	}
	return &Node{Op: o, Name: name, Params: p, In: in}, nil
}

func inputNames(in []Input) string {
	s := ""
	for i, v := range in {
		if i > 0 {
			s += ", "
		}
		s += v.Name
	}
	return s
}

// Node applies the operator to entries, for gradients and passes. Wrong parameters or a wrong
// number of inputs are mistakes of the operator's author and panic.
func (h Handle[P]) Node(p P, in ...Entry) *Node {
	n, err := NewNode(h.Op, "", p, in...)
	if err != nil {
		panic(err)
	}
	return n
}

// Apply applies the operator and returns the first output.
func (h Handle[P]) Apply(p P, in ...Entry) Entry { return Entry{h.Node(p, in...), 0} }

// Topo returns the nodes that the outputs depend on, each after its inputs and control
// dependencies, in the order of a depth-first walk, as nnvm does it.
func Topo(outputs []Entry) []*Node {
	type frame struct {
		n    *Node
		next int
	}
	var order []*Node
	seen := map[*Node]bool{}
	var stack []frame
	visit := func(n *Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			stack = append(stack, frame{n, 0})
		}
	}
	for _, e := range outputs {
		visit(e.Node)
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			i := f.next
			f.next++
			switch {
			case i < len(f.n.In):
				visit(f.n.In[i].Node)
			case i < len(f.n.In)+len(f.n.After):
				visit(f.n.After[i-len(f.n.In)])
			default:
				order = append(order, f.n)
				stack = stack[:len(stack)-1]
			}
		}
	}
	return order
}
