package gorgonia_test

import (
	"math"
	"math/rand/v2"
	"testing"

	interop "gomx/interop/gorgonia"
	nd "gomx/ndarray"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// builder makes the inputs of one Gorgonia graph, with random values.
type builder struct {
	t      testing.TB
	g      *G.ExprGraph
	dt     tensor.Dtype
	rng    *rand.Rand
	inputs G.Nodes
	lo, hi float64 // of the values
}

func newBuilder(t testing.TB, seed uint64) *builder {
	return &builder{t: t, g: G.NewGraph(), dt: tensor.Float64, rng: rand.New(rand.NewPCG(seed, 0)),
		lo: -1, hi: 1}
}

// random returns values between lo and hi.
func (b *builder) random(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = b.lo + b.rng.Float64()*(b.hi-b.lo)
	}
	return list
}

// input makes an input with random values; without a shape it is a scalar.
func (b *builder) input(name string, shape ...int) *G.Node {
	var n *G.Node
	values := b.random(tensor.Shape(shape).TotalSize())
	if len(shape) == 0 {
		n = G.NewScalar(b.g, b.dt, G.WithName(name), G.WithValue(values[0]))
	} else {
		n = G.NewTensor(b.g, b.dt, len(shape), G.WithShape(shape...), G.WithName(name),
			G.WithValue(b.tensor(values, shape)))
	}
	b.inputs = append(b.inputs, n)
	return n
}

// tensor makes a tensor of the graph's element type.
func (b *builder) tensor(values []float64, shape []int) *tensor.Dense {
	if b.dt == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
	}
	narrow := make([]float32, len(values))
	for i, v := range values {
		narrow[i] = float32(v)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(narrow))
}

// must returns the node, or ends the test: Gorgonia could not make it.
func (b *builder) must(n *G.Node, err error) *G.Node {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("Gorgonia: %v", err)
	}
	return n
}

// protect runs what calls Gorgonia. Its panics are failures that name it.
func protect(t testing.TB, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("Gorgonia panics: %v", r)
		}
	}()
	f()
}

// answer is the value of an expression, and the gradients of the inputs by name.
type answer struct {
	value []float64
	grads map[string][]float64
}

// gorgonia computes out, and the gradients of the sum of its elements times weights.
func (b *builder) gorgonia(out *G.Node, weights []float64) (a answer) {
	b.t.Helper()
	protect(b.t, func() {
		var read G.Value
		G.Read(out, &read)
		loss := b.must(G.Mul(out, G.NewConstant(weights[0])))
		if len(out.Shape()) > 0 {
			heads := G.NewTensor(b.g, b.dt, len(out.Shape()), G.WithShape(out.Shape()...),
				G.WithName("heads"), G.WithValue(b.tensor(weights, out.Shape())))
			loss = b.must(G.Sum(b.must(G.HadamardProd(out, heads))))
		}
		if _, err := G.Grad(loss, b.inputs...); err != nil {
			b.t.Fatalf("Gorgonia: %v", err)
		}
		vm := G.NewTapeMachine(b.g, G.BindDualValues(b.inputs...))
		defer vm.Close()
		if err := vm.RunAll(); err != nil {
			b.t.Fatalf("Gorgonia: %v", err)
		}
		a = answer{floats(b.t, read), map[string][]float64{}}
		for _, n := range b.inputs {
			grad, err := n.Grad()
			if err != nil {
				b.t.Fatalf("Gorgonia: gradient of %s: %v", n.Name(), err)
			}
			a.grads[n.Name()] = floats(b.t, grad)
		}
	})
	return a
}

// floats returns the values of a tensor or scalar of Gorgonia.
func floats(t testing.TB, v G.Value) []float64 {
	t.Helper()
	switch data := v.Data().(type) {
	case []float64:
		return append([]float64(nil), data...)
	case float64:
		return []float64{data}
	case float32:
		return []float64{float64(data)}
	case []float32:
		wide := make([]float64, len(data))
		for i, x := range data {
			wide[i] = float64(x)
		}
		return wide
	}
	t.Fatalf("Gorgonia has a value of type %T", v.Data())
	return nil
}

// ours computes the same with the converted graph.
func ours(t testing.TB, net *sym.Symbol, inputs map[string]*nd.Array, weights []float64) answer {
	t.Helper()
	ex, err := net.SimpleBind(sym.BindConfig{Args: inputs})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	out := ex.Outputs()[0]
	if err := ex.Backward(nd.FromSlice(weights, out.Shape()...).AsType(out.DType())); err != nil {
		t.Fatal(err)
	}
	a := answer{array(t, out), map[string][]float64{}}
	for name, g := range ex.Grads {
		a.grads[name] = array(t, g)
	}
	return a
}

// array returns the values of an array.
func array(t testing.TB, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// near fails when values differ by more than the tolerance, relative to one and the value.
func near(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s: got %v at %d, want %v", what, got[i], i, want[i])
			return
		}
	}
}

// compare converts an expression and compares value and gradients with Gorgonia's.
func compare(t *testing.T, b *builder, out *G.Node, tolerance float64) {
	t.Helper()
	net, inputs, err := interop.FromGraph(out)
	if err != nil {
		t.Fatal(err)
	}
	weights := b.random(max(1, out.Shape().TotalSize()))
	want := b.gorgonia(out, weights)
	got := ours(t, net, inputs, weights)
	near(t, "value", got.value, want.value, tolerance)
	for name, grad := range want.grads {
		near(t, "gradient of "+name, got.grads[name], grad, tolerance)
	}
}

// TestOracle compares values and gradients of single operations and small expressions.
func TestOracle(t *testing.T) {
	for i, e := range expressions() {
		t.Run(e.name, func(t *testing.T) {
			seed := 11 + uint64(i)
			t.Logf("seed %d", seed)
			b := newBuilder(t, seed)
			var out *G.Node
			protect(t, func() { out = e.build(b) })
			compare(t, b, out, 1e-9)
		})
	}
}
