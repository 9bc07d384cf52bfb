package gorgonia_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	interop "gomx/interop/gorgonia"
	nd "gomx/ndarray"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

// unsound are expressions of which Gorgonia itself gets the value or the gradient wrong or not at
// all, with the right values: log2, the inverse square root, the outer product and the softmax of a
// column have wrong gradients, global average pooling has none, and the sum over the last two of
// four axes is wrong.
func unsound() []struct {
	expression
	want func(x, y []float64) []float64
} {
	each := func(f func(x float64) float64) func(x, y []float64) []float64 {
		return func(x, _ []float64) (list []float64) {
			for _, v := range x {
				list = append(list, f(v))
			}
			return list
		}
	}
	means := func(x, _ []float64) (list []float64) { // of runs of 20
		for run := range slices.Chunk(x, 20) {
			sum := 0.0
			for _, v := range run {
				sum += v
			}
			list = append(list, sum/20)
		}
		return list
	}
	products := func(x, y []float64) (list []float64) {
		for _, v := range x {
			for _, w := range y {
				list = append(list, v*w)
			}
		}
		return list
	}
	softmax := func(x, _ []float64) (list []float64) {
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(v)
		}
		return each(func(v float64) float64 { return math.Exp(v) / sum })(x, nil)
	}
	return []struct {
		expression
		want func(x, y []float64) []float64
	}{
		{expression{"softmax of a column",
			func(b *builder) *G.Node { return b.must(G.SoftMax(b.input("x", 5, 1))) }}, softmax},
		{expression{"log2", func(b *builder) *G.Node { return b.must(G.Log2(b.input("x", 3, 4))) }},
			each(math.Log2)},
		{expression{"inverse sqrt", func(b *builder) *G.Node {
			return b.must(G.InverseSqrt(b.input("x", 3, 4)))
		}},
			each(func(x float64) float64 { return 1 / math.Sqrt(x) })},
		{expression{"outer product", func(b *builder) *G.Node {
			return b.must(G.OuterProd(b.input("x", 4), b.input("y", 3)))
		}}, products},
		{expression{"mean of channels", func(b *builder) *G.Node {
			return b.must(G.Mean(b.input("x", 2, 3, 4, 5), 2, 3))
		}}, means},
		{expression{"global average pooling",
			func(b *builder) *G.Node {
				return b.must(G.GlobalAveragePool2D(b.input("x", 2, 3, 4, 5)))
			}}, means},
	}
}

// TestUnsound compares what Gorgonia is no oracle for with formulas, and gradients with
// differences.
func TestUnsound(t *testing.T) {
	const seed = 17
	for _, tt := range unsound() {
		t.Run(tt.name, func(t *testing.T) {
			t.Logf("seed %d", seed)
			b := newBuilder(t, seed)
			b.lo, b.hi = 0.5, 2
			net, inputs, err := interop.FromGraph(tt.build(b))
			if err != nil {
				t.Fatal(err)
			}
			var y []float64
			if inputs["y"] != nil {
				y = array(t, inputs["y"])
			}
			want := tt.want(array(t, inputs["x"]), y)
			weights := b.random(len(want))
			got := ours(t, net, inputs, weights)
			near(t, "value", got.value, want, 1e-12)
			for name, grad := range differences(t, net, inputs, weights) {
				near(t, "gradient of "+name, got.grads[name], grad, 1e-7)
			}
		})
	}
}

// differences computes gradients of the weighted sum of the outputs by central differences.
func differences(t *testing.T, net *sym.Symbol, inputs map[string]*nd.Array,
	weights []float64) map[string][]float64 {
	t.Helper()
	ex, err := net.SimpleBind(sym.BindConfig{Args: inputs})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	at := func(a *nd.Array, values []float64) (sum float64) {
		a.Set(nd.FromSlice(values, a.Shape()...))
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		for i, v := range array(t, ex.Outputs()[0]) {
			sum += weights[i] * v
		}
		return sum
	}
	grads := map[string][]float64{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		const h = 1e-5
		values := array(t, inputs[name])
		for i, v := range values {
			moved := slices.Clone(values)
			moved[i] = v + h
			up := at(inputs[name], moved)
			moved[i] = v - h
			grads[name] = append(grads[name], (up-at(inputs[name], moved))/(2*h))
		}
		at(inputs[name], values)
	}
	return grads
}
