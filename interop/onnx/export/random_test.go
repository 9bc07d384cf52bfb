package export_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

var (
	randomSeed  = flag.Uint64("random.seed", 1, "seed of the first random graph")
	randomCount = flag.Int("random.n", 60, "number of random graphs")
)

// randomGraph composes operators on two inputs; values keep the shape (2, 3, 4) and stay small.
func randomGraph(seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{inputs: map[string]*nd.Array{
		"x": nd.Uniform(-1, 1, nd.Shape{2, 3, 4}, nd.Seed(seed)),
		"y": nd.Uniform(-1, 1, nd.Shape{2, 3, 4}, nd.Seed(seed+1))}}
	values := []*sym.Symbol{sym.Var("x"), sym.Var("y")}
	pick := func() *sym.Symbol { return values[r.IntN(len(values))] }
	keep := sym.ReduceParams{Axis: []int{r.IntN(3)}, KeepDims: true}
	number := sym.ScalarParams{Scalar: float64(r.IntN(5)) - 2}
	steps := []func() *sym.Symbol{
		func() *sym.Symbol { return sym.Tanh(sym.BroadcastAdd(pick(), pick())) },
		func() *sym.Symbol { return sym.BroadcastMul(pick(), sym.Sigmoid(pick())) },
		func() *sym.Symbol { return sym.BroadcastSub(pick(), sym.Mean(pick(), keep)) },
		func() *sym.Symbol { return sym.BroadcastMaximum(pick(), sym.Max(pick(), keep)) },
		func() *sym.Symbol { return sym.MulScalar(sym.Sin(pick()), number) },
		func() *sym.Symbol { return sym.MinimumScalar(pick(), number) },
		func() *sym.Symbol { return sym.Softmax(pick(), sym.SoftmaxParams{Axis: sym.Some(r.IntN(3))}) },
		func() *sym.Symbol { return sym.Where(sym.Greater(pick(), pick()), pick(), pick()) },
		func() *sym.Symbol {
			return sym.Reshape(sym.Transpose(pick(), sym.TransposeParams{Axes: []int{2, 0, 1}}),
				sym.ReshapeParams{Shape: []int{2, 3, 4}})
		},
		func() *sym.Symbol {
			cut := sym.SliceAxis(sym.Concat([]*sym.Symbol{pick(), pick()}, sym.ConcatParams{}),
				sym.SliceAxisParams{Axis: 1, Begin: 1, End: sym.Some(4)})
			return sym.Reverse(cut, sym.ReverseParams{Axis: []int{r.IntN(3)}})
		},
		func() *sym.Symbol {
			p := sym.DotParams{TransposeB: true}
			return sym.DivScalar(sym.BatchDot(sym.BatchDot(pick(), pick(), p), pick(),
				sym.DotParams{}), sym.ScalarParams{Scalar: 12})
		},
		func() *sym.Symbol { return sym.LeakyReLU(pick(), sym.LeakyReLUParams{ActType: "gelu"}) },
		func() *sym.Symbol {
			return sym.Activation(pick(), sym.ActivationParams{ActType: "softrelu"})
		},
	}
	for range 3 + r.IntN(12) {
		values = append(values, steps[r.IntN(len(steps))]())
	}
	m.Symbol = sym.Group(values[len(values)-1], pick(), values[len(values)-2])
	for name := range m.inputs { // an input may be unused
		found := false
		for _, a := range m.Symbol.Arguments() {
			found = found || a == name
		}
		if !found {
			delete(m.inputs, name)
		}
	}
	return m
}

// TestRandomGraphs exports random graphs and imports them again.
func TestRandomGraphs(t *testing.T) {
	for i := range *randomCount {
		seed := *randomSeed + uint64(i)
		if err := roundTrip(randomGraph(seed)); err != nil {
			t.Fatalf("-random.seed %d -random.n 1: %v", seed, err)
		}
	}
}

// roundTrip compares import(export(m)) with m.
func roundTrip(m *model) error {
	file, err := m.exported()
	if err != nil {
		return err
	}
	want, err := m.run()
	if err != nil {
		return err
	}
	got, err := m.imported(file)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return compare(got, want, tolerance{1e-6, 1e-6})
}

// TestRandomRuntime runs random graphs with ONNX Runtime.
func TestRandomRuntime(t *testing.T) {
	r := newRuntime(t)
	for i := range *randomCount {
		m := randomGraph(*randomSeed + uint64(i))
		file, err := m.exported()
		if err == nil {
			err = r.add(m, file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.run(t)
	for i := range *randomCount {
		seed := *randomSeed + uint64(i)
		want, err := randomGraph(seed).run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.outputs(i)
		if err == nil {
			err = compare(got, want, tolerance{1e-5, 1e-5})
		}
		if err != nil {
			t.Errorf("-random.seed %d -random.n 1: %v", seed, err)
		}
	}
}
