package gorgonia

import (
	"context"
	"fmt"
	"slices"

	nd "gomx/ndarray"
	"gomx/op"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ToGraph copies weights into the inputs with the same names that out depends on: for example
// trained parameters, back into the graph from which FromGraph took them. It overwrites the tensors
// of the inputs in place, so machines and solvers see the new values; an input without a value gets
// one. Constants keep their values. If an input is missing or has another shape or type, ToGraph
// returns an error and copies nothing.
func ToGraph(ctx context.Context, weights map[string]*nd.Array, out ...*G.Node) (err error) {
	defer op.Recover(&err)
	inputs, constants, err := inputsOf(out)
	if err != nil {
		return err
	}
	var names []string
	for name := range weights {
		if !constants[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		n, ok := inputs[name]
		if !ok {
			return fmt.Errorf("gorgonia: there is no input %q in the graph", name)
		}
		if err := accepts(n, weights[name]); err != nil {
			return blame(n, err)
		}
	}
	for _, name := range names {
		if err := assign(ctx, inputs[name], weights[name]); err != nil {
			return blame(inputs[name], err)
		}
	}
	return nil
}

// inputsOf returns the inputs that nodes depend on, and the names of constants.
func inputsOf(out []*G.Node) (inputs map[string]*G.Node, constants map[string]bool, err error) {
	graph, err := viewOf(out)
	if err != nil {
		return nil, nil, err
	}
	inputs, constants = map[string]*G.Node{}, map[string]bool{}
	seen := map[*G.Node]bool{}
	todo := slices.Clone(out)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		switch {
		case n.Op() == nil:
			inputs[nameOf(n)] = n
		case isConstant(n):
			constants[constantName(n)] = true
		default:
			todo = append(todo, graph.operands(n)...)
		}
	}
	return inputs, constants, nil
}

// accepts returns an error if the values of a do not fit input n.
func accepts(n *G.Node, a *nd.Array) error {
	e, err := elementOf(n.Dtype())
	if err != nil {
		return err
	}
	if want := shapeOf(n); !a.Shape().Equal(want) || a.DType() != e.dtype {
		return fmt.Errorf("got values of shape %v and type %v, want %v and %v", a.Shape(),
			a.DType(), want, e.dtype)
	}
	return nil
}

// assign copies the values of a into input n.
func assign(ctx context.Context, n *G.Node, a *nd.Array) error {
	if d, ok := n.Value().(*tensor.Dense); ok && !d.IsScalar() && !d.RequiresIterator() &&
		d.DataOrder().IsRowMajor() && n.Dtype() != tensor.Int {
		return a.CopyTo(ctx, d.Data())
	}
	d, err := toDense(ctx, a, n.Dtype())
	if err != nil {
		return err
	}
	if len(n.Shape()) == 0 {
		return G.Let(n, d.Get(0))
	}
	if err := d.Reshape(n.Shape()...); err != nil {
		return err
	}
	return G.Let(n, d)
}

// toDense copies a into a new tensor of element type t.
func toDense(ctx context.Context, a *nd.Array, t tensor.Dtype) (*tensor.Dense, error) {
	shape := tensor.WithShape(a.Shape()...)
	if t != tensor.Int {
		d := tensor.New(shape, tensor.Of(t))
		return d, a.CopyTo(ctx, d.Data())
	}
	wide := make([]int64, a.Size())
	if err := a.CopyTo(ctx, wide); err != nil {
		return nil, err
	}
	narrow := make([]int, len(wide))
	for i, v := range wide {
		narrow[i] = int(v)
	}
	return tensor.New(shape, tensor.WithBacking(narrow)), nil
}
