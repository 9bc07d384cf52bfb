package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// TestWeightsOfRecurrentLayers checks that layers compute the same with weights that are constants,
// which are brought into gomx's order at import, and with weights that are computed.
func TestWeightsOfRecurrentLayers(t *testing.T) {
	const steps, batch, width, size = 3, 2, 5, 4
	for _, c := range []struct {
		op        string
		gates     int
		direction string
		clip      float64 // not zero: the steps are imported one by one
	}{
		{"LSTM", 4, "bidirectional", 0}, {"LSTM", 4, "reverse", 0}, {"LSTM", 4, "forward", 0.5},
		{"GRU", 3, "forward", 0}, {"RNN", 1, "bidirectional", 0},
	} {
		t.Run(c.op+" "+c.direction, func(t *testing.T) {
			r, passes := rand.New(rand.NewPCG(57, 0)), 1
			if c.direction == "bidirectional" {
				passes = 2
			}
			a := attrs{"hidden_size": size, "direction": c.direction}
			if c.op == "GRU" {
				a["linear_before_reset"] = 1
			}
			if c.clip != 0 {
				a["clip"] = c.clip
			}
			rows := c.gates * size
			b := built{opset: 17, outs: []string{"y", "h"}, inputs: map[string]*nd.Array{
				"x": random(r, dtype.Float32, -1, 1, steps, batch, width),
				"w": random(r, dtype.Float32, -1, 1, passes, rows, width),
				"r": random(r, dtype.Float32, -1, 1, passes, rows, size),
				"b": random(r, dtype.Float32, -1, 1, passes, 2*rows)},
				nodes: []*onnxpb.NodeProto{node(t, "", c.op, []string{"x", "w", "r", "b"},
					[]string{"y", "h"}, a)}}
			want := b.run(t)
			b.fixed = []string{"w", "r", "b"}
			for i, list := range b.run(t) {
				near(t, b.outs[i], list, want[i])
			}
			m, err := b.load(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range m.Symbol.Nodes() {
				if n.IsVar() {
					continue
				}
				for _, e := range n.In {
					if e.Node.IsVar() && n.Op.Name == "slice_axis" {
						t.Errorf("%s cuts the constant %s in each run", n.Name, e.Node.Name)
					}
				}
			}
		})
	}
}

// TestPowersOfNumbers checks powers whose exponent is a constant number.
func TestPowersOfNumbers(t *testing.T) {
	for _, k := range []float64{2, 0.5, 3, -1} {
		b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
			"x": nd.FromSlice([]float32{0.5, 1, 3, 7})},
			nodes: []*onnxpb.NodeProto{
				node(t, "", "Constant", nil, []string{"k"}, attrs{"value_float": k}),
				node(t, "", "Pow", []string{"x", "k"}, []string{"y"}, nil)}}
		var want []float64
		for _, x := range []float64{0.5, 1, 3, 7} {
			want = append(want, math.Pow(x, k))
		}
		near(t, "powers", b.run(t)[0], want)
	}
}
