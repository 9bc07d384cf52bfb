package linalg_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
)

// full makes float64 matrices near twice the identity, so that they can be inverted.
func full(seed uint64, shape ...int) op.Tensor {
	x := optest.Random(seed, -0.5, 0.5, shape...)
	n, cols := len(shape), shape[len(shape)-1]
	v, size := op.Slice[float32](x), shape[n-2]*cols
	for i := 0; i < len(v); i += size {
		for k := range min(shape[n-2], cols) {
			v[i+k*cols+k] += 2
		}
	}
	return x
}

// positive makes symmetric, positive definite matrices.
func positive(seed uint64, shape ...int) op.Tensor {
	x := full(seed, shape...)
	v, n := op.Slice[float32](x), shape[len(shape)-1]
	for base := 0; base < len(v); base += n * n {
		for i := range n {
			for j := range i {
				v[base+j*n+i] = v[base+i*n+j]
			}
		}
	}
	return x
}

// double converts to float64.
func double(x op.Tensor) op.Tensor {
	var v []float64
	for _, f := range op.Slice[float32](x) {
		v = append(v, float64(f))
	}
	return optest.Array(dtype.Float64, x.Shape, v...)
}

func values(shape []int, v ...float64) op.Tensor { return optest.Array(dtype.Float64, shape, v...) }

// wantError runs an operator on one input and compares the error.
func wantError(t *testing.T, o *op.Op, attrs map[string]string, want string, in ...op.Tensor) {
	t.Helper()
	p, err := o.ParseParams(attrs)
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(o, p, in)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want %q", o.Name, err, want)
	}
}

// checkSymmetric compares the gradient of an operator that reads the lower triangle of a symmetric
// matrix with differences: a change below the diagonal is one on both sides.
func checkSymmetric(t *testing.T, o *op.Op, a op.Tensor) {
	t.Helper()
	got, loss := headed(t, o, a)
	const step = 1e-5
	size := a.Shape[len(a.Shape)-1]
	v := op.Slice[float64](a)
	for k, old := range v {
		i, j := k/size%size, k%size
		mirrored := k - i*size - j + j*size + i
		if d := got[k] - got[mirrored]; math.Abs(d) > 1e-9 {
			t.Errorf("%s: gradient %d is %v, and %v on the other side of the diagonal", o.Name, k,
				got[k], got[mirrored])
		}
		if j > i {
			continue
		}
		v[k] = old + step
		want := loss()
		v[k] = old - step
		want = (want - loss()) / (2 * step)
		v[k] = old
		sum := got[k]
		if i != j {
			sum += got[mirrored]
		}
		if math.Abs(sum-want) > 1e-6 {
			t.Errorf("%s: gradient %d is %v, differences say %v", o.Name, k, sum, want)
		}
	}
}

// headed gives the outputs of an operator random gradients. It returns the gradient of the input
// and the sum of outputs times gradients as a function of what the input holds.
func headed(t *testing.T, o *op.Op, a op.Tensor) (grad []float64, loss func() float64) {
	t.Helper()
	x := op.Var("a")
	n, err := op.NewNode(o, "node", nil, x.Entry(0))
	if err != nil {
		t.Fatal(err)
	}
	outs := make([]op.Entry, n.NumOutputs())
	for i := range outs {
		outs[i] = n.Entry(i)
	}
	feeds := map[*op.Node]op.Tensor{x: a}
	eval := func(list []op.Entry) []op.Tensor {
		y, err := optest.Eval(list, feeds)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	var heads []op.Entry
	var weights [][]float64
	for i, y := range eval(outs) {
		h, w := op.Var("head"), double(optest.Random(uint64(i+7), 0.5, 1.5, y.Shape...))
		feeds[h], heads, weights = w, append(heads, h.Entry(0)),
			append(weights, op.Slice[float64](w))
	}
	grads, err := op.Gradient(n, heads, []bool{true})
	if err != nil {
		t.Fatal(err)
	}
	return op.Slice[float64](eval(grads)[0]), func() float64 {
		sum := 0.0
		for i, y := range eval(outs) {
			for k, v := range op.Slice[float64](y) {
				sum += v * weights[i][k]
			}
		}
		return sum
	}
}
