package linalg_test

import (
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

// checkSymmetric compares the gradient of an operator that reads the lower triangle of a symmetric matrix
// with differences: a change below the diagonal is one on both sides.
func checkSymmetric(t *testing.T, o *op.Op, a op.Tensor) {
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
	y, err := optest.Eval(outs, map[*op.Node]op.Tensor{x: a})
	if err != nil {
		t.Fatal(err)
	}
	feeds, heads := map[*op.Node]op.Tensor{x: a}, make([]op.Entry, len(y))
	for i, v := range y {
		h := op.Var("head")
		heads[i], feeds[h] = h.Entry(0), double(optest.Random(uint64(i+7), 0.5, 1.5, v.Shape...))
	}
	grads, err := op.Gradient(n, heads, []bool{true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := optest.Eval(grads, feeds)
	if err != nil {
		t.Fatal(err)
	}
	loss := func() float64 {
		y, err := optest.Eval(outs, map[*op.Node]op.Tensor{x: a})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, v := range y {
			for k, f := range op.Slice[float64](v) {
				sum += f * op.Slice[float64](feeds[heads[i].Node])[k]
			}
		}
		return sum
	}
	const step = 1e-5
	size := a.Shape[len(a.Shape)-1]
	v, got := op.Slice[float64](a), op.Slice[float64](g[0])
	for k, old := range v {
		i, j := k/size%size, k%size
		mirrored := k - i*size - j + j*size + i
		if d := got[k] - got[mirrored]; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: gradient %d is %v, and %v on the other side of the diagonal", o.Name, k, got[k], got[mirrored])
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
		if d := sum - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: gradient %d is %v, differences say %v", o.Name, k, sum, want)
		}
	}
}
