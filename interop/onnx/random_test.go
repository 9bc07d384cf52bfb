package onnx_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// moments returns mean and standard deviation.
func moments(list []float64) (mean, deviation float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		deviation += (v - mean) * (v - mean) / float64(len(list))
	}
	return mean, math.Sqrt(deviation)
}

// TestRandom compares the moments of many random numbers with those of their distributions, within
// about five standard errors.
func TestRandom(t *testing.T) {
	const n = 20000
	shape := []int{2, n / 2}
	tenth := nd.Cast(nd.FromSlice(fill(n, 0.1), shape...), nd.CastParams{DType: dtype.Float32})
	for _, c := range []struct {
		name            string
		in              *nd.Array
		a               attrs
		mean, deviation float64
	}{
		{"RandomNormal", nil, attrs{"mean": 2.0, "scale": 3.0, "shape": shape}, 2, 3},
		{"RandomUniform", nil, attrs{"low": -1.0, "high": 3.0, "shape": shape}, 1, 4 / math.Sqrt(12)},
		{"RandomNormalLike", tenth, attrs{"mean": 1.0}, 1, 1},
		{"RandomUniformLike", tenth, attrs{"dtype": 11}, 0.5, 1 / math.Sqrt(12)},
		{"Bernoulli", tenth, nil, 0.1, 0.3},
		{"Multinomial", nd.FromSlice([]float32{0, float32(math.Log(3))}, 1, 2),
			attrs{"sample_size": n}, 0.75, math.Sqrt(0.1875)},
		{"Dropout", tenth, nil, 0.1, 0.1 * math.Sqrt(0.25/0.75)},
	} {
		in, inputs := []string{}, map[string]*nd.Array{}
		if c.in != nil {
			in, inputs["x"] = append(in, "x"), c.in
		}
		b := single(t, 22, c.name, in, []string{"y"}, c.a, inputs)
		if c.name == "Dropout" {
			b.nodes[0].Input = []string{"x", "r", "t"}
			b.inputs["r"] = nd.FromSlice([]float32{0.25})
			b.inputs["t"] = nd.FromSlice([]bool{true}, 1)
			b.fixed = []string{"r", "t"}
		}
		got := b.run(t)[0]
		if len(got) != n {
			t.Fatalf("%s: %d numbers, want %d", c.name, len(got), n)
		}
		mean, deviation := moments(got)
		if off := 5 * c.deviation / math.Sqrt(n); math.Abs(mean-c.mean) > off ||
			math.Abs(deviation-c.deviation) > 2*off+0.01 {
			t.Errorf("%s: mean %g and deviation %g, want %g and %g", c.name, mean, deviation, c.mean,
				c.deviation)
		}
	}
}

// fill makes a list of one number.
func fill(n int, v float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// TestEarlyOperatorSets reads arithmetic with an axis, and refuses operators of another form.
func TestEarlyOperatorSets(t *testing.T) {
	b := single(t, 6, "Mul", []string{"a", "b"}, []string{"y"}, attrs{"axis": 1, "broadcast": 1},
		map[string]*nd.Array{"a": nd.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2),
			"b": nd.FromSlice([]float32{10, 100})})
	near(t, "product", b.run(t)[0], []float64{10, 20, 300, 400, 50, 60, 700, 800})
	b.nodes = []*onnxpb.NodeProto{node(t, "", "PRelu", []string{"a", "b"}, []string{"y"}, nil)}
	if _, err := b.load(t); err == nil {
		t.Error("PRelu of operator set 6 passes")
	}
}
