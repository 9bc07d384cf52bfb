package prim_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestTranspose(t *testing.T) {
	x := optest.Range(2, 3)
	optest.Run(t, prim.Transpose.Op,
		optest.Case{Name: "reversed", In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{3, 2}, 0, 3, 1, 4, 2, 5))},
		optest.Case{Name: "given", Params: prim.TransposeParams{Axes: []int{1, 2, 0}},
			In:   optest.Ops(optest.Range(2, 1, 2)),
			Want: optest.Ops(optest.F([]int{1, 2, 2}, 0, 2, 1, 3))},
		optest.Case{Name: "negative", Params: prim.TransposeParams{Axes: []int{-1, 0}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{3, 2}, 0, 3, 1, 4, 2, 5))},
		optest.Case{Name: "empty", In: optest.Ops(optest.Range(2, 0, 3))},
	)
	optest.Run(t, prim.SwapAxis.Op, optest.Case{Params: prim.SwapAxisParams{Dim1: 0, Dim2: -1},
		In:   optest.Ops(optest.Range(2, 1, 2)),
		Want: optest.Ops(optest.F([]int{2, 1, 2}, 0, 2, 1, 3))})
}

func TestTransposeErrors(t *testing.T) {
	for _, tt := range []struct {
		axes []int
		want string
	}{{[]int{0}, "axes: (0,) for data with 2 axes"}, {[]int{1, 1}, "names axis 1 twice"},
		{[]int{0, 2}, "axis 2, want"}} {
		_, err := optest.Infer(prim.Transpose.Op, prim.TransposeParams{Axes: tt.axes},
			optest.Ops(optest.Range(2, 3)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("axes %v: got error %v, want %q", tt.axes, err, tt.want)
		}
	}
}
