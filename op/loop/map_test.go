package loop_test

import (
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

func TestZipBroadcasts(t *testing.T) {
	a := op.TensorOf([]float32{1, 2}, 2, 1)
	b := op.TensorOf(make([]float32, 600), 1, 600)
	loop.Generate(b, func(i int) float64 { return float64(10 * i) })
	out := op.TensorOf(make([]float32, 1200), 2, 600)
	loop.Zip(loop.Func2{F: func(x, y float64) float64 { return x + y }}, out, a, b)
	for i, got := range op.Slice[float32](out) {
		if want := float32(i/600 + 1 + 10*(i%600)); got != want {
			t.Fatalf("element %d: got %v, want %v", i, got, want)
		}
	}
}

func TestMapChoosesIntegers(t *testing.T) {
	f := loop.Func1{F: func(float64) float64 { return -1 }, I: func(x int64) int64 { return x + 1 }}
	x := op.TensorOf([]int64{1 << 53})
	loop.Map(f, x, x)
	if got := op.Slice[int64](x)[0]; got != 1<<53+1 {
		t.Errorf("got %v, want the integer function", got)
	}
	y := op.TensorOf([]float64{3})
	loop.Map(f, y, y)
	if got := op.Slice[float64](y)[0]; got != -1 {
		t.Errorf("got %v, want the floating-point function", got)
	}
	if !loop.Exact(dtype.Bool) || loop.Exact(dtype.BFloat16) {
		t.Error("bool counts as integer, bfloat16 does not")
	}
}
