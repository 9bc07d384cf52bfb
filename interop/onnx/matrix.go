package onnx

import (
	"slices"
	"strings"

	"gomx/dtype"
	sym "gomx/symbol"
)

// matrixRows are products of matrices.
var matrixRows = map[string]row{
	"MatMul": {2, func(c *call) []*sym.Symbol {
		if s := codedRows(c, true); s != nil || c.err != nil {
			return out(s)
		}
		return out(c.matMul(c.in[0].s, c.in[0].shape, c.in[1].s, c.in[1].shape))
	}},
	"Gemm": {2, gemm},
	"Det": {1, func(c *call) []*sym.Symbol {
		c.scalar = c.in[0].rank() == 2
		return out(sym.LinalgDet(c.x(0)))
	}},
	"Einsum": {1, einsum},
}

// matMul multiplies as NumPy's matmul does: vectors are rows or columns, leading axes broadcast.
func (c *call) matMul(a *sym.Symbol, as dtype.Shape, b *sym.Symbol, bs dtype.Shape) *sym.Symbol {
	if len(as) == 0 || len(bs) == 0 {
		c.fail("product of shapes %v and %v, want at least one axis each", as, bs)
		return a
	}
	row, column := len(as) == 1, len(bs) == 1
	if row {
		as = dtype.Shape{1, as[0]}
		a = c.reshape(a, as)
	}
	if column {
		bs = dtype.Shape{bs[0], 1}
		b = c.reshape(b, bs)
	}
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	if bs[len(bs)-2] != k {
		c.fail("product of shapes %v and %v: %d and %d are to be equal", as, bs, k, bs[len(bs)-2])
		return a
	}
	lead := c.common(as[:len(as)-2], bs[:len(bs)-2])
	var s *sym.Symbol
	if len(bs) == 2 {
		s = sym.Dot(c.reshape(a, dtype.Shape{as[:len(as)-1].Size(), k}), b, sym.DotParams{})
	} else {
		join := func(s *sym.Symbol, rows, cols int) *sym.Symbol {
			s = c.expand(s, append(lead.Clone(), rows, cols))
			return c.reshape(s, dtype.Shape{lead.Size(), rows, cols})
		}
		s = sym.BatchDot(join(a, m, k), join(b, k, n), sym.DotParams{})
	}
	shape := lead.Clone()
	if !row {
		shape = append(shape, m)
	}
	if !column {
		shape = append(shape, n)
	}
	c.scalar = len(shape) == 0
	return c.reshape(s, shape)
}

// gemm is alpha·A·B + beta·C.
func gemm(c *call) []*sym.Symbol {
	if c.in[0].rank() != 2 || c.in[1].rank() != 2 {
		return c.fail("shapes %v and %v, want matrices", c.in[0].shape, c.in[1].shape)
	}
	ta, tb := c.num("transA", 0) != 0, c.num("transB", 0) != 0
	alpha, beta := c.float("alpha", 1), c.float("beta", 1)
	a, b := c.x(0), c.x(1)
	if !ta && alpha == 1 && beta == 1 {
		if s := codedRows(c, !tb); s != nil || c.err != nil {
			return out(s)
		}
	}
	if tb && !ta && alpha == 1 && beta == 1 && c.has(2) && c.in[2].rank() == 1 &&
		c.in[2].shape[0] == c.in[1].shape[0] && c.in[0].typ.IsFloat() {
		return out(sym.FullyConnected(a, sym.FullyConnectedParams{NumHidden: c.in[1].shape[0]},
			sym.With("weight", b), sym.With("bias", c.x(2))))
	}
	s := sym.Dot(a, b, sym.DotParams{TransposeA: ta, TransposeB: tb})
	if alpha != 1 {
		s = times(s, alpha)
	}
	if !c.has(2) {
		return out(s)
	}
	add := c.x(2)
	if beta != 1 {
		add = times(add, beta)
	}
	return out(sym.BroadcastAdd(s, add))
}

// term is an operand of einsum: one label per axis.
type term struct {
	s      *sym.Symbol
	labels []rune
}

// einsum multiplies operands whose axes are joined by labels, and sums over labels that the result
// lacks. A label that occurs twice in one operand takes the diagonal.
func einsum(c *call) []*sym.Symbol {
	terms, result := equation(c)
	if c.err != nil {
		return nil
	}
	var all []rune
	for _, t := range terms {
		for _, l := range t.labels {
			if !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	var product *sym.Symbol
	for _, t := range terms {
		s := spread(c, t, all)
		if product == nil {
			product = s
		} else {
			product = sym.BroadcastMul(product, s)
		}
	}
	var sum, order []int
	var kept []rune
	for i, l := range all {
		if slices.Contains(result, l) {
			kept = append(kept, l)
		} else {
			sum = append(sum, i)
		}
	}
	for _, l := range result {
		i := slices.Index(kept, l)
		if i < 0 {
			return c.fail("label %q of the result is in no operand", l)
		}
		order = append(order, i)
	}
	if len(sum) > 0 {
		product = sym.Sum(product, sym.ReduceParams{Axis: sum})
	}
	c.scalar = len(result) == 0
	if len(order) < 2 {
		return out(sym.Identity(product))
	}
	return out(sym.Transpose(product, sym.TransposeParams{Axes: order}))
}

// spread gives an operand one axis per label of all.
func spread(c *call, t term, all []rune) *sym.Symbol {
	s, labels := t.s, slices.Clone(t.labels)
	for i := 0; i < len(labels); i++ {
		if j := slices.Index(labels[:i], labels[i]); j >= 0 {
			second := i
			s = sym.Diag(s, sym.DiagParams{Axis1: j, Axis2: sym.Some(second)})
			l := labels[i]
			labels = append(slices.Delete(slices.Delete(labels, i, i+1), j, j+1), l)
			i = -1
		}
	}
	var order []int
	shape := dtype.Shape{}
	have := c.shapeOf(s)
	for _, l := range all {
		if i := slices.Index(labels, l); i >= 0 && i < len(have) {
			order = append(order, i)
			shape = append(shape, have[i])
		} else {
			shape = append(shape, 1)
		}
	}
	if len(order) > 1 {
		s = sym.Transpose(s, sym.TransposeParams{Axes: order})
	}
	return c.reshape(s, shape)
}

// equation parses the attribute equation. Axes under an ellipsis get labels of their own.
func equation(c *call) (terms []term, result []rune) {
	left, right, explicit := cutEquation(c.text("equation", ""))
	if len(left) != len(c.in) {
		c.fail("the equation has %d operands, want %d", len(left), len(c.in))
		return nil, nil
	}
	dots := 0
	for i, text := range left {
		if n := c.in[i].rank() - len(slices.DeleteFunc([]rune(text), isDot)); n >= 0 {
			dots = max(dots, n)
		}
	}
	count := map[rune]int{}
	for i, text := range left {
		labels := expandDots(text, c.in[i].rank(), dots)
		if len(labels) != c.in[i].rank() {
			c.fail("the equation has %d labels for input %d of shape %v", len(labels), i,
				c.in[i].shape)
			return nil, nil
		}
		for _, l := range labels {
			count[l]++
		}
		terms = append(terms, term{c.x(i), labels})
	}
	if explicit {
		return terms, expandDots(right, -1, dots)
	}
	for l, n := range count {
		if n == 1 || l < 'A' {
			result = append(result, l)
		}
	}
	slices.Sort(result)
	return terms, result
}

// isDot tells the characters of an ellipsis.
func isDot(r rune) bool { return r == '.' }

// cutEquation splits an equation of einsum into its operands and the result, if it names one.
func cutEquation(text string) (left []string, right string, explicit bool) {
	text = strings.ReplaceAll(text, " ", "")
	before, right, explicit := strings.Cut(text, "->")
	return strings.Split(before, ","), right, explicit
}

// expandDots returns the labels of an operand with rank axes; -1 stands for the result, which has
// all axes of the ellipsis. Axes under the ellipsis have the labels 1, 2, …, from the last one
// backward, most-1 being the first.
func expandDots(text string, rank, most int) []rune {
	var labels []rune
	before, after, found := strings.Cut(text, "...")
	labels = append(labels, []rune(before)...)
	if found {
		n := most
		if rank >= 0 {
			n = rank - len([]rune(before)) - len([]rune(after))
		}
		for i := range max(n, 0) {
			labels = append(labels, rune(1+most-max(n, 0)+i))
		}
		labels = append(labels, []rune(after)...)
	}
	return labels
}
