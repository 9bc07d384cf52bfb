package cut

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/graph"
	"gomx/op"
)

// ByGroups places operators by the attribute __ctx_group__, whose values groups maps to stages. An
// operator in no group runs in the latest stage that it reads; one that reads no operator runs in
// the first stage that reads it. A group that groups does not map is an error.
func ByGroups(outs []op.Entry, groups map[string]int, stages int) (map[*op.Node]int, error) {
	order, at := op.Topo(outs), map[*op.Node]int{}
	for _, n := range order {
		if n.IsVar() {
			continue
		}
		if g := graph.Group(n); g != "" {
			q, ok := groups[g]
			if !ok {
				return nil, fmt.Errorf("cut: %q is in group %q, which has no stage; the groups "+
					"with stages are %s", n.Name, g,
					strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
			}
			if q < 0 || q >= stages {
				return nil, fmt.Errorf("cut: group %q is in stage %d, want one of 0 to %d", g, q,
					stages-1)
			}
			at[n] = q
			continue
		}
		for _, e := range n.In {
			if q, ok := at[e.Node]; ok {
				at[n] = max(at[n], q)
			}
		}
	}
	placeByReaders(order, at)
	return at, nil
}

// placeByReaders places the operators that have no stage: in the first stage that reads them, and
// in stage 0 if nothing reads them.
func placeByReaders(order []*op.Node, at map[*op.Node]int) {
	first := map[*op.Node]int{}
	for i := len(order) - 1; i >= 0; i-- {
		n := order[i]
		if n.IsVar() {
			continue
		}
		if _, ok := at[n]; !ok {
			at[n] = first[n]
		}
		for _, e := range n.In {
			if q, ok := first[e.Node]; !ok || at[n] < q {
				first[e.Node] = at[n]
			}
		}
	}
}
