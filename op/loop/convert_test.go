package loop_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// blank makes a zeroed operand.
func blank(t dtype.Type, shape ...int) op.Tensor {
	s := dtype.Shape(shape)
	return op.Tensor{Desc: op.Plain(t, s), Data: op.TensorOf(make([]uint64, s.Size()+1)).Data}
}

func TestStoreAndLoad(t *testing.T) {
	x := []float64{0.5, -0.5, 300, -1.5, 1e10, math.Inf(1), math.NaN()}
	tests := []struct {
		t    dtype.Type
		want []float64
	}{
		{dtype.Float64, x},
		{dtype.Float16, []float64{0.5, -0.5, 300, -1.5, math.Inf(1), math.Inf(1), math.NaN()}},
		{dtype.Uint8, []float64{0, 0, 44, 255, 0, 0, 0}},
		{dtype.Int16, []float64{0, 0, 300, -1, 0, 0, 0}},
		{dtype.Int32, []float64{0, 0, 300, -1, math.MinInt32, math.MinInt32, math.MinInt32}},
		{dtype.Int64, []float64{0, 0, 300, -1, 1e10, math.MinInt64, math.MinInt64}},
		{dtype.Bool, []float64{1, 1, 1, 1, 1, 1, 1}},
	}
	for _, tt := range tests {
		y := blank(tt.t, len(x))
		loop.Store(y, 0, x)
		for i, got := range loop.Floats(y) {
			if want := tt.want[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%v of %v: got %v, want %v", tt.t, x[i], got, want)
			}
		}
	}
}

func TestIntegersAreExact(t *testing.T) {
	want := []int64{1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MinInt64}
	y := blank(dtype.Int64, len(want))
	loop.StoreInt(y, 0, want)
	for i, got := range loop.Ints(y) {
		if got != want[i] {
			t.Errorf("got %v, want %v", got, want[i])
		}
	}
	u := blank(dtype.Uint64, 1)
	loop.Store(u, 0, []float64{1 << 63})
	if got := loop.Floats(u)[0]; got != 1<<63 {
		t.Errorf("uint64: got %v, want %v", got, float64(1<<63))
	}
}

func TestLoadStrides(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.Float32, dtype.Float16, dtype.BFloat16, dtype.Int8,
		dtype.Bool, dtype.Uint64} {
		x := blank(typ, 600)
		loop.Generate(x, func(i int) float64 { return float64(i / 2 % 2) })
		got := make([]float64, 300)
		loop.Load(got, x, 598, -2)
		for i, v := range got {
			if want := float64((598 - 2*i) / 2 % 2); v != want {
				t.Fatalf("%v, element %d: got %v, want %v", typ, i, v, want)
			}
		}
	}
}
