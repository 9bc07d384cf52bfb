package onnx_test

import (
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// TestGradients trains through composed operators: gradients against differences.
func TestGradients(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float64, -1.2, 1.2, shape...) }
	one := func(v int64) *nd.Array { return nd.FromSlice([]int64{v}, 1) }
	for _, c := range []struct {
		name, op string
		in       []string
		inputs   map[string]*nd.Array
		fixed    []string
		wrt      []string
		a        attrs
	}{
		{"cubic samples", "GridSample", []string{"x", "g"}, map[string]*nd.Array{
			"x": f(1, 2, 3, 2), "g": f(1, 2, 2, 2)}, nil, []string{"x", "g"},
			attrs{"mode": "cubic", "padding_mode": "reflection"}},
		{"samples of a volume", "GridSample", []string{"x", "g"}, map[string]*nd.Array{
			"x": f(1, 1, 3, 2, 2), "g": f(1, 1, 1, 2, 3)}, nil, []string{"x", "g"},
			attrs{"align_corners": 1}},
		{"samples at the border", "GridSample", []string{"x", "g"}, map[string]*nd.Array{
			"x": f(1, 2, 3, 4), "g": f(1, 3, 3, 2)}, nil, []string{"x", "g"},
			attrs{"padding_mode": "border"}},
		{"affine grid", "AffineGrid", []string{"t", "s"}, map[string]*nd.Array{
			"t": f(2, 2, 3), "s": nd.FromSlice([]int64{2, 1, 3, 2})}, []string{"s"}, []string{"t"},
			nil},
		{"columns", "Col2Im", []string{"x", "s", "k"}, map[string]*nd.Array{"x": f(1, 8, 6),
			"s": nd.FromSlice([]int64{3, 4}), "k": nd.FromSlice([]int64{2, 2})},
			[]string{"s", "k"}, []string{"x"}, nil},
		{"spectrum", "DFT", []string{"x", "", "a"}, map[string]*nd.Array{"x": f(2, 5, 3, 2),
			"a": one(1)}, []string{"a"}, []string{"x"}, attrs{"onesided": 1}},
		{"frames", "STFT", []string{"x", "s", "w"}, map[string]*nd.Array{"x": f(2, 12, 1),
			"s": one(3), "w": f(5)}, []string{"s"}, []string{"x", "w"}, nil},
		{"places of maxima", "MaxPool", []string{"x"}, map[string]*nd.Array{"x": f(1, 2, 5, 4)},
			nil, []string{"x"}, attrs{"kernel_shape": []int{3, 2}, "pads": []int{1, 0, 0, 1}}},
		{"moved windows", "DeformConv", []string{"x", "w", "o", "b", "m"}, map[string]*nd.Array{
			"x": f(1, 2, 4, 4), "w": f(2, 2, 2, 2), "o": f(1, 8, 3, 3), "b": f(2),
			"m": f(1, 4, 3, 3)}, nil, []string{"x", "w", "o", "b", "m"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			outs := []string{"y"}
			if c.op == "MaxPool" {
				outs = append(outs, "i")
			}
			b := built{opset: 20, nodes: nil, inputs: c.inputs, fixed: c.fixed, outs: outs}
			b.nodes = append(b.nodes, node(t, "", c.op, c.in, outs, c.a))
			b.gradients(t, r, c.wrt...)
		})
	}
}
