package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Graph is a graph inside a parameter: the body of a loop, or a branch of a choice. A parameter
// struct holds it in a field of type *Graph with the option graph:
//
//	Body *op.Graph `op:"body,graph" doc:"one step"`
//
// Symbol files keep such graphs in the list subgraphs of a node, in the order of the fields. A
// Graph is immutable and safe for concurrent use.
type Graph struct {
	// Inputs are the variables of the graph. The order is the order in which a walk from the
	// outputs meets them, for graphs made by NewGraph; an input that no output depends on is
	// allowed. Names differ from each other, where variables have names.
	Inputs  []*Node
	Outputs []Entry

	memo sync.Map // results of Memo by key
}

// NewGraph makes the graph that computes outputs. Its inputs are the variables that the outputs
// depend on, in the order of Topo.
func NewGraph(outputs []Entry) *Graph {
	g := &Graph{Outputs: outputs}
	for _, n := range Topo(outputs) {
		if n.IsVar() {
			g.Inputs = append(g.Inputs, n)
		}
	}
	return g
}

// Memo returns the result of make, which it calls at the first use of key only. make must be pure.
func (g *Graph) Memo(key any, make func() any) any {
	if v, ok := g.memo.Load(key); ok {
		return v
	}
	v, _ := g.memo.LoadOrStore(key, make())
	return v
}

// Nodes returns the nodes of the graph, each after its inputs. The list belongs to g.
func (g *Graph) Nodes() []*Node {
	return g.Memo(graphNodes, func() any { return Topo(g.Outputs) }).([]*Node)
}

// memoKey names a result that this package keeps in a graph.
type memoKey uint8

const (
	graphNodes memoKey = iota
	graphDraws
	graphChanged
	graphKey
)

// Draws reports whether a node of the graph draws random numbers.
func (g *Graph) Draws() bool {
	return g.Memo(graphDraws, func() any {
		return slices.ContainsFunc(g.Nodes(), (*Node).Draws)
	}).(bool)
}

// Changed reports for every input whether a node of the graph changes it in place, as a batch norm
// changes its moving averages. The list belongs to g.
func (g *Graph) Changed() []bool {
	return g.Memo(graphChanged, func() any {
		set := map[*Node]bool{}
		for _, n := range g.Nodes() {
			for k, e := range n.In {
				if n.Mutates(k) {
					set[e.Node] = true
				}
			}
		}
		list := make([]bool, len(g.Inputs))
		for i, v := range g.Inputs {
			list[i] = set[v]
		}
		return list
	}).([]bool)
}

// check reports inputs that are no variables or share a name, and variables that are no inputs.
func (g *Graph) check() error {
	seen := map[string]bool{}
	inputs := map[*Node]bool{}
	for i, v := range g.Inputs {
		switch {
		case !v.IsVar():
			return fmt.Errorf("input %d is computed by %s, want a variable", i, v.Op.Name)
		case seen[v.Name] && v.Name != "":
			return fmt.Errorf("two inputs are called %q", v.Name)
		}
		seen[v.Name], inputs[v] = true, true
	}
	for _, n := range g.Nodes() {
		if n.IsVar() && !inputs[n] {
			return fmt.Errorf("variable %q is no input", n.Name)
		}
	}
	return nil
}

// key returns an encoding that is equal only for graphs that compute the same.
func (g *Graph) key() []byte {
	if g == nil {
		return []byte{0}
	}
	key := g.Memo(graphKey, func() any { return g.encode() }).(string)
	return append(binary.AppendVarint(nil, int64(len(key))), key...)
}

// encode spells operators, parameters and connections; names of nodes are left out. A node with a
// gradient of its own is equal to itself only.
func (g *Graph) encode() string {
	var b []byte
	id := map[*Node]int64{}
	for i, v := range g.Inputs {
		id[v] = int64(-1 - i)
	}
	entry := func(e Entry) {
		b = binary.AppendVarint(binary.AppendVarint(b, id[e.Node]), int64(e.Index))
	}
	for i, n := range g.Nodes() {
		if n.IsVar() {
			continue
		}
		id[n] = int64(i)
		b = append(append(b, n.Op.Name...), 0)
		b = n.Op.appendAny(b, n.Params)
		for _, v := range n.Op.AppendRun(nil, n.Params) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		for _, e := range n.In {
			entry(e)
		}
		if n.Grad != nil {
			b = fmt.Appendf(b, "%p", n)
		}
	}
	b = append(b, 0)
	for _, e := range g.Outputs {
		entry(e)
	}
	return string(b)
}

// Graphs returns the graphs among normalized parameters, in the order of their fields.
func (o *Op) Graphs(params any) []*Graph { return o.schema.graphs(params) }

// NumGraphs returns the number of graphs among the parameters.
func (o *Op) NumGraphs() int {
	n := 0
	for i := range o.schema.params {
		if o.schema.params[i].Graph {
			n++
		}
	}
	return n
}

// WithGraphs returns parsed parameters with graphs, one for each field that holds a graph, and
// checks that they fit together.
func (o *Op) WithGraphs(params any, list []*Graph) (any, error) {
	if want := o.NumGraphs(); len(list) != want {
		return nil, &Error{Op: o.Name, Arg: "subgraphs",
			Msg: fmt.Sprintf("%d graphs, want %d", len(list), want)}
	}
	p := o.schema.withGraphs(params, list)
	if err := o.checkParams(p); err != nil {
		return nil, err
	}
	return p, nil
}

// checkParams reports graphs that are missing or malformed, and parameters that contradict each
// other.
func (o *Op) checkParams(params any) error {
	for i, g := range o.Graphs(params) {
		if g == nil {
			return &Error{Op: o.Name, Arg: "subgraphs", Msg: fmt.Sprintf("graph %d is missing", i)}
		}
		if err := g.check(); err != nil {
			return &Error{Op: o.Name, Arg: "subgraphs", Msg: fmt.Sprintf("graph %d: %v", i, err)}
		}
	}
	if o.check == nil {
		return nil
	}
	return WithOp(o.check(params), o.Name, "", "")
}
