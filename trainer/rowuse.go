package trainer

import (
	"slices"

	"gomx/graph"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/prim"
)

// rowRead is a use of a matrix that reads some of its rows.
type rowRead struct {
	of      op.Entry // numbers of the rows; with columns a csr matrix whose columns they are
	columns bool
}

// rowsRead lists the uses of a variable whose operators read some of its rows: lookups, and products
// of csr matrices with it. Functions of its elements and sums of its rows may come in between. If an
// operator may read all rows, or the graph gives them out, there are no uses, and whole is the node
// that does so. vars gives the storage types of variables.
func rowsRead(outs []op.Entry, v *op.Node, vars func(v *op.Node) op.Storage) (uses []rowRead,
	whole *op.Node) {
	stored := graph.Stored(outs, vars)
	alike := map[op.Entry]bool{v.Entry(0): true} // row r is made of row r of v alone
	for _, n := range op.Topo(outs) {
		for k, e := range n.In {
			if !alike[e] || slices.Contains(n.Op.Ignores, k) {
				continue
			}
			if use, ok := rowUse(n, k, stored); ok {
				uses = append(uses, use)
			} else if keepsRows(n) {
				alike[n.Entry(0)] = true
			} else {
				return nil, n
			}
		}
	}
	for _, e := range outs {
		if alike[e] {
			return nil, e.Node
		}
	}
	return uses, nil
}

// keepsRows reports whether row r of the output of a node is made of row r of its only input.
func keepsRows(n *op.Node) bool {
	if len(n.In) != 1 {
		return false
	}
	var p prim.ReduceParams
	switch q := n.Params.(type) {
	case prim.SquareSumParams:
		p = prim.ReduceParams(q)
	case prim.ReduceParams:
		p = q
	default:
		return n.Op.Pointwise || n.Op.Identity
	}
	return len(p.Axis) > 0 && !p.Exclude && slices.Min(p.Axis) > 0
}

// rowUse describes how node n reads the rows of its input k; ok reports whether it reads some only.
func rowUse(n *op.Node, k int, stored map[op.Entry]op.Storage) (u rowRead, ok bool) {
	switch n.Op {
	case index.Embedding.Op, index.SparseEmbedding.Op:
		return rowRead{of: n.In[0]}, k == 1
	case index.Take.Op:
		p, ok := n.Params.(index.TakeParams)
		return rowRead{of: n.In[1]}, ok && k == 0 && p.Axis == 0 && p.Mode != "wrap"
	case prim.Dot.Op:
		p, ok := n.Params.(prim.DotParams)
		x := n.In[0]
		// Functions of the elements of a csr matrix leave its columns as they are.
		for stored[x] == op.CSR && !x.Node.IsVar() && len(x.Node.In) == 1 && x.Node.Op.Pointwise {
			x = x.Node.In[0]
		}
		return rowRead{of: x, columns: true}, ok && k == 1 && stored[x] == op.CSR &&
			!p.TransposeA && !p.TransposeB
	}
	return u, false
}
