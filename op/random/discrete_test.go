package random_test

import (
	"math"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/random"
)

func lookup(t *testing.T, name string) *op.Op {
	t.Helper()
	o := op.Lookup(name)
	if o == nil {
		t.Fatalf("no operator %s", name)
	}
	return o
}

func TestMultinomial(t *testing.T) {
	data := optest.F([]int{2, 3}, 0.2, 0.3, 0.5, 0, 1, 0)
	p, _ := random.Multinomial.Normalize(random.MultinomialParams{Shape: []int{10000},
		GetProb: true})
	out, err := optest.Runner{Seed: seed}.Apply(random.Multinomial.Op, p, optest.Ops(data))
	if err != nil {
		t.Fatal(err)
	}
	if out[0].DType != dtype.Int32 || !out[0].Shape.Equal(dtype.Shape{2, 10000}) {
		t.Fatalf("got %v %v", out[0].DType, out[0].Shape)
	}
	prob, count := loop.Floats(data), make([]float64, 6)
	logs := loop.Floats(out[1])
	for i, k := range loop.Ints(out[0]) {
		at := i/10000*3 + int(k)
		count[at]++
		if math.Abs(logs[i]-math.Log(prob[at])) > 1e-6 {
			t.Fatalf("logarithm %d: got %v, want %v", i, logs[i], math.Log(prob[at]))
		}
	}
	for i, n := range count {
		if math.Abs(n/10000-prob[i]) > 0.02 {
			t.Errorf("frequency %d: got %v, want %v", i, n/10000, prob[i])
		}
	}
}

func TestMultinomialGradient(t *testing.T) {
	optest.Run(t, random.Multinomial.Op,
		optest.Case{Params: random.MultinomialParams{GetProb: true},
			In: optest.Ops(optest.F([]int{2}, 0, 1)), Seed: seed, NoDiff: true,
			Want:     optest.Ops(optest.Array(dtype.Int32, []int{1}, 1), optest.F([]int{1}, 0)),
			Heads:    optest.Ops(op.Tensor{}, optest.F([]int{1}, 3)),
			WantGrad: optest.Ops(optest.F([]int{2}, 0, 3))},
		optest.Case{Name: "rows", Params: random.MultinomialParams{Shape: []int{2}},
			In: optest.Ops(optest.F([]int{2, 2}, 0, 1, 1, 0)), Seed: seed, NoDiff: true,
			Want: optest.Ops(optest.Array(dtype.Int32, []int{2, 2}, 1, 1, 0, 0))})
}

func TestShuffle(t *testing.T) {
	x := optest.Range(50, 2)
	out, err := optest.Runner{Seed: seed}.Apply(random.Shuffle.Op, op.NoParams{}, optest.Ops(x))
	if err != nil {
		t.Fatal(err)
	}
	y := loop.Floats(out[0])
	if slices.Equal(y, loop.Floats(x)) {
		t.Error("got the old order")
	}
	var first []float64
	for i := 0; i < len(y); i += 2 {
		if y[i+1] != y[i]+1 {
			t.Fatalf("row %d: got %v, want rows kept together", i/2, y[i:i+2])
		}
		first = append(first, y[i])
	}
	slices.Sort(first)
	for i, v := range first {
		if v != float64(2*i) {
			t.Fatalf("row %d is missing", i)
		}
	}
}
