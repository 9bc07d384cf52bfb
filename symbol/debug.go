package symbol

import (
	"fmt"
	"strings"

	"gomx/op"
)

// DebugStr lists the graph as text, as MXNet's debug_str does: the outputs, then every variable and
// every operator in topological order, with the inputs of the operator, its attributes and the
// operators that must run before it. The version of a variable says how many operators have changed
// it by then, as a batch norm does with its moving averages.
func (s *Symbol) DebugStr() string {
	if s.err != nil {
		return s.String() + "\n"
	}
	nodes := s.Nodes()
	var b strings.Builder
	if len(s.outputs) == 1 && s.outputs[0].Node.IsVar() {
		return "Variable:" + s.Name() + "\n"
	}
	b.WriteString("Symbol Outputs:\n")
	for i, e := range s.outputs {
		fmt.Fprintf(&b, "\toutput[%d]=%s(%d)\n", i, e.Node.Name, e.Index)
	}
	v := versions{}
	for _, n := range nodes {
		if n.IsVar() {
			fmt.Fprintf(&b, "Variable:%s\n", n.Name)
			continue
		}
		debugNode(&b, n, v.of(n))
	}
	return b.String()
}

// debugNode lists one operator; read are the versions of its inputs.
func debugNode(b *strings.Builder, n *op.Node, read []int) {
	fmt.Fprintf(b, "--------------------\nOp:%s, Name=%s\nInputs:\n", n.Op.Name, n.Name)
	for i, e := range n.In {
		fmt.Fprintf(b, "\targ[%d]=%s(%d)", i, e.Node.Name, e.Index)
		if e.Node.IsVar() {
			fmt.Fprintf(b, " version=%d", read[i])
		}
		b.WriteString("\n")
	}
	if attrs := attrsOf(n); len(attrs) > 0 {
		b.WriteString("Attrs:\n")
		for _, k := range sortedKeys(attrs) {
			fmt.Fprintf(b, "\t%s=%s\n", k, attrs[k])
		}
	}
	if len(n.After) > 0 {
		b.WriteString("Control deps:\n")
		for i, d := range n.After {
			fmt.Fprintf(b, "\tcdep[%d]=%s\n", i, d.Name)
		}
	}
}

// versions counts how many operators have changed a variable, going through nodes in topological
// order.
type versions map[*op.Node]int

// of returns the version of every input of n. For a variable that n changes it counts the change
// and returns the version after it.
func (v versions) of(n *op.Node) []int {
	list := make([]int, len(n.In))
	for i, e := range n.In {
		list[i] = v[e.Node]
	}
	for i, e := range n.In {
		if e.Node.IsVar() && n.Mutates(i) {
			v[e.Node]++
			list[i] = v[e.Node]
		}
	}
	return list
}
