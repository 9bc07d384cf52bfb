//go:build cuda

package linalg_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/linalg"
	"gomx/op/loop"
)

// TestCUDALargerMatrices gives a block of threads more than one element each.
func TestCUDALargerMatrices(t *testing.T) {
	const n = 21
	a := optest.New(dtype.Float64, 2, n, n)
	v := loop.Floats(optest.Random(1, -1, 1, 2, n, n))
	for i := range v {
		if i/n%n == i%n {
			v[i] += n // well conditioned, and positive definite by its lower triangle
		}
	}
	loop.Store(a, 0, v)
	b := optest.New(dtype.Float64, 2, n, 17)
	loop.Store(b, 0, loop.Floats(optest.Random(2, -1, 1, 2, n, 17)))
	one := optest.Case{In: []op.Tensor{a}, NoDiff: true}
	for _, o := range []*op.Op{linalg.Potrf.Op, linalg.Potri.Op, linalg.Inverse.Op,
		linalg.SlogDet.Op, linalg.Gelqf.Op, linalg.Syevd.Op} {
		optest.Run(t, o, one)
	}
	for _, o := range []*op.Op{linalg.Potrf.Op, linalg.Potri.Op} {
		optest.Run(t, o, optest.Case{Params: linalg.CholeskyParams{Upper: true}, In: []op.Tensor{a},
			NoDiff: true})
	}
	for _, p := range []linalg.TriangularParams{{}, {Upper: true, Transpose: true}} {
		optest.Run(t, linalg.Trsm.Op, optest.Case{Params: p, In: []op.Tensor{a, b}, NoDiff: true})
		optest.Run(t, linalg.Trmm.Op, optest.Case{Params: p, In: []op.Tensor{a, b}, NoDiff: true})
	}
}
