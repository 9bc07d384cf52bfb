package graph

import (
	"gomx/op"
	"gomx/op/prim"
)

// Pass is one transformation of a graph. It returns the new outputs, which stand for the old ones
// in order, and the number of places that it changed. It leaves the given nodes alone and records
// in the facts the shape and type of each entry that takes the place of another.
//
// Package compile lists the passes in their order, with their reasons.
type Pass func(outs []op.Entry, f *Facts) ([]op.Entry, int)

// Apply runs a pass and returns the new outputs, the number of places that the pass changed, and a
// report of the changes. Outputs stay distinct, and none becomes a variable or a constant: each can
// be written to an array of its own. Afterwards the facts hold the shapes and types of all entries
// that follow from the known ones.
func Apply(p Pass, outs []op.Entry, f *Facts) (list []op.Entry, changes int, report []Change,
	err error) {
	f.changes = nil
	list, changes = p(outs, f)
	report, f.changes = f.changes, nil
	list = f.distinct(list)
	return list, changes, report, f.Complete(list)
}

// distinct copies outputs that are variables or constants, which have arrays of their own, and the
// second of two equal outputs.
func (f *Facts) distinct(outs []op.Entry) []op.Entry {
	seen := map[op.Entry]bool{}
	list := make([]op.Entry, len(outs))
	for i, e := range outs {
		if e.Node.IsVar() || e.Node.Op.Derived || seen[e] {
			e = f.Copied(e)
		}
		seen[e] = true
		list[i] = e
	}
	return list
}

// Copied makes a node that copies e, and records the shape and type of its output.
func (f *Facts) Copied(e op.Entry) op.Entry {
	n, err := op.NewNode(prim.Identity.Op, e.Node.Name+"_copy", nil, e)
	if err != nil {
		panic(err)
	}
	f.copy(n.Entry(0), e)
	return n.Entry(0)
}
