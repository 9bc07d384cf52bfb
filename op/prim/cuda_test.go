//go:build cuda

package prim_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
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

// TestCUDACasts compares conversions between types of mixed precision with the reference, to the
// bit, for whole packs of elements and others.
func TestCUDACasts(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	rng, types := rand.New(rand.NewPCG(1, 2)), []dtype.Type{dtype.Float32, dtype.Float16,
		dtype.BFloat16}
	for _, n := range []int{1, 7, 8, 16, 3001} {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Ldexp(rng.Float64()*2-1, rng.IntN(60)-40)
		}
		copy(values[n/2:], []float64{math.Inf(1), math.Inf(-1), 65519, 65520, 1e38, 0, -6e-8, 2e-8})
		for _, from := range types {
			in := optest.New(from, n)
			loop.Store(in, 0, values)
			for _, to := range types {
				p := prim.CastParams{DType: to}
				want, err := optest.Runner{}.Apply(prim.Cast.Op, p, optest.Ops(in))
				if err != nil {
					t.Fatal(err)
				}
				got, err := optest.Runner{Device: device.CUDA(0)}.Apply(prim.Cast.Op, p, optest.Ops(in))
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(raw(got[0]), raw(want[0])) {
					t.Errorf("%d numbers from %v to %v: %s", n, from, to, optest.Diff(got[0], want[0],
						optest.Tolerance{Rel: 1e-300}))
				}
			}
		}
	}
}
