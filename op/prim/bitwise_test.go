package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestBitwise(t *testing.T) {
	a := optest.Array(dtype.Int16, []int{2, 3}, 12, -1, 7, 0, 300, -300)
	b := optest.Array(dtype.Int16, []int{3}, 10, 5, -4)
	for _, c := range []struct {
		op   *op.Op
		want []float64
	}{
		{prim.BitwiseAnd.Op, []float64{8, 5, 4, 0, 300 & 5, -300 & -4}},
		{prim.BitwiseOr.Op, []float64{14, -1, -1, 10, 300 | 5, -300 | -4}},
		{prim.BitwiseXor.Op, []float64{6, -6, -5, 10, 300 ^ 5, -300 ^ -4}},
	} {
		optest.Run(t, c.op, optest.Case{Name: "int16", In: optest.Ops(a, b),
			Want: optest.Ops(optest.Array(dtype.Int16, []int{2, 3}, c.want...))})
	}
	optest.Run(t, prim.BitwiseNot.Op,
		optest.Case{Name: "int8", In: optest.Ops(optest.Array(dtype.Int8, []int{3}, 0, -1, 5)),
			Want: optest.Ops(optest.Array(dtype.Int8, []int{3}, -1, 0, -6))},
		optest.Case{Name: "uint8", In: optest.Ops(optest.Array(dtype.Uint8, []int{2}, 0, 200)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{2}, 255, 55))},
		optest.Case{Name: "bool", In: optest.Ops(optest.Array(dtype.Bool, []int{2}, 0, 1)),
			Want: optest.Ops(optest.Array(dtype.Bool, []int{2}, 1, 0))})
	big := op.TensorOf([]uint64{1<<63 | 5, 1 << 40})
	optest.Run(t, prim.BitwiseXor.Op, optest.Case{Name: "uint64",
		In:   optest.Ops(big, op.TensorOf([]uint64{1 << 63, 1})),
		Want: optest.Ops(op.TensorOf([]uint64{5, 1<<40 | 1}))})
}

// TestBitwiseTypes demands an error for numbers that have no bits to join.
func TestBitwiseTypes(t *testing.T) {
	in := []dtype.Type{dtype.Float32, dtype.Float32}
	if err := prim.BitwiseAnd.InferType(op.NoParams{}, in, []dtype.Type{dtype.Unknown}); err == nil {
		t.Error("BitwiseAnd takes float32")
	}
}
