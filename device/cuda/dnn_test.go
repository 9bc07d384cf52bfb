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

// lastOf returns [outer][channels][inner] as [outer][inner][channels].
func lastOf(v []float32, outer, channels, inner int) []float32 {
	out := make([]float32, len(v))
	for o := range outer {
		for c := range channels {
			for i := range inner {
				out[(o*inner+i)*channels+c] = v[(o*channels+c)*inner+i]
			}
		}
	}
	return out
}

// squareConv is a convolution of two square images.
type squareConv struct{ in, out, groups, image, kernel, stride, pad int }

// TestConvLast compares the three kinds of convolutions with channels last and in plain arrays.
func TestConvLast(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	rng := rand.New(rand.NewPCG(2, 5))
	for _, c := range []squareConv{{3, 8, 1, 6, 3, 2, 1}, {8, 16, 1, 5, 3, 1, 0},
		{4, 6, 2, 4, 2, 1, 1}, {5, 4, 1, 4, 1, 1, 0}} {
		result := (c.image+2*c.pad-c.kernel)/c.stride + 1
		sizes := [3][3]int{{2, c.in, c.image * c.image},
			{c.out, c.in / c.groups, c.kernel * c.kernel}, {2, c.out, result * result}}
		var data, last [3][]float32 // data, weight, gradient of the result
		for k, s := range sizes {
			data[k] = make([]float32, s[0]*s[1]*s[2])
			for i := range data[k] {
				data[k][i] = float32(rng.IntN(9) - 4)
			}
			last[k] = lastOf(data[k], s[0], s[1], s[2])
		}
		want, got := c.run(t, result, data, false), c.run(t, result, last, true)
		for k, s := range sizes {
			w := lastOf(want[k], s[0], s[1], s[2])
			if got[k] == nil && c.groups > 1 && k == 1 {
				continue // the imitation has no gradient of the weights of groups
			}
			for i := range w {
				if math.Abs(float64(got[k][i]-w[i])) > 1e-5 {
					t.Fatalf("%+v, result %d: got %v, want %v", c, k, got[k], w)
				}
			}
		}
	}
}

// run returns the gradients of data and weight, and the result, of a convolution of data, weight
// and gradient of the result; nil where cuDNN has no algorithm.
func (s squareConv) run(t *testing.T, result int, data [3][]float32, last bool) (to [3][]float32) {
	t.Helper()
	q := queue(t, 0)
	both := func(n int) []int { return []int{n, n} }
	conv := cuda.NewConv(dtype.Float32, cuda.ConvDims{Batch: 2, In: s.in, Out: s.out,
		Groups: s.groups, Image: both(s.image), Result: both(result), Kernel: both(s.kernel),
		Stride: both(s.stride), Pad: both(s.pad), Dilate: both(1), Last: last})
	if conv == nil {
		t.Fatal("cuDNN does not take the convolution")
	}
	var p [3]unsafe.Pointer
	for k, v := range data {
		b := alloc(t, 0, 4*len(v))
		b.CopyIn(0, bytesOf(v))
		p[k] = b.Ptr
	}
	for kind, run := range []func(to unsafe.Pointer) error{
		func(to unsafe.Pointer) error { return conv.BackData(q, to, p[2], p[1]) },
		func(to unsafe.Pointer) error { return conv.BackWeight(q, to, p[2], p[0]) },
		func(to unsafe.Pointer) error { return conv.Forward(q, to, p[0], p[1]) }} {
		b := alloc(t, 0, 4*len(data[kind]))
		switch err := run(b.Ptr); err {
		case nil:
			to[kind] = make([]float32, len(data[kind]))
			if err := q.CopyOut(bytesOf(to[kind]), b.Ptr); err != nil {
				t.Fatal(err)
			}
		case cuda.ErrNoAlgorithm:
		default:
			t.Fatal(err)
		}
	}
	return to
}
