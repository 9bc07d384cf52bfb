package prim

import (
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// DotParams are the parameters of Dot and BatchDot.
type DotParams struct {
	TransposeA   bool   `op:"transpose_a" doc:"sum over the first axis of lhs (Dot), or transpose each of its matrices (BatchDot)"`
	TransposeB   bool   `op:"transpose_b" doc:"sum over the last axis of rhs (Dot), or transpose each of its matrices (BatchDot)"`
	ForwardStype string `op:"forward_stype" default:"None" enum:"None|default|row_sparse|csr" doc:"storage type of a product with a sparse operand; None: the natural one"`
}

// Dot and BatchDot multiply.
var (
	Dot      = op.Declare[DotParams]("dot")
	BatchDot = op.Declare[DotParams]("batch_dot")
	dotGrad  = op.Declare[DotParams]("_backward_dot")
)

func init() {
	Dot.Define(op.Spec[DotParams]{
		Traits: op.Traits{
			Doc: "Dot sums products over the last axis of lhs and the first axis of rhs: the " +
				"product of matrices, and the inner product of vectors, which has shape (1,). " +
				"Arrays of more axes count as matrices that keep the axis of the sum apart. Note " +
				"that this is not NumPy's matmul.",
			Aliases:   []string{"_sparse_dot"},
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs: Inputs[DotParams]("lhs", "rhs"),
		Infer:  inferDot,
		Grad: func(g *op.Grad, p DotParams) []op.Entry {
			stored := []op.Storage{g.Stored(0), g.Stored(1)}
			if _, ok := dotServed(p, stored[0], stored[1]); ok && !op.AllDense(stored) {
				return dotGradStored(g, p)
			}
			return g.Each(dotGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		FLOPs: dotFLOPs,
		Product: func(p DotParams, in []dtype.Shape) device.Product {
			l, r := p.contracted(len(in[0]), len(in[1]))
			return op.ProductOfRows(min(without(in[0], l).Size(), without(in[1], r).Size()))
		},
		Ref: dot,

		Storage: dotStorage, Sparse: dotStored, GradStorage: dotGradStorage,
	})
	dotGrad.Define(op.Spec[DotParams]{
		Traits:  op.Traits{Hidden: true},
		Inputs:  Inputs[DotParams]("grad", "lhs", "rhs"),
		Outputs: func(DotParams) []string { return []string{"lhs_grad", "rhs_grad"} },
		Infer: func(p DotParams, in, out []dtype.Shape) error {
			if err := inferDot(p, in[1:], in[:1]); err != nil {
				return err
			}
			return eachLike(in[1:], out)
		},
		Grad: func(g *op.Grad, p DotParams) []op.Entry {
			return Bilinear(g, func(a, b op.Entry) op.Entry { return Dot.Apply(p, a, b) },
				func(dy, a, b op.Entry) *op.Node { return dotGrad.Node(p, dy, a, b) })
		},
		FLOPs: func(p DotParams, in, _ []dtype.Shape) int64 {
			return 2 * dotFLOPs(p, in[1:], in[:1])
		},
		Ref: dotBackward,
	})
	BatchDot.Define(op.Spec[DotParams]{
		Traits: op.Traits{
			Doc: "BatchDot multiplies matrices one by one: the last two axes of lhs and rhs are " +
				"matrices, the axes before them are equal and count the matrices.",
			Aliases:   []string{"_npx_batch_dot"},
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs: Inputs[DotParams]("lhs", "rhs"),
		Infer:  inferBatchDot,
		Grad:   batchDotGrad,
		FLOPs:  batchDotFLOPs,
		Product: func(p DotParams, in []dtype.Shape) device.Product {
			rows := in[0][len(in[0])-2]
			if p.TransposeA {
				rows = in[0][len(in[0])-1]
			}
			if rows < device.FewRows {
				return device.FewRowProducts
			}
			return device.BatchProducts
		},
		Ref: batchDot,
	})
}

// contracted returns the axes that Dot sums over.
func (p DotParams) contracted(lhs, rhs int) (l, r int) {
	if !p.TransposeA {
		l = lhs - 1
	}
	if p.TransposeB {
		r = rhs - 1
	}
	return l, r
}

// dotFLOPs counts a multiplication and an addition for each element of the sum behind each output.
func dotFLOPs(p DotParams, in, out []dtype.Shape) int64 {
	l, _ := p.contracted(len(in[0]), len(in[1]))
	return 2 * int64(out[0].Size()) * int64(in[0][l])
}

// batchDotFLOPs does so where each matrix of lhs is transposed or not.
func batchDotFLOPs(p DotParams, in, out []dtype.Shape) int64 {
	axis := len(in[0]) - 1
	if p.TransposeA {
		axis--
	}
	return 2 * int64(out[0].Size()) * int64(in[0][axis])
}

func inferDot(p DotParams, in, out []dtype.Shape) error {
	lhs, rhs := in[0], in[1]
	if lhs == nil || rhs == nil {
		return nil
	}
	if len(lhs) == 0 || len(rhs) == 0 {
		return op.Errorf("lhs", "shapes %v and %v, want at least one axis each", lhs, rhs)
	}
	l, r := p.contracted(len(lhs), len(rhs))
	k, ok := meet(lhs[l], rhs[r])
	if !ok {
		return op.Errorf("rhs", "extent %d of axis %d of %v, want %d as axis %d of lhs %v", rhs[r],
			r, rhs, lhs[l], l, lhs)
	}
	lhs[l], rhs[r] = k, k
	want := append(without(lhs, l), without(rhs, r)...)
	if len(want) == 0 {
		want = dtype.Shape{1}
		return op.Require("output", &out[0], want)
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	o := 0
	for i := range lhs {
		if i != l {
			lhs[i] = out[0][o]
			o++
		}
	}
	for i := range rhs {
		if i != r {
			rhs[i] = out[0][o]
			o++
		}
	}
	return nil
}

// matrix is a dense matrix, or its transpose, as float64.
type matrix struct {
	data       []float64
	rows, cols int
	rs, cs     int // strides
}

// asMatrix reads t as a matrix, which transpose turns over.
func asMatrix(t op.Tensor, rows, cols int, transpose bool) matrix {
	m := matrix{data: loop.Floats(t), rows: rows, cols: cols, rs: cols, cs: 1}
	if transpose {
		return m.t()
	}
	return m
}

func (m matrix) t() matrix { return matrix{m.data, m.cols, m.rows, m.cs, m.rs} }

// times returns the product, dense.
func (m matrix) times(b matrix) []float64 {
	out := make([]float64, m.rows*b.cols)
	for i := range m.rows {
		row := out[i*b.cols : (i+1)*b.cols]
		for k := range m.cols {
			a := m.data[i*m.rs+k*m.cs]
			for j := range row {
				row[j] += a * b.data[k*b.rs+j*b.cs]
			}
		}
	}
	return out
}

// operands returns the matrices whose product Dot is.
func (p DotParams) operands(lhs, rhs op.Tensor) (a, b matrix) {
	l, r := p.contracted(len(lhs.Shape), len(rhs.Shape))
	k := lhs.Shape[l]
	m, n := without(lhs.Shape, l).Size(), without(rhs.Shape, r).Size()
	if p.TransposeA {
		a = asMatrix(lhs, k, m, true)
	} else {
		a = asMatrix(lhs, m, k, false)
	}
	if p.TransposeB {
		return a, asMatrix(rhs, n, k, true)
	}
	return a, asMatrix(rhs, k, n, false)
}

// without returns s without one axis.
func without(s dtype.Shape, axis int) dtype.Shape { return slices.Delete(s.Clone(), axis, axis+1) }

func dot(p DotParams, c *op.Call) error {
	a, b := p.operands(c.In[0], c.In[1])
	loop.Store(c.Out[0], 0, a.times(b))
	return nil
}

func dotBackward(p DotParams, c *op.Call) error {
	a, b := p.operands(c.In[1], c.In[2])
	g := asMatrix(c.In[0], a.rows, b.cols, false)
	if da := c.Out[0]; da.Data != nil {
		if p.TransposeA {
			loop.Store(da, 0, b.times(g.t()))
		} else {
			loop.Store(da, 0, g.times(b.t()))
		}
	}
	if db := c.Out[1]; db.Data != nil {
		if p.TransposeB {
			loop.Store(db, 0, g.t().times(a))
		} else {
			loop.Store(db, 0, a.t().times(g))
		}
	}
	return nil
}

func inferBatchDot(p DotParams, in, out []dtype.Shape) error {
	rank := max(len(in[0]), len(in[1]), len(out[0]))
	if rank == 0 {
		return nil
	}
	if rank < 3 {
		return op.Errorf("lhs", "%d axes, want at least 3", rank)
	}
	s := [3]*dtype.Shape{&in[0], &in[1], &out[0]}
	names := [3]string{"lhs", "rhs", "output"}
	for i := range s {
		if err := op.Require(names[i], s[i], unknown(rank)); err != nil {
			return err
		}
	}
	rows, cols := rank-2, rank-1
	order := func(t bool) (int, int) {
		if t {
			return cols, rows
		}
		return rows, cols
	}
	aRow, aCol := order(p.TransposeA)
	bRow, bCol := order(p.TransposeB)
	link := func(i, axis, k, other int) error {
		d, ok := meet((*s[i])[axis], (*s[k])[other])
		if !ok {
			return op.Errorf(names[k], "extent %d of axis %d of %v, want %d as axis %d of %s %v",
				(*s[k])[other], other, *s[k], (*s[i])[axis], axis, names[i], *s[i])
		}
		(*s[i])[axis], (*s[k])[other] = d, d
		return nil
	}
	for range 2 { // the second round carries what the last links found to the first
		for a := range rows {
			if err := link(0, a, 1, a); err != nil {
				return err
			}
			if err := link(1, a, 2, a); err != nil {
				return err
			}
		}
		for _, l := range [][4]int{{0, aCol, 1, bRow}, {0, aRow, 2, rows}, {1, bCol, 2, cols}} {
			if err := link(l[0], l[1], l[2], l[3]); err != nil {
				return err
			}
		}
	}
	return nil
}

// batchDotGrad writes the gradients of C = A·B, with A and B transposed or not, as products.
func batchDotGrad(g *op.Grad, p DotParams) []op.Entry {
	a, b, dy := g.In(0), g.In(1), g.Head(0)
	prod := func(x, y op.Entry, tx, ty bool) op.Entry {
		return BatchDot.Apply(DotParams{TransposeA: tx, TransposeB: ty}, x, y)
	}
	da, db := prod(dy, b, false, !p.TransposeB), prod(a, dy, !p.TransposeA, false)
	if p.TransposeA {
		da = prod(b, dy, p.TransposeB, true)
	}
	if p.TransposeB {
		db = prod(dy, a, true, p.TransposeA)
	}
	return []op.Entry{da, db}
}

func batchDot(p DotParams, c *op.Call) error {
	n := len(c.Out[0].Shape)
	for i := range c.Out[0].Shape[:n-2].Size() {
		a := asMatrix(nth(c.In[0], i), c.In[0].Shape[n-2], c.In[0].Shape[n-1], p.TransposeA)
		b := asMatrix(nth(c.In[1], i), c.In[1].Shape[n-2], c.In[1].Shape[n-1], p.TransposeB)
		out := nth(c.Out[0], i)
		loop.Store(out, 0, a.times(b))
	}
	return nil
}
