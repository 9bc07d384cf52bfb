package graph

import (
	"strings"

	"gomx/op"
)

// Change is one thing that a pass did.
type Change struct {
	Node   string `json:"node"`   // the node that was looked at
	Before string `json:"before"` // what it was
	After  string `json:"after"`  // what stands in its place
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

// describeEntry writes what computes e.
func describeEntry(e op.Entry) string {
	if e.Node.IsVar() {
		return e.Node.Name
	}
	return describe(e.Node, e.Node.In)
}
