package index_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestArg(t *testing.T) {
	x := optest.F([]int{2, 3}, 1, 5, 5, 4, -1, -1)
	run := func(o *op.Op, name string, p index.ArgParams, shape []int, want ...float64) {
		optest.Run(t, o, optest.Case{Name: name, Params: p, NoDiff: true, In: optest.Ops(x),
			Want: optest.Ops(optest.F(shape, want...))})
	}
	run(index.ArgMax.Op, "all", index.ArgParams{}, []int{1}, 1)
	run(index.ArgMax.Op, "rows", index.ArgParams{Axis: op.Some(1)}, []int{2}, 1, 0)
	run(index.ArgMax.Op, "columns, kept", index.ArgParams{Axis: op.Some(0), KeepDims: true},
		[]int{1, 3}, 1, 0, 0)
	run(index.ArgMin.Op, "rows", index.ArgParams{Axis: op.Some(-1)}, []int{2}, 0, 1)
	optest.Run(t, index.ArgMaxChannel.Op, optest.Case{NoDiff: true, In: optest.Ops(x),
		Want: optest.Ops(optest.F([]int{2}, 1, 0))})
	optest.Run(t, index.ArgMaxChannel.Op, optest.Case{Name: "axis 1 of three", NoDiff: true,
		In:   optest.Ops(optest.F([]int{1, 3, 2}, 1, 6, 5, 2, 3, 4)),
		Want: optest.Ops(optest.F([]int{1, 2}, 1, 0))})
	holes := optest.F([]int{3}, 1, math.NaN(), 3)
	optest.Run(t, index.ArgMax.Op, optest.Case{Name: "NaN", NoDiff: true, In: optest.Ops(holes),
		Want: optest.Ops(optest.F([]int{1}, 1))})
	optest.Run(t, index.ArgMin.Op, optest.Case{Name: "NaN", NoDiff: true, In: optest.Ops(holes),
		Want: optest.Ops(optest.F([]int{1}, 1))})
	optest.Run(t, index.ArgMax.Op, optest.Case{Name: "int32",
		In:   optest.Ops(optest.Array(dtype.Int32, []int{2}, 3, 4)),
		Want: optest.Ops(optest.Array(dtype.Int32, []int{1}, 1))})
}
