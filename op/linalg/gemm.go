package linalg

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// GemmParams configures Gemm.
type GemmParams struct {
	TransposeA bool            `op:"transpose_a" doc:"transpose the matrices A"`
	TransposeB bool            `op:"transpose_b" doc:"transpose the matrices B"`
	Alpha      op.Opt[float64] `op:"alpha" default:"1" doc:"factor of the product"`
	Beta       op.Opt[float64] `op:"beta" default:"1" doc:"factor of C"`
	Axis       op.Opt[int]     `op:"axis" default:"-2" doc:"axis of the rows of matrices"`
}

// Gemm2Params configures Gemm2.
type Gemm2Params struct {
	TransposeA bool            `op:"transpose_a" doc:"transpose the matrices A"`
	TransposeB bool            `op:"transpose_b" doc:"transpose the matrices B"`
	Alpha      op.Opt[float64] `op:"alpha" default:"1" doc:"factor of the product"`
	Axis       op.Opt[int]     `op:"axis" default:"-2" doc:"axis of the rows of matrices"`
}

// Gemm and Gemm2 multiply matrices.
var (
	Gemm  = op.Declare[GemmParams]("_linalg_gemm")
	Gemm2 = op.Declare[Gemm2Params]("_linalg_gemm2")
)

func init() {
	Gemm.Define(op.Spec[GemmParams]{
		Traits: op.Traits{
			Doc: `LinalgGemm computes alpha·op(A)·op(B) + beta·C for each matrix of a batch.

op(X) is X or its transpose. The last axis holds the columns of matrices, another one, axis, their
rows; the other axes form the batch and are equal for all operands.`,
			Aliases:   []string{"linalg_gemm"},
			Inplace:   [][2]int{{2, 0}},
			Precision: op.Wide,
			Kind:      op.Product,
		},
		Inputs: inputs[GemmParams]("A", "B", "C"),
		Infer: func(p GemmParams, in, out []dtype.Shape) error {
			return p.product().infer(in, out)
		},
		InferType: realType[GemmParams],
		Grad: func(g *op.Grad, p GemmParams) []op.Entry {
			dc := prim.MulScalar.Apply(prim.ScalarParams{Scalar: p.Beta.Value()}, g.Head(0))
			return append(p.product().grad(g), dc)
		},
		FLOPs: func(p GemmParams, in, out []dtype.Shape) int64 {
			return p.product().flops(in[0], out[0]) + 2*int64(in[2].Size())
		},
		Ref: func(p GemmParams, c *op.Call) error { return p.product().run(p.Beta.Value(), c) },
	})
	Gemm2.Define(op.Spec[Gemm2Params]{
		Traits: op.Traits{
			Doc: `LinalgGemm2 computes alpha·op(A)·op(B) for each matrix of a batch.

op(X) is X or its transpose. The last axis holds the columns of matrices, another one, axis, their
rows; the other axes form the batch and are equal for all operands.`,
			Aliases:   []string{"linalg_gemm2"},
			Precision: op.Wide,
			Kind:      op.Product,
		},
		Inputs:    inputs[Gemm2Params]("A", "B"),
		Infer:     func(p Gemm2Params, in, out []dtype.Shape) error { return p.infer(in, out) },
		InferType: realType[Gemm2Params],
		Grad:      func(g *op.Grad, p Gemm2Params) []op.Entry { return p.grad(g) },
		FLOPs: func(p Gemm2Params, in, out []dtype.Shape) int64 {
			return p.flops(in[0], out[0])
		},
		Ref: func(p Gemm2Params, c *op.Call) error { return p.run(0, c) },
	})
}

func (p GemmParams) product() Gemm2Params {
	return Gemm2Params{p.TransposeA, p.TransposeB, p.Alpha, p.Axis}
}

// flops returns the number of operations of products whose first factor has shape a.
func (p Gemm2Params) flops(a, out dtype.Shape) int64 {
	summed := len(a) - 1
	if p.TransposeA {
		summed, _ = p.axis(len(a))
	}
	return 2 * int64(out.Size()) * int64(a[summed])
}

// infer infers the shapes of A, B, C if it exists, and the output.
func (p Gemm2Params) infer(in, out []dtype.Shape) error {
	all := append(append([]dtype.Shape{}, in...), out...)
	rank := 0
	for _, s := range all {
		rank = max(rank, len(s))
	}
	if rank == 0 {
		return nil
	}
	axis, err := p.axis(rank)
	if err != nil {
		return err
	}
	const m, n, k = 0, 1, 2
	dims := [][]int{{m, k}, {k, n}, {m, n}, {m, n}}
	if p.TransposeA {
		dims[0] = []int{k, m}
	}
	if p.TransposeB {
		dims[1] = []int{n, k}
	}
	names := []string{"A", "B", "C"}
	var list []operand
	for i, s := range all {
		if s != nil && len(s) != rank {
			return op.Errorf(names[min(i, 2)], "shape %v, want %d axes", s, rank)
		}
		if s != nil {
			all[i] = rotate(s, axis)
		}
		name := "output"
		if i < len(in) {
			name = names[i]
		}
		list = append(list, operand{name, &all[i], dims[i]})
	}
	if err := match(list, []int{-1, -1, -1}, nil); err != nil {
		return err
	}
	for i := range in {
		in[i] = unrotate(all[i], axis)
	}
	out[0] = unrotate(all[len(in)], axis)
	return nil
}

// axis returns the axis of the rows in arrays with rank axes.
func (p Gemm2Params) axis(rank int) (int, error) {
	axis := p.Axis.Value()
	if axis < 0 {
		axis += rank
	}
	if rank < 2 {
		return 0, op.Errorf("A", "%d axes, want at least 2", rank)
	}
	if axis < 0 || axis > rank-2 {
		return 0, op.Errorf("axis", "%d, want one of an array with %d axes, the last one excepted",
			p.Axis.Value(), rank)
	}
	return axis, nil
}

// grad returns the gradients of A and B as products.
func (p Gemm2Params) grad(g *op.Grad) []op.Entry {
	a, b, dy := g.In(0), g.In(1), g.Head(0)
	prod := func(x, y op.Entry, tx, ty bool) op.Entry {
		return Gemm2.Apply(Gemm2Params{tx, ty, p.Alpha, p.Axis}, x, y)
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

// run computes alpha·op(A)·op(B), plus beta·C if C exists.
func (p Gemm2Params) run(beta float64, c *op.Call) error {
	axis, err := p.axis(len(c.Out[0].Shape))
	if err != nil {
		return err
	}
	read := func(t op.Tensor) batch {
		s := rotate(t.Shape, axis)
		n := len(s)
		return batch{s[:n-2].Size(), s[n-2], s[n-1], permute(loop.Floats(t), t.Shape, axis, false)}
	}
	a, b := read(c.In[0]), read(c.In[1])
	var sum []float64
	for i := range a.count {
		sum = append(sum, a.at(i).mul(b.at(i), p.TransposeA,
			p.TransposeB).scale(p.Alpha.Value()).data...)
	}
	sum = permute(sum, c.Out[0].Shape, axis, true)
	if len(c.In) > 2 && beta != 0 {
		for i, v := range loop.Floats(c.In[2]) {
			sum[i] += beta * v
		}
	}
	loop.Store(c.Out[0], 0, sum)
	return nil
}
