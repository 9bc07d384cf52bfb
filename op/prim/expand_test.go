package prim_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestBroadcastTo(t *testing.T) {
	x := optest.F([]int{1, 2}, 1, 2)
	optest.Run(t, prim.BroadcastTo.Op,
		optest.Case{Params: prim.BroadcastToParams{Shape: []int{3, 2}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{3, 2}, 1, 2, 1, 2, 1, 2))},
		optest.Case{Name: "zero keeps", Params: prim.BroadcastToParams{Shape: []int{2, 0}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 1, 2))},
		optest.Case{Name: "more axes", Params: prim.BroadcastToParams{Shape: []int{2, 1, 2}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 1, 2}, 1, 2, 1, 2))},
	)
	optest.Run(t, prim.BroadcastAxis.Op,
		optest.Case{Params: prim.BroadcastAxisParams{Axis: []int{0, 2}, Size: []int{2, 2}},
			In:   optest.Ops(optest.F([]int{1, 2, 1}, 1, 2)),
			Want: optest.Ops(optest.F([]int{2, 2, 2}, 1, 1, 2, 2, 1, 1, 2, 2))})
	optest.Run(t, prim.BroadcastLike.Op, optest.Case{In: optest.Ops(x, optest.Range(2, 2)),
		Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 1, 2))},
		optest.Case{Name: "axes", Params: prim.BroadcastLikeParams{LhsAxes: []int{0},
			RhsAxes: []int{-1}},
			In: optest.Ops(x, optest.Range(5, 3)), Want: optest.Ops(optest.F([]int{3, 2}, 1, 2, 1,
				2, 1, 2))})
}

func TestSumLike(t *testing.T) {
	optest.Run(t, prim.SumLike.Op,
		optest.Case{Name: "same shape", In: optest.Ops(optest.Range(2, 2), optest.Range(2, 2)),
			Want: optest.Ops(optest.Range(2, 2))},
		optest.Case{Name: "fewer axes", In: optest.Ops(optest.Range(2, 3), optest.Range(3)),
			Want: optest.Ops(optest.F([]int{3}, 3, 5, 7))},
		optest.Case{Name: "ones", In: optest.Ops(optest.Range(2, 3), optest.Range(2, 1)),
			Want: optest.Ops(optest.F([]int{2, 1}, 3, 12))})
}

func TestBroadcastLikeRejects(t *testing.T) {
	for _, c := range []struct {
		p        prim.BroadcastLikeParams
		lhs, rhs []int
		want     string
	}{
		{lhs: []int{8, 0}, rhs: []int{1, 1},
			want: "rhs: shape (1, 1) does not take lhs of shape (8, 0)"},
		{lhs: []int{2, 3}, rhs: []int{3}, want: "rhs: shape (3,) does not take lhs"},
		{p: prim.BroadcastLikeParams{LhsAxes: []int{0}, RhsAxes: []int{0}}, lhs: []int{0},
			rhs: []int{3}, want: "lhs: axis 0 has extent 0, want 1 or 3"},
	} {
		if _, err := optest.Infer(prim.BroadcastLike.Op, c.p, optest.Ops(optest.Range(c.lhs...),
			optest.Range(c.rhs...))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v like %v: got error %v, want %q", c.lhs, c.rhs, err, c.want)
		}
	}
}
