//go:build cuda

package cuda_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
)

// convByLoops computes a convolution along one axis and its gradients.
func convByLoops(x, w, dy []float32, stride int) (y, dx, dw []float32) {
	y, dx, dw = make([]float32, len(dy)), make([]float32, len(x)), make([]float32, len(w))
	for o := range y {
		for k := range w {
			i := o*stride + k
			y[o] += w[k] * x[i]
			dx[i] += w[k] * dy[o]
			dw[k] += x[i] * dy[o]
		}
	}
	return y, dx, dw
}

// TestConv runs the three kinds of a strided convolution of one channel in cuDNN, real or imitated,
// twice, and compares with loops.
func TestConv(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	const image, kernel, result, stride = 9, 3, 4, 2
	d := cuda.ConvDims{Batch: 1, In: 1, Out: 1, Groups: 1, Image: []int{1, image},
		Result: []int{1, result}, Kernel: []int{1, kernel},
		Stride: []int{1, stride}, Pad: []int{0, 0}, Dilate: []int{1, 1}}
	rng := rand.New(rand.NewPCG(1, 4))
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.IntN(9) - 4)
		}
		return v
	}
	x, w, dy := random(image), random(kernel), random(result)
	y, dx, dw := convByLoops(x, w, dy, stride)
	q := queue(t, 0)
	in := func(v []float32) unsafe.Pointer {
		b := alloc(t, 0, 4*len(v))
		b.CopyIn(0, bytesOf(v))
		return b.Ptr
	}
	px, pw, pdy := in(x), in(w), in(dy)
	for round := range 2 { // the second time what was chosen is read from disk
		c := cuda.NewConv(dtype.Float32, d)
		if c == nil {
			t.Fatal("cuDNN does not take the convolution")
		}
		for _, kind := range []struct {
			name string
			want []float32
			run  func(to unsafe.Pointer) error
		}{
			{"forward", y, func(to unsafe.Pointer) error { return c.Forward(q, to, px, pw) }},
			{"data", dx, func(to unsafe.Pointer) error { return c.BackData(q, to, pdy, pw) }},
			{"weight", dw, func(to unsafe.Pointer) error { return c.BackWeight(q, to, pdy, px) }},
		} {
			to := alloc(t, 0, 4*len(kind.want))
			if err := kind.run(to.Ptr); err != nil {
				t.Fatal(err)
			}
			got := make([]float32, len(kind.want))
			if err := q.CopyOut(bytesOf(got), to.Ptr); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if math.Abs(float64(got[i]-kind.want[i])) > 1e-5 {
					t.Errorf("round %d, %s: got %v, want %v", round, kind.name, got, kind.want)
					break
				}
			}
		}
	}
	d.Result = []int{1, result + 1}
	if cuda.NewConv(dtype.Float32, d) != nil || cuda.NewConv(dtype.Int32, d) != nil {
		t.Error("cuDNN is given a convolution that it does not take")
	}
}
