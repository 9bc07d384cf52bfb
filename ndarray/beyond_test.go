package ndarray_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	nd "gomx/ndarray"
	"gomx/op"
)

// refusal returns what f panics with as an operator's error, empty if it does not.
func refusal(f func()) (text string) {
	defer func() {
		if e, ok := recover().(*op.Error); ok {
			text = e.Error()
		}
	}()
	f()
	return ""
}

// TestNothingToCompute calls operators that have no result for their operands, as MXNet 1.9.1
// decides.
func TestNothingToCompute(t *testing.T) {
	m := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	empty := nd.Zeros(nd.Shape{0, 3})
	for name, c := range map[string]struct {
		call func()
		want string
	}{
		"max": {func() { nd.Max(empty, nd.ReduceParams{}) }, "at least one element"},
		"min": {func() { nd.Min(empty, nd.ReduceParams{Axis: []int{0}}) },
			"at least one element"},
		"max none":  {func() { nd.Max(empty, nd.ReduceParams{Axis: []int{1}}) }, ""},
		"diag 3":    {func() { nd.Diag(m, nd.DiagParams{K: 3}) }, "want -3 to 2"},
		"diag -4":   {func() { nd.Diag(m, nd.DiagParams{K: -4}) }, "want -3 to 2"},
		"diag last": {func() { nd.Diag(m, nd.DiagParams{K: 2}) }, ""},
		"tile":      {func() { nd.Tile(m, nd.TileParams{Reps: []int{0, 2}}) }, ""},
	} {
		if got := refusal(c.call); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want an error with %q, none if that is empty", name, got, c.want)
		}
	}
	if _, err := nd.ArgMax(nd.Zeros(nd.Shape{0}), nd.ArgParams{}).Float32s(); err == nil {
		t.Error("argmax of nothing: no error")
	}
}

// TestIndicesOutOfRange looks up what is not there, with the results of MXNet 1.9.1.
func TestIndicesOutOfRange(t *testing.T) {
	m := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	i, label := nd.FromSlice([]float32{-2, -1, 0, 3, 7}), nd.FromSlice([]float32{-1, 5, 1})
	clipped := []float32{1, 2, 1, 2, 1, 2, 5, 6, 5, 6}
	for name, c := range map[string]struct {
		got  *nd.Array
		want []float32 // nil: an error
	}{
		"take clip": {nd.Take(m, i, nd.TakeParams{Mode: "clip"}), clipped},
		"take wrap": {nd.Take(m, i, nd.TakeParams{Mode: "wrap"}), []float32{3, 4, 5, 6, 1, 2, 1, 2,
			3, 4}},
		"take raise": {nd.Take(m, i, nd.TakeParams{Mode: "raise"}), nil},
		"embedding":  {nd.Embedding(i, m, nd.EmbeddingParams{InputDim: 3, OutputDim: 2}), clipped},
		"one_hot": {nd.OneHot(label, nd.OneHotParams{Depth: 3}), []float32{0, 0, 0, 0, 0, 0, 0,
			1, 0}},
	} {
		got, err := c.got.Float32s()
		if c.want == nil && err != nil {
			continue
		}
		if err != nil || !slices.EqualFunc(got, c.want,
			func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 }) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// TestGradientsWithoutFlow checks attached gradients of arrays that no gradient reaches: zeros
// under write, as they were under add and where the heads do not depend on them. Arrays of integers
// have gradients too. MXNet 1.9.1 does the same.
func TestGradientsWithoutFlow(t *testing.T) {
	for _, req := range []nd.GradReq{nd.GradWrite, nd.GradAdd} {
		var arrays []*nd.Array
		for range 4 {
			a := nd.FromSlice([]float32{1, 3})
			a.AttachGrad(req)
			a.Grad().Fill(9)
			arrays = append(arrays, a)
		}
		tape := autograd.Train()
		sum := tape.Watch(arrays[0]).MulScalar(2).Add(nd.Sign(tape.Watch(arrays[1]))).Add(
			nd.BlockGrad(tape.Watch(arrays[2])))
		tape.Watch(arrays[3])
		if err := autograd.Backward([]*nd.Array{sum}); err != nil {
			t.Fatal(err)
		}
		want := map[nd.GradReq][]float32{nd.GradWrite: {2, 0, 0, 9}, nd.GradAdd: {11, 9, 9, 9}}[req]
		for i, a := range arrays {
			if got, err := a.Grad().Float32s(); err != nil || got[0] != want[i] ||
				got[1] != want[i] {
				t.Errorf("request %v: gradient %d is %v, %v, want %v", req, i, got, err, want[i])
			}
		}
	}
	a := nd.FromSlice([]int32{1, 2})
	a.AttachGrad()
	x := autograd.Train().Watch(a)
	if err := autograd.Backward([]*nd.Array{x.Mul(x)}); err != nil ||
		!strings.HasPrefix(fmt.Sprint(a.Grad()), "[2 4]") {
		t.Errorf("gradient of integers: %v, %v, want [2 4]", a.Grad(), err)
	}
}
