package export

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/linalg"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/tensor"
)

// matrixRules are products and functions of matrices.
var matrixRules = rules{
	nn.FullyConnected.Op: on(fullyConnected), prim.Dot.Op: on(dot), prim.BatchDot.Op: on(batchDot),
	linalg.Gemm.Op: on(gemm), linalg.Gemm2.Op: on(gemm2), linalg.Syrk.Op: on(syrk),
	linalg.Trmm.Op: on(trmm), linalg.Det.Op: det, linalg.SlogDet.Op: slogDet,
	linalg.SumLogDiag.Op: sumLogDiag, tensor.KhatriRao.Op: khatriRao,
}

// matrixReasons are operators that ONNX lacks.
var matrixReasons = map[*op.Op]string{
	linalg.Potrf.Op: "ONNX has no Cholesky factors", linalg.Potri.Op: "ONNX has no inverses",
	linalg.Inverse.Op: "ONNX has no inverses", linalg.Gelqf.Op: "ONNX has no factors LQ",
	linalg.Trsm.Op: "ONNX solves no equations", linalg.Syevd.Op: "ONNX has no eigenvalues",
}

// fullyConnected is a product with the transposed weight, over rows.
func fullyConnected(c *call, p nn.FullyConnectedParams) []value {
	x, w := c.x(0), c.x(1)
	rows := c.rowsOf(x, p.NoFlatten)
	in := []value{rows, w}
	if !p.NoBias {
		in = append(in, c.reshape(c.x(2), dtype.Shape{p.NumHidden}))
	}
	return dense(c, p.NumHidden, in...)
}

// dense adds the product of rows and a transposed weight of n rows, with an optional bias.
func dense(c *call, n int, in ...value) []value {
	rows := in[0]
	y := c.add("Gemm", dtype.Shape{rows.shape[0], n}, rows.typ, in, num("transB", 1))
	return one(c.reshape(y, c.out(0).shape))
}

// dot sums over one axis of each operand, which it puts at the end and at the beginning.
func dot(c *call, p prim.DotParams) []value {
	a, b := c.x(0), c.x(1)
	t := a.typ
	var k int
	if p.TransposeA {
		k = a.shape[0]
		a = c.swapLast(c.reshape(a, dtype.Shape{k, a.shape[1:].Size()}))
	} else {
		k = a.shape[len(a.shape)-1]
		a = c.reshape(a, dtype.Shape{a.shape[:len(a.shape)-1].Size(), k})
	}
	if p.TransposeB {
		b = c.swapLast(c.reshape(b, dtype.Shape{b.shape[:len(b.shape)-1].Size(), k}))
	} else {
		b = c.reshape(b, dtype.Shape{k, b.shape[1:].Size()})
	}
	y := c.matmul(c.cast(a, wide(t)), c.cast(b, wide(t)))
	return one(c.cast(c.reshape(y, c.out(0).shape), t))
}

// product multiplies matrices in the last two axes, or their transposes.
func (c *call) product(a, b value, transposeA, transposeB bool) value {
	t := a.typ
	if transposeA {
		a = c.swapLast(a)
	}
	if transposeB {
		b = c.swapLast(b)
	}
	return c.cast(c.matmul(c.cast(a, wide(t)), c.cast(b, wide(t))), t)
}

func batchDot(c *call, p prim.DotParams) []value {
	return one(c.product(c.x(0), c.x(1), p.TransposeA, p.TransposeB))
}

// rowsLast moves the axis of the rows to the place before the last, and back.
func (c *call) rowsLast(x value, a int, back bool) value {
	rank := len(x.shape)
	a = axis(a, rank)
	perm := slices.Insert(slices.Delete(upTo(0, rank), a, a+1), rank-2, a)
	if back {
		perm = slices.Insert(slices.Delete(upTo(0, rank), rank-2, rank-1), a, rank-2)
	}
	return c.transpose(x, perm...)
}

func gemm2(c *call, p linalg.Gemm2Params) []value {
	a := p.Axis.Value()
	y := c.product(c.rowsLast(c.x(0), a, false), c.rowsLast(c.x(1), a, false), p.TransposeA,
		p.TransposeB)
	return one(c.rowsLast(c.scaled(y, p.Alpha.Value()), a, true))
}

func gemm(c *call, p linalg.GemmParams) []value {
	a := p.Axis.Value()
	y := c.product(c.rowsLast(c.x(0), a, false), c.rowsLast(c.x(1), a, false), p.TransposeA,
		p.TransposeB)
	y = c.rowsLast(c.scaled(y, p.Alpha.Value()), a, true)
	return one(c.plus(y, c.scaled(c.x(2), p.Beta.Value())))
}

func syrk(c *call, p linalg.SyrkParams) []value {
	x := c.x(0)
	return one(c.scaled(c.product(x, x, p.Transpose, !p.Transpose), p.Alpha.Value()))
}

// trmm sets the triangle that is not read to zero.
func trmm(c *call, p linalg.TriangularParams) []value {
	a, b := c.x(0), c.x(1)
	n := a.shape[len(a.shape)-1]
	mask := make([]float64, n*n)
	for i := range n {
		for k := range n {
			if p.Upper && k >= i || !p.Upper && k <= i {
				mask[i*n+k] = 1
			}
		}
	}
	a = c.where(c.constant(dtype.Bool, dtype.Shape{n, n}, mask...), a, c.like(a, 0))
	y := value{}
	if p.RightSide {
		y = c.product(b, a, false, p.Transpose)
	} else {
		y = c.product(a, b, p.Transpose, false)
	}
	return one(c.scaled(y, p.Alpha.Value()))
}

// determinants has shape (1) for a single matrix.
func determinants(c *call) value {
	x := c.x(0)
	shape := x.shape[:len(x.shape)-2]
	return c.reshape(c.add("Det", shape, x.typ, []value{x}), c.out(0).shape)
}

func det(c *call) []value { return one(determinants(c)) }

func slogDet(c *call) []value {
	d := determinants(c)
	return []value{c.unary("Sign", d), c.unary("Log", c.unary("Abs", d))}
}

func sumLogDiag(c *call) []value {
	x := c.x(0)
	n := x.shape[len(x.shape)-1]
	batch := x.shape.Size() / max(1, n*n)
	var ids []int
	for i := range batch * n {
		ids = append(ids, i/n*n*n+i%n*(n+1))
	}
	d := c.unary("Log", c.pickFlat(x, ids, dtype.Shape{batch, n}))
	return one(c.reshape(c.reduce("ReduceSum", d, []int{1}, false), c.out(0).shape))
}

// khatriRao multiplies every row of one matrix with every row of the next.
func khatriRao(c *call) []value {
	list := c.all()
	y := list[0]
	for _, x := range list[1:] {
		n, m, k := y.shape[0], x.shape[0], x.shape[1]
		y = c.times(c.reshape(y, dtype.Shape{n, 1, k}), c.reshape(x, dtype.Shape{1, m, k}))
		y = c.reshape(y, dtype.Shape{n * m, k})
	}
	return one(y)
}
