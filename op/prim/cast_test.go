package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestCast(t *testing.T) {
	x := []float64{0.5, -0.5, 300, -1.5, 1e10, math.Inf(1), nan}
	n := []int{len(x)}
	tests := []struct {
		to dtype.Type
		y  []float64
	}{
		{dtype.Uint8, []float64{0, 0, 44, 255, 0, 0, 0}},
		{dtype.Int8, []float64{0, 0, 44, -1, 0, 0, 0}},
		{dtype.Int32, []float64{0, 0, 300, -1, -1 << 31, -1 << 31, -1 << 31}},
		{dtype.Int64, []float64{0, 0, 300, -1, 1e10, -1 << 63, -1 << 63}},
		{dtype.Bool, []float64{1, 1, 1, 1, 1, 1, 1}},
		{dtype.Float64, x},
		{dtype.Float16, []float64{0.5, -0.5, 300, -1.5, math.Inf(1), math.Inf(1), nan}},
	}
	for _, tt := range tests {
		optest.Run(t, prim.Cast.Op, optest.Case{Name: tt.to.String(),
			Params: prim.CastParams{DType: tt.to}, NoDiff: true,
			In: optest.Ops(optest.F(n, x...)), Want: optest.Ops(optest.Array(tt.to, n, tt.y...))})
	}
	optest.Run(t, prim.Cast.Op,
		optest.Case{Name: "from bytes", Params: prim.CastParams{DType: dtype.Float32},
			In:   optest.Ops(optest.Array(dtype.Uint8, []int{2}, 0, 255)),
			Want: optest.Ops(optest.F([]int{2}, 0, 255))},
		optest.Case{Name: "gradient", Params: prim.CastParams{DType: dtype.Float64},
			In:       optest.Ops(optest.Range(2)),
			Heads:    optest.Ops(optest.Array(dtype.Float64, []int{2}, 3, 4)),
			WantGrad: optest.Ops(optest.F([]int{2}, 3, 4))})
	optest.Run(t, prim.AmpCast.Op,
		optest.Case{Params: prim.CastParams{DType: dtype.Float16}, In: optest.Ops(optest.Range(2)),
			NoDiff: true, Want: optest.Ops(optest.Array(dtype.Float16, []int{2}, 0, 1))},
		optest.Case{Params: prim.CastParams{DType: dtype.Float16},
			In:   optest.Ops(optest.Array(dtype.Int32, []int{1}, 5)),
			Want: optest.Ops(optest.Array(dtype.Int32, []int{1}, 5))},
		optest.Case{Name: "float64", Params: prim.CastParams{DType: dtype.Float16},
			In:   optest.Ops(optest.Array(dtype.Float64, []int{1}, 0.1)),
			Want: optest.Ops(optest.Array(dtype.Float64, []int{1}, 0.1))})
}

// TestCastPairs compares the kernels of all pairs of types with the plain loops, on numbers that the
// types cannot hold too.
func TestCastPairs(t *testing.T) {
	types := []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Uint8,
		dtype.Int8, dtype.Int32, dtype.Int64, dtype.Bool, dtype.Int16, dtype.Uint32}
	x := []float64{0, 1, -1, 2.75, -2.75, 127, 128, 255, 256, 300, -129, 1 << 31, -1 << 31,
		-1<<31 - 0.5, 1<<31 - 1, 1 << 40, -1 << 62, 1 << 62, 1e19, -1e19, 1e30, math.Inf(1),
		math.Inf(-1), nan, math.Copysign(0, -1)}
	for _, from := range types {
		in := optest.Array(from, []int{len(x)}, x...)
		for _, to := range types {
			optest.Run(t, prim.Cast.Op, optest.Case{Name: from.String() + " to " + to.String(),
				Params: prim.CastParams{DType: to}, NoDiff: true, In: optest.Ops(in)})
		}
	}
}

func TestAmpMultiCast(t *testing.T) {
	h, f, i := optest.Array(dtype.Float16, []int{1}, 0.5), optest.F([]int{2}, 1, 2),
		optest.Array(dtype.Int32, []int{1}, 3)
	d := optest.Array(dtype.Float64, []int{1}, 0.1)
	optest.Run(t, prim.AmpMultiCast.Op,
		optest.Case{Name: "widest", NoDiff: true, In: optest.Ops(h, f, i),
			Want: optest.Ops(optest.F([]int{1}, 0.5), f, i)},
		optest.Case{Name: "narrowest", Params: prim.AmpMultiCastParams{CastNarrow: true},
			NoDiff: true, In: optest.Ops(f, h),
			Want: optest.Ops(optest.Array(dtype.Float16, []int{2}, 1, 2), h)},
		optest.Case{Name: "float64", NoDiff: true, In: optest.Ops(h, d), Want: optest.Ops(h, d)},
		optest.Case{Name: "nothing to convert", In: optest.Ops(i, i), Want: optest.Ops(i, i)})
}
