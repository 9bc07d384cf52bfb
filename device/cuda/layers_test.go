//go:build cuda

package cuda_test

import (
	"errors"
	"math"
	"testing"

	"gomx/device/cuda"
	"gomx/dtype"
)

// poolDims are those of a layer with windows of three that step by two.
func poolDims() cuda.PoolDims {
	return cuda.PoolDims{Batch: 1, Channels: 1, In: [3]int{1, 1, 5}, Out: [3]int{1, 1, 3},
		Kernel: [3]int{1, 1, 3}, Stride: [3]int{1, 1, 2}, Pad: [3]int{0, 0, 1},
		InStrides: [5]int{5, 5, 0, 0, 1}, OutStrides: [5]int{3, 3, 0, 0, 1}}
}

// TestPool runs a layer in cuDNN, real or imitated, and its gradient; of equal elements the first
// one counts.
func TestPool(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	p := cuda.NewPool(dtype.Float32, poolDims())
	if p == nil {
		t.Fatal("cuDNN does not take the layer")
	}
	q := queue(t, 0)
	x, dy := []float32{1, 4, 4, 2, -1}, []float32{1, 10, 100}
	px, py, pdy, pdx := alloc(t, 0, 20), alloc(t, 0, 12), alloc(t, 0, 12), alloc(t, 0, 20)
	px.CopyIn(0, bytesOf(x))
	pdy.CopyIn(0, bytesOf(dy))
	if err := errors.Join(p.Forward(q, py.Ptr, px.Ptr), p.Backward(q, pdx.Ptr, pdy.Ptr, px.Ptr,
		py.Ptr)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		at   []float32
		want []float32
		from func([]byte) error
	}{
		{"output", make([]float32, 3), []float32{4, 4, 2},
			func(to []byte) error { return q.CopyOut(to, py.Ptr) }},
		{"gradient", make([]float32, 5), []float32{0, 11, 0, 100, 0},
			func(to []byte) error { return q.CopyOut(to, pdx.Ptr) }},
	} {
		if err := c.from(bytesOf(c.at)); err != nil {
			t.Fatal(err)
		}
		for i, v := range c.at {
			if v != c.want[i] {
				t.Errorf("%s: got %v, want %v", c.name, c.at, c.want)
				break
			}
		}
	}
	if n := testing.AllocsPerRun(50, func() { _ = p.Forward(q, py.Ptr, px.Ptr) }); n != 0 {
		t.Errorf("a launch makes %v allocations, want none", n)
	}
}

// TestLayersNotTaken describes layers that cuDNN does not compute, or computes otherwise than we
// do.
func TestLayersNotTaken(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	pool := func(change func(d *cuda.PoolDims)) bool {
		d := poolDims()
		change(&d)
		return cuda.NewPool(dtype.Float32, d) != nil
	}
	for name, taken := range map[string]bool{
		"a pooled row more": pool(func(d *cuda.PoolDims) { d.Out[2]++ }),
		"a window outside":  pool(func(d *cuda.PoolDims) { d.Pad[2], d.Out[2] = 3, 5 }),
		"nothing to pool":   pool(func(d *cuda.PoolDims) { d.Batch = 0 }),
		"too much to pool":  pool(func(d *cuda.PoolDims) { d.Batch = math.MaxInt32 }),
		"whole numbers":     cuda.NewSoftmax(dtype.Int32, false, 2, 3, 4) != nil,
		"no classes":        cuda.NewSoftmax(dtype.Float32, false, 2, 0, 4) != nil,
		"half statistics": cuda.NewNorm(dtype.BFloat16, dtype.BFloat16,
			cuda.NormDims{Outer: 2, Channels: 3, Inner: 4}) != nil,
		"many rows": cuda.NewNorm(dtype.Float32, dtype.Float32,
			cuda.NormDims{Outer: 1 << 16, Channels: 3, Inner: 1}) != nil,
		"no steps": cuda.NewRNN(0, dtype.Float32, cuda.RNNDims{Mode: cuda.RNNGRU, Batch: 1,
			Input: 1, Layers: 1, Hidden: 2, Out: 2}) != nil,
		"a projected GRU": cuda.NewRNN(0, dtype.Float32, cuda.RNNDims{Mode: cuda.RNNGRU, Steps: 1,
			Batch: 1, Input: 1, Layers: 1, Hidden: 2, Out: 1}) != nil,
	} {
		if taken {
			t.Errorf("%s: cuDNN is given the layer", name)
		}
	}
}

// TestLayerDeclined wants a layer that the library turns down when it runs to be left to our own
// kernels from then on. The imitation turns down pooling of bfloat16; the real library may compute
// it.
func TestLayerDeclined(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	p, q := cuda.NewPool(dtype.BFloat16, poolDims()), queue(t, 0)
	if p == nil {
		t.Skip("cuDNN does not take the layer at all")
	}
	x, y := alloc(t, 0, 10), alloc(t, 0, 6)
	for range 2 {
		if err := p.Forward(q, y.Ptr, x.Ptr); err != nil && err != cuda.ErrNotServed {
			t.Errorf("got %v, want nothing or %v", err, cuda.ErrNotServed)
		}
	}
}
