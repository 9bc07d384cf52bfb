package gorgonia

import (
	"fmt"

	"gomx/dtype"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

// product is a product of matrices and vectors.
type product struct {
	kind           productKind
	transA, transB bool
}

type productKind uint8

const (
	matrices productKind = iota
	matrixVector
	inner
	outer
	batches
)

// products maps the texts of operations to products.
var products = map[string]product{
	"A × B":  {kind: matrices},
	"Aᵀ × B": {kind: matrices, transA: true}, "A × Bᵀ": {kind: matrices, transB: true},
	"Aᵀ × Bᵀ": {kind: matrices, transA: true, transB: true},
	"A × b":   {kind: matrixVector}, "Aᵀ × b": {kind: matrixVector, transA: true},
	"a ⋅ b": {kind: inner}, "a ⊗ b": {kind: outer},
	"A ××× B":  {kind: batches},
	"Aᵀ ××× B": {kind: batches, transA: true}, "A ××× Bᵀ": {kind: batches, transB: true},
	"Aᵀ ××× Bᵀ": {kind: batches, transA: true, transB: true},
}

// product converts a product.
func (c *converter) product(n *G.Node, p product) (value, error) {
	in, err := c.operandsOf(n, 2)
	if err != nil {
		return value{}, err
	}
	a, transA := c.graph.untransposed(in[0], p.transA, p.kind == matrices || p.kind == matrixVector)
	b, transB := c.graph.untransposed(in[1], p.transB, p.kind == matrices)
	lhs, err := c.whole(a)
	if err != nil {
		return value{}, err
	}
	rhs, err := c.whole(b)
	if err != nil {
		return value{}, err
	}
	params := sym.DotParams{TransposeA: transA, TransposeB: transB}
	switch p.kind {
	case matrices:
		return value{sym: sym.Dot(lhs, rhs, params), shape: dtype.Shape{extent(a, 0, transA),
			extent(b, 1, transB)}}, nil
	case matrixVector:
		return value{sym: sym.Dot(lhs, vector(b, rhs, -1), params),
			shape: dtype.Shape{extent(a, 0, transA)}}, nil
	case inner:
		return value{sym: sym.Dot(vector(a, lhs, -1), vector(b, rhs, -1), params),
			shape: dtype.Shape{1}}, nil
	case outer:
		return value{sym: sym.BroadcastMul(vector(a, lhs, -1, 1), vector(b, rhs, 1, -1)),
			shape: dtype.Shape{a.Shape().TotalSize(), b.Shape().TotalSize()}}, nil
	}
	if dims := len(n.Shape()); dims != 3 {
		return value{}, fmt.Errorf("has operands of %d axes, want 3", dims)
	}
	return value{sym: sym.BatchDot(lhs, rhs, params), shape: shapeOf(n)}, nil
}

// untransposed returns the matrix before a transposition, because products can transpose operands
// themselves.
func (g view) untransposed(n *G.Node, trans, look bool) (*G.Node, bool) {
	if in := g.operands(n); look && operationOf(n).text == "Aᵀ{1, 0}" && len(in) == 1 {
		return in[0], !trans
	}
	return n, trans
}

// extent returns the extent of an axis of matrix n, after its transposition if trans is set.
func extent(n *G.Node, axis int, trans bool) int {
	if trans {
		axis = 1 - axis
	}
	return n.Shape()[axis]
}

// vector reshapes a vector, which Gorgonia may also represent as a matrix of one column or row.
func vector(n *G.Node, s *sym.Symbol, shape ...int) *sym.Symbol {
	if len(n.Shape()) == len(shape) && len(shape) == 1 {
		return s
	}
	return sym.Reshape(s, sym.ReshapeParams{Shape: shape})
}
