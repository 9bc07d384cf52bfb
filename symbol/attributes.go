package symbol

import (
	"fmt"
	"slices"

	"gomx/compile"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
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

// InferStorage returns the storage types of arguments, outputs and auxiliary states from the
// storage types of some variables and from the attribute __storage_type__, as MXNet infers them.
// Sparse values are made dense where an operator has no kernel for them; its outputs are dense then.
func (s *Symbol) InferStorage(given map[string]Storage) (args, outs, aux []Storage, err error) {
	if err := s.checkNames(); err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	known := map[*op.Node]op.Storage{}
	used := map[string]bool{}
	for _, v := range slices.Concat(vars, auxVars) {
		t, err := compile.DeclaredStorage(v)
		if err != nil {
			return nil, nil, nil, err
		}
		if g, ok := given[v.Name]; ok {
			if t, err = op.ParseStorage(string(g)); err != nil {
				return nil, nil, nil, fmt.Errorf(
					"symbol: storage %q of %s, want default, row_sparse or csr", g, v.Name)
			}
			used[v.Name] = true
		}
		known[v] = t
	}
	for _, name := range sortedKeys(given) {
		if !used[name] {
			return nil, nil, nil, fmt.Errorf(
				"symbol: storage given for %q, which is not a variable of the graph", name)
		}
	}
	stored := graph.Stored(s.outputs, func(v *op.Node) op.Storage { return known[v] })
	of := func(nodes []*op.Node) []Storage {
		list := make([]Storage, len(nodes))
		for i, v := range nodes {
			list[i] = Storage(known[v].String())
		}
		return list
	}
	for _, e := range s.outputs {
		outs = append(outs, Storage(stored[e].String()))
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
