package random_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/loop"
	"gomx/op/random"
)

func TestSample(t *testing.T) {
	a, b := optest.F([]int{2}, 1, 5), optest.F([]int{2}, 2, 7)
	for _, h := range []struct {
		name   string
		mean   [2]float64
		inputs int
	}{
		{"uniform", [2]float64{1.5, 6}, 2}, {"normal", [2]float64{1, 5}, 2},
		{"exponential", [2]float64{1, 0.2}, 1},
		{"poisson", [2]float64{1, 5}, 1}, {"gamma", [2]float64{2, 35}, 2},
		{"generalized_negative_binomial", [2]float64{1, 5}, 2},
	} {
		o := lookup(t, "_sample_"+h.name)
		p, _ := o.Normalize(random.SampleParams{Shape: []int{many / 2}})
		out, err := optest.Runner{Seed: seed}.Apply(o, p, optest.Ops(a, b)[:h.inputs])
		if err != nil {
			t.Fatal(err)
		}
		if !out[0].Shape.Equal(dtype.Shape{2, many / 2}) {
			t.Errorf("%s: got shape %v", h.name, out[0].Shape)
		}
		wide := optest.Ops(optest.Array(dtype.Float64, []int{2}, 1, 5), optest.Array(dtype.Float64,
			[]int{2}, 2, 7))[:h.inputs]
		if out, err := (optest.Runner{Seed: seed}).Apply(o, p, wide); err != nil ||
			out[0].DType != dtype.Float32 {
			t.Errorf("%s of float64: got %v, %v, want float32", h.name, out, err)
		}
		x := loop.Floats(out[0])
		for row, want := range h.mean {
			mean := 0.0
			for _, v := range x[row*many/2 : (row+1)*many/2] {
				mean += v / (many / 2)
			}
			if math.Abs(mean-want) > 0.1*want+0.05 {
				t.Errorf("%s, row %d: got mean %v, want %v", h.name, row, mean, want)
			}
		}
		optest.Run(t, o, optest.Case{Params: random.SampleParams{Shape: []int{3}},
			In: optest.Ops(a, b)[:h.inputs], NoDiff: true, Seed: seed})
	}
}
