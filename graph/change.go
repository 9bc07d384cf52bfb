package graph

import (
	"strings"

	"gomx/op"
)

// Change is one thing that a pass did.
type Change struct {
	Node   string `json:"node"`   // name of the node that the pass replaced or made
	Before string `json:"before"` // text of the old expression
	After  string `json:"after"`  // text of the expression in its place
}

// describe writes n as an expression of its inputs.
func describe(n *op.Node, in []op.Entry) string {
	const most = 4
	list := make([]string, 0, most)
	for i, e := range in {
		if i == most {
			list = append(list, "…")
			break
		}
		list = append(list, e.String())
	}
	return n.Op.Name + "(" + strings.Join(list, ", ") + ")"
}

// describeEntry writes the node that computes e as an expression; a variable is its name.
func describeEntry(e op.Entry) string {
	if e.Node.IsVar() {
		return e.Node.Name
	}
	return describe(e.Node, e.Node.In)
}
