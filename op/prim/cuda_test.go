//go:build cuda

package prim_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

// TestCUDAColumns folds leading axes, whose rows lie side by side: few and many columns, one chunk
// and several, columns of two axes, and a number that is no multiple of a block's columns.
func TestCUDAColumns(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int
		axes  []int
	}{
		{"one chunk", []int{70, 33}, []int{0}},
		{"chunks", []int{1500, 40}, []int{0}},
		{"two axes", []int{3, 200, 5, 9}, []int{0, 1}},
		{"middle", []int{3, 600, 17}, []int{1}},
		{"apart", []int{40, 3, 20, 31}, []int{0, 2}},
	} {
		for _, o := range []op.Handle[prim.ReduceParams]{prim.Sum, prim.Max, prim.NanSum} {
			optest.Run(t, o.Op, optest.Case{Name: c.name, Params: prim.ReduceParams{Axis: c.axes},
				In: []op.Tensor{optest.Random(7, -1, 1, c.shape...)}, NoDiff: true})
		}
	}
}
