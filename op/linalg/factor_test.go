package linalg_test

import (
	"math"
	"testing"

	"gomx/internal/optest"
	"gomx/op/linalg"
)

func TestCholesky(t *testing.T) {
	optest.Run(t, linalg.Potrf.Op,
		optest.Case{Name: "values", NoDiff: true, In: optest.Ops(optest.F([]int{2, 2}, 4, 99, 2,
			10)), Want: optest.Ops(optest.F([]int{2, 2}, 2, 0, 1, 3))},
		optest.Case{Name: "batch", NoDiff: true, In: optest.Ops(positive(1, 2, 3, 3))})
	checkSymmetric(t, linalg.Potrf.Op, double(positive(3, 2, 3, 3)))
	optest.Run(t, linalg.Potri.Op,
		optest.Case{Name: "values", In: optest.Ops(optest.F([]int{2, 2}, 2, 99, 0, 0.5)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0.25, 0, 0, 4))},
		optest.Case{Name: "batch", In: optest.Ops(full(1, 2, 3, 3))})
	upper := linalg.CholeskyParams{Upper: true}
	optest.Run(t, linalg.Potrf.Op, optest.Case{Name: "upper", Params: upper, NoDiff: true,
		In:   optest.Ops(optest.F([]int{2, 2}, 4, 2, 99, 10)),
		Want: optest.Ops(optest.F([]int{2, 2}, 2, 1, 0, 3))})
	optest.Run(t, linalg.Potri.Op,
		optest.Case{Name: "upper", Params: upper, In: optest.Ops(optest.F([]int{2, 2}, 2, 0, 99,
			0.5)), Want: optest.Ops(optest.F([]int{2, 2}, 0.25, 0, 0, 4))},
		optest.Case{Name: "upper batch", Params: upper, In: optest.Ops(full(1, 2, 3, 3))})
	wantError(t, linalg.Potrf.Op, nil, "A: matrix 1 is not positive definite",
		optest.F([]int{2, 1, 1}, 1, -1))
	wantError(t, linalg.Potri.Op, nil, "A: matrix 0 has a zero on its diagonal",
		optest.F([]int{2, 2}, 1, 0, 1, 0))
	wantError(t, linalg.Potrf.Op, nil, "A: shape (2, 3), want", optest.Range(2, 3))
}

func TestInverses(t *testing.T) {
	a := optest.F([]int{2, 2}, 0, 2, 4, 0)
	optest.Run(t, linalg.Inverse.Op, optest.Case{Name: "values", In: optest.Ops(a),
		Want: optest.Ops(optest.F([]int{2, 2}, 0, 0.25, 0.5, 0))},
		optest.Case{Name: "batch", In: optest.Ops(full(1, 2, 3, 3))})
	optest.Run(t, linalg.Det.Op,
		optest.Case{Name: "values", In: optest.Ops(a), Want: optest.Ops(optest.F([]int{1}, -8))},
		optest.Case{Name: "singular", In: optest.Ops(optest.F([]int{2, 2}, 1, 2, 2, 4)),
			Want: optest.Ops(optest.F([]int{1}, 0)), NoDiff: true,
			Heads:    optest.Ops(optest.F([]int{1}, 1)),
			WantGrad: optest.Ops(optest.F([]int{2, 2}, 0))},
		optest.Case{Name: "batch", In: optest.Ops(full(1, 2, 2, 3, 3))})
	optest.Run(t, linalg.SlogDet.Op,
		optest.Case{Name: "values", In: optest.Ops(a), Want: optest.Ops(optest.F([]int{1}, -1),
			optest.F([]int{1}, math.Log(8)))},
		optest.Case{Name: "singular", In: optest.Ops(optest.F([]int{2, 2}, 0)), NoDiff: true,
			Want: optest.Ops(optest.F([]int{1}, 0), optest.F([]int{1}, math.Inf(-1)))},
		optest.Case{Name: "batch", In: optest.Ops(full(2, 2, 3, 3))})
	wantError(t, linalg.Inverse.Op, nil, "A: matrix 0 is singular", optest.F([]int{2, 2}, 1, 2, 2,
		4))
}

func TestLQ(t *testing.T) {
	optest.Run(t, linalg.Gelqf.Op,
		optest.Case{Name: "values", In: optest.Ops(values([]int{1, 2}, 3, 4)),
			Want: optest.Ops(values([]int{1, 2}, -0.6, -0.8), values([]int{1, 1}, -5))},
		optest.Case{Name: "batch", In: optest.Ops(full(1, 2, 2, 3))},
		optest.Case{Name: "square", In: optest.Ops(full(2, 3, 3))})
	wantError(t, linalg.Gelqf.Op, nil, "A: shape (3, 2), want at least as many columns as rows",
		optest.Range(3, 2))
}

// The first matrix is one whose eigenvectors MXNet 1.9.1 was asked for.
func TestEigenvectors(t *testing.T) {
	optest.Run(t, linalg.Syevd.Op,
		optest.Case{Name: "values", NoDiff: true, In: optest.Ops(values([]int{2, 2}, 2, 99, 1, 3)),
			Tol: optest.Tolerance{Abs: 1e-5},
			Want: optest.Ops(values([]int{2, 2}, 0.85065, -0.52573, 0.52573, 0.85065),
				values([]int{2}, 1.38197, 3.61803))},
		optest.Case{Name: "identity", NoDiff: true, In: optest.Ops(values([]int{2, 2}, 1, 0, 0, 1)),
			Want: optest.Ops(values([]int{2, 2}, 1, 0, 0, 1), values([]int{2}, 1, 1))},
		optest.Case{Name: "batch", NoDiff: true, In: optest.Ops(positive(1, 2, 3, 3))})
	checkSymmetric(t, linalg.Syevd.Op, double(positive(4, 2, 3, 3)))
}
