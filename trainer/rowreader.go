package trainer

import (
	"fmt"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
)

// RowReader finds the rows of a parameter that the network reads in a batch.
type RowReader struct {
	name string
	rows int // of the parameter
	uses []rowRead
}

// NewRowReader looks at the uses of a parameter, v of so many rows, in a graph. It returns an error
// that says why the rows of a batch cannot be known: an operator may read all of them, or they
// depend on other variables than data. stored gives the storage types of variables.
func NewRowReader(outs []op.Entry, v *op.Node, rows int, data func(v *op.Node) bool,
	stored func(v *op.Node) op.Storage) (*RowReader, error) {
	uses, whole := rowsRead(outs, v, stored)
	if whole != nil {
		return nil, fmt.Errorf("operator %s, node %s, may read all its rows", opName(whole),
			whole.Name)
	}
	for _, u := range uses {
		for _, n := range op.Topo([]op.Entry{u.of}) {
			if n.IsVar() && !data(n) || n.Draws() {
				return nil, fmt.Errorf("its rows depend on %s, which is not data", n.Name)
			}
		}
	}
	return &RowReader{v.Name, rows, uses}, nil
}

// opName returns the name of the operator of a node.
func opName(n *op.Node) string {
	if n.IsVar() {
		return "none"
	}
	return n.Op.Name
}

// RowCache has lists of rows that several parameters read in a batch.
type RowCache map[rowRead][]int64

// Read returns the numbers of the rows in ascending order, each once; nil if the network does not
// read the parameter. value gives the arrays of a batch; it may return nil. Parameters that read the
// rows of the same data share a cache.
func (r *RowReader) Read(value func(v *op.Node) *nd.Array, c RowCache) (ids []int64, err error) {
	defer op.Recover(&err)
	for _, u := range r.uses {
		list, ok := c[u]
		if !ok {
			if list, err = r.read(u, value); err != nil {
				return nil, fmt.Errorf("rows of %s: %w", r.name, err)
			}
			c[u] = list
		}
		if ids != nil {
			list = loop.Merge(ids, list)
		}
		ids = list
	}
	return ids, nil
}

// read returns the rows of one use.
func (r *RowReader) read(u rowRead, value func(v *op.Node) *nd.Array) ([]int64, error) {
	values := map[*op.Node]*nd.Array{}
	for _, n := range op.Topo([]op.Entry{u.of}) {
		if !n.IsVar() {
			continue
		}
		a := value(n)
		if a == nil {
			return nil, fmt.Errorf("the batch has no %s, which numbers them", n.Name)
		}
		values[n] = a.Detach()
	}
	a := values[u.of.Node]
	if a == nil {
		list, err := nd.Evaluate(nd.Graph{Outputs: []op.Entry{u.of}, Values: values})
		if err != nil {
			return nil, err
		}
		a = list[0]
		defer a.Close()
	}
	if !u.columns {
		return RowNumbers(a, r.rows)
	}
	if a.Storage() != nd.CSR {
		a = a.ToStorage(nd.CSR)
		defer a.Close()
	}
	return a.Columns()
}

// RowNumbers returns the elements of an array as numbers of rows in ascending order, each once.
// Numbers out of range become the nearest row, as in a lookup.
func RowNumbers(a *nd.Array, rows int) ([]int64, error) {
	values, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(values))
	for i, v := range values {
		ids[i] = int64(min(max(v, 0), float64(rows-1)))
	}
	return loop.GroupBy(ids).Keys, nil
}
