package onnx_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// single is a model of one node of the main domain.
func single(t *testing.T, opset int, name string, in, outs []string, a attrs,
	inputs map[string]*nd.Array) built {
	t.Helper()
	return built{opset: opset, outs: outs, inputs: inputs,
		nodes: []*onnxpb.NodeProto{node(t, "", name, in, outs, a)}}
}

// TestUniqueOrder compares Unique, in the order of first occurrences, with a search.
func TestUniqueOrder(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	list := make([]float32, 40)
	for i := range list {
		list[i] = float32(r.IntN(9))
	}
	b := single(t, 17, "Unique", []string{"x"}, []string{"y", "f", "p", "c"}, attrs{"sorted": 0},
		map[string]*nd.Array{"x": nd.FromSlice(list)})
	b.fixed = []string{"x"}
	got := b.run(t)
	var values, first, counts []float64
	places := make([]float64, len(list))
	for i, x := range list {
		k := slices.Index(values, float64(x))
		if k < 0 {
			k = len(values)
			values, first = append(values, float64(x)), append(first, float64(i))
			counts = append(counts, 0)
		}
		counts[k]++
		places[i] = float64(k)
	}
	for i, want := range [][]float64{values, first, places, counts} {
		if !slices.Equal(got[i], want) {
			t.Errorf("seed %d: output %d: got %v, want %v", seed, i, got[i], want)
		}
	}
}

// TestSuppression compares NonMaxSuppression with repeated searches for the best box.
func TestSuppression(t *testing.T) {
	const seed, n, limit = 5, 30, 0.4
	r := rand.New(rand.NewPCG(seed, 0))
	boxes := random(r, dtype.Float32, 0, 1, 1, n, 4)
	scores := random(r, dtype.Float32, 0, 1, 1, 1, n)
	b := single(t, 17, "NonMaxSuppression", []string{"b", "s", "n", "l"}, []string{"y"}, nil,
		map[string]*nd.Array{"b": boxes, "s": scores, "n": nd.FromSlice([]int64{n}),
			"l": nd.FromSlice([]float32{limit})})
	b.fixed = []string{"b", "s", "n", "l"}
	got := b.run(t)[0]
	p, err := numbers(boxes)
	if err != nil {
		t.Fatal(err)
	}
	s, err := numbers(scores)
	if err != nil {
		t.Fatal(err)
	}
	side := func(i, axis int) (low, high float64) {
		return min(p[4*i+axis], p[4*i+axis+2]), max(p[4*i+axis], p[4*i+axis+2])
	}
	overlap := func(i, k int) float64 {
		inter, areas := 1.0, [2]float64{1, 1}
		for axis := range 2 {
			a, b := side(i, axis)
			c, d := side(k, axis)
			inter *= max(0, min(b, d)-max(a, c))
			areas[0], areas[1] = areas[0]*(b-a), areas[1]*(d-c)
		}
		return inter / (areas[0] + areas[1] - inter)
	}
	var want []float64
	for {
		best := -1
		for i := range s {
			if !math.IsNaN(s[i]) && (best < 0 || s[i] > s[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		want = append(want, 0, 0, float64(best))
		s[best] = math.NaN()
		for i := range s {
			if overlap(best, i) > limit+1e-7 {
				s[i] = math.NaN()
			}
		}
	}
	if !slices.Equal(got, want) || len(want) < 15 {
		t.Errorf("seed %d: got %v, want %v", seed, got, want)
	}
}
