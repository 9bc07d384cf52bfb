package attach_test

import (
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func TestFloat32(t *testing.T) {
	f32, f64 := op.Plain(dtype.Float32, dtype.Shape{2}), op.Plain(dtype.Float64, dtype.Shape{2})
	blocked := f32
	blocked.Layout = "nChw16c"
	for _, c := range []struct {
		name string
		args op.Args
		want bool
	}{
		{"none", op.Args{}, true},
		{"all", op.Args{In: []op.Desc{f32, f32}, Out: []op.Desc{f32}}, true},
		{"input of another type", op.Args{In: []op.Desc{f32, f64}, Out: []op.Desc{f32}}, false},
		{"output of another type", op.Args{In: []op.Desc{f32}, Out: []op.Desc{f64}}, false},
		{"blocked", op.Args{In: []op.Desc{blocked}, Out: []op.Desc{f32}}, false},
	} {
		if got := attach.Float32(&c.args); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestThreadsAndBytes(t *testing.T) {
	a := &op.Args{In: []op.Desc{op.Plain(dtype.Float32, dtype.Shape{10})},
		Out: []op.Desc{op.Plain(dtype.Float64, dtype.Shape{10})}, Threads: 4}
	if got := attach.Bytes(a); got != 120 {
		t.Errorf("Bytes = %v, want 120", got)
	}
	if got := attach.Threads(a, device.Work{Bytes: 120}); got != 1 {
		t.Errorf("a small kernel gets %d threads, want 1", got)
	}
	if got := attach.Threads(a, device.Work{Flops: 1e12}); got != 4 {
		t.Errorf("a large kernel gets %d threads, want 4", got)
	}
}

func TestScratch(t *testing.T) {
	mem := make([]float32, 8)
	c := &op.Call{Scratch: op.TensorOf(mem).Data}
	attach.Scratch(c, 8)[7] = 3
	if mem[7] != 3 {
		t.Errorf("scratch memory holds %v, want 3 last", mem)
	}
	if got := attach.Floats(op.Tensor{}); got != nil {
		t.Errorf("Floats of nothing = %v, want nil", got)
	}
}
