package symbol

import (
	"fmt"

	"gomx/compile"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/prim"
)

// ListAttr returns the attributes of the node whose output s is, as AttrDict has them.
func (s *Symbol) ListAttr() map[string]string { return s.AttrDict()[s.Name()] }

// Children returns a symbol whose outputs are the inputs of the nodes of s; nil for variables.
func (s *Symbol) Children() *Symbol {
	if s.err != nil || len(s.outputs) == 0 {
		return s
	}
	c := &Symbol{}
	for _, e := range s.outputs {
		c.outputs = append(c.outputs, e.Node.In...)
	}
	if len(c.outputs) == 0 {
		return nil
	}
	return c
}

// Storage is how the values of an array lie in memory.
type Storage string

// The storage types by MXNet's names.
const (
	StorageDefault   Storage = "default"
	StorageRowSparse Storage = "row_sparse"
	StorageCSR       Storage = "csr"
)

// storageCodes are MXNet's numbers in the attribute __storage_type__.
var storageCodes = map[string]Storage{"": StorageDefault, "-1": StorageDefault, "0": StorageDefault,
	"1": StorageRowSparse, "2": StorageCSR,
	"default": StorageDefault, "row_sparse": StorageRowSparse, "csr": StorageCSR}

// InferStorage returns the storage types of arguments, outputs and auxiliary states from the
// storage types of some variables and from the attribute __storage_type__. Sparse variables are
// made dense where an operator reads them, as MXNet does with operators that have no sparse kernel.
// So every computed value is dense; only identity and BlockGrad pass the storage type of their
// input on.
func (s *Symbol) InferStorage(given map[string]Storage) (args, outs, aux []Storage, err error) {
	if err := s.checkNames(); err != nil {
		return nil, nil, nil, err
	}
	known := map[op.Entry]Storage{}
	used := map[string]bool{}
	for _, n := range s.Nodes() {
		if !n.IsVar() {
			known[n.Entry(0)] = StorageDefault
			if n.Op == prim.Identity.Op || n.Op == loss.BlockGrad.Op {
				known[n.Entry(0)] = known[n.In[0]]
			}
			continue
		}
		t, ok := storageCodes[n.Attrs["__storage_type__"]]
		if !ok {
			return nil, nil, nil, &op.Error{Op: "Var", Node: n.Name, Arg: "__storage_type__",
				Msg: fmt.Sprintf("%q, want 0, 1 or 2", n.Attrs["__storage_type__"])}
		}
		if g, ok := given[n.Name]; ok {
			if t, ok = storageCodes[string(g)]; !ok {
				return nil, nil, nil, fmt.Errorf(
					"symbol: storage %q of %s, want default, row_sparse or csr", g, n.Name)
			}
			used[n.Name] = true
		}
		known[n.Entry(0)] = t
	}
	for _, name := range sortedKeys(given) {
		if !used[name] {
			return nil, nil, nil, fmt.Errorf(
				"symbol: storage given for %q, which is not a variable of the graph", name)
		}
	}
	of := func(nodes []*op.Node) []Storage {
		list := make([]Storage, len(nodes))
		for i, v := range nodes {
			list[i] = known[v.Entry(0)]
		}
		return list
	}
	vars, auxVars := s.variables()
	for _, e := range s.outputs {
		t := known[e]
		if t == "" {
			t = StorageDefault
		}
		outs = append(outs, t)
	}
	return of(vars), outs, of(auxVars), nil
}

// StorageType gives a variable a storage type.
func StorageType(t Storage) Option {
	code := map[Storage]string{StorageDefault: "0", StorageRowSparse: "1", StorageCSR: "2"}[t]
	return Attr("__storage_type__", code)
}

// InferTypePartial is like InferType, but types that cannot be inferred stay unknown and do not
// become float32.
func (s *Symbol) InferTypePartial(types map[string]dtype.Type) (args, outs, aux []dtype.Type,
	err error) {
	if err := s.checkNames(); err != nil {
		return nil, nil, nil, err
	}
	r, err := compile.Seed(s.outputs, compile.Given{Types: types})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := graph.InferTypes(r.Graph, r.Types); err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	for _, e := range r.Graph.Outputs {
		outs = append(outs, r.Types[e])
	}
	return typesOf(r, vars), outs, typesOf(r, auxVars), nil
}
