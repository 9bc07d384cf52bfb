package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/index"
)

func TestOneHot(t *testing.T) {
	optest.Run(t, index.OneHot.Op, optest.Case{Params: index.OneHotParams{Depth: 3}, NoDiff: true,
		In:   optest.Ops(ids(dtype.Float32, []int{3}, 2, 0, 5)),
		Want: optest.Ops(optest.F([]int{3, 3}, 0, 0, 1, 1, 0, 0, 0, 0, 0))},
		optest.Case{Name: "values", Params: index.OneHotParams{Depth: 2, OnValue: op.Some(2.0),
			OffValue: -1, DType: dtype.Int32},
			In:   optest.Ops(ids(dtype.Int32, []int{1, 2}, 1, -1)),
			Want: optest.Ops(optest.Array(dtype.Int32, []int{1, 2, 2}, -1, 2, -1, -1))})
}

// TestOneHotOfFractions: MXNet 1.9.1 cuts indices off towards zero, so that one between -1 and 0 is 0.
func TestOneHotOfFractions(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16} {
		optest.Run(t, index.OneHot.Op, optest.Case{Params: index.OneHotParams{Depth: 3}, NoDiff: true,
			In:   optest.Ops(optest.Array(typ, []int{6}, -0.5, -0.875, -1, 0.75, 2.5, 3)),
			Want: optest.Ops(optest.F([]int{6, 3}, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0))})
	}
}

// TestOneHotWithoutDepth makes vectors of no elements, whose array has no memory.
func TestOneHotWithoutDepth(t *testing.T) {
	optest.Run(t, index.OneHot.Op, optest.Case{Params: index.OneHotParams{Depth: 0}, NoDiff: true,
		In: optest.Ops(ids(dtype.Float32, []int{3}, 0, -1, 2)), Want: optest.Ops(optest.F([]int{3, 0}))})
	y := nd.OneHot(nd.Zeros(nd.Shape{100}), nd.OneHotParams{Depth: 0})
	if err := y.Wait(t.Context()); err != nil || !y.Shape().Equal(nd.Shape{100, 0}) {
		t.Errorf("got shape %v and %v, want (100, 0)", y.Shape(), err)
	}
}
