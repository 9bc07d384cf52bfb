package linalg_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/linalg"
)

func TestGemm(t *testing.T) {
	var two, three []optest.Case
	for mask := range 4 {
		ta, tb := mask&1 == 1, mask&2 == 2
		a, b := []int{2, 3, 4}, []int{2, 4, 2}
		if ta {
			a = []int{2, 4, 3}
		}
		if tb {
			b = []int{2, 2, 4}
		}
		in := optest.Ops(optest.Random(1, -1, 1, a...), optest.Random(2, -1, 1, b...))
		name := fmt.Sprintf("%v %v", ta, tb)
		two = append(two, optest.Case{Name: name, In: in, Params: linalg.Gemm2Params{TransposeA: ta,
			TransposeB: tb, Alpha: op.Some(0.7)}})
		three = append(three, optest.Case{Name: name, In: append(in, optest.Random(3, -1, 1, 2, 3,
			2)),
			Params: linalg.GemmParams{TransposeA: ta, TransposeB: tb, Alpha: op.Some(0.7),
				Beta: op.Some(-2.0)}})
	}
	optest.Run(t, linalg.Gemm2.Op, two...)
	optest.Run(t, linalg.Gemm.Op, three...)
	optest.Run(t, linalg.Gemm2.Op,
		optest.Case{Name: "values", In: optest.Ops(optest.F([]int{2, 2}, 1, 2, 3, 4),
			optest.F([]int{2, 1}, 5, 6)), Params: linalg.Gemm2Params{},
			Want: optest.Ops(optest.F([]int{2, 1}, 17, 39))},
		optest.Case{Name: "axis", In: optest.Ops(optest.F([]int{1, 2, 2}, 1, 2, 3, 4),
			optest.F([]int{2, 2, 1}, 1, 2, 10, 20)),
			Params: linalg.Gemm2Params{Axis: op.Some(0)},
			Want:   optest.Ops(optest.F([]int{1, 2, 1}, 21, 86))},
		optest.Case{Name: "axis of transposed", In: optest.Ops(optest.Random(1, -1, 1, 3, 2, 2, 4),
			optest.Random(2, -1, 1, 3, 5, 2, 4)),
			Params: linalg.Gemm2Params{Axis: op.Some(1), TransposeB: true}})
	optest.Run(t, linalg.Gemm.Op,
		optest.Case{Name: "no C", In: optest.Ops(optest.F([]int{1, 1}, 2), optest.F([]int{1, 1}, 3),
			optest.F([]int{1, 1}, 9)),
			Params: linalg.GemmParams{Beta: op.Some(0.0)},
			Want:   optest.Ops(optest.F([]int{1, 1}, 6))},
		optest.Case{Name: "axis", In: optest.Ops(optest.Random(1, -1, 1, 3, 2, 4),
			optest.Random(2, -1, 1, 4, 2, 2), optest.Random(3, -1, 1, 3, 2, 2)),
			Params: linalg.GemmParams{Axis: op.Some(0), Beta: op.Some(0.5)}})
}

func TestSyrk(t *testing.T) {
	optest.Run(t, linalg.Syrk.Op,
		optest.Case{Name: "values", In: optest.Ops(optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)),
			Params: linalg.SyrkParams{Alpha: op.Some(0.5)},
			Want:   optest.Ops(optest.F([]int{2, 2}, 7, 16, 16, 38.5))},
		optest.Case{Name: "transposed", In: optest.Ops(optest.Random(1, -1, 1, 2, 2, 3)),
			Params: linalg.SyrkParams{Transpose: true}})
}

func TestProductErrors(t *testing.T) {
	a := optest.Random(1, -1, 1, 2, 3)
	wantError(t, linalg.Gemm2.Op, nil, "B: shape (2, 3), want (3, ?)", a, a)
	wantError(t, linalg.Gemm2.Op, map[string]string{"axis": "-1"},
		"axis: -1, want one of an array with 2 axes, the last one excepted", a, a)
	wantError(t, linalg.Gemm2.Op, nil, "A: shape (2, 3), want 3 axes", a, optest.Random(1, -1, 1, 1,
		3, 4))
	half := optest.Array(dtype.Float16, []int{2, 2}, 1)
	wantError(t, linalg.Gemm2.Op, nil, "element type float16, want float32 or float64", half, half)
}
