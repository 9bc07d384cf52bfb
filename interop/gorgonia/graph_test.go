package gorgonia_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	interop "gomx/interop/gorgonia"
	nd "gomx/ndarray"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestFromGraphErrors(t *testing.T) {
	image := func(b *builder) *G.Node { return b.input("x", 1, 1, 6, 6) }
	for _, tt := range []struct {
		expression
		want []string // parts of the error
	}{
		{expression{"element", func(b *builder) *G.Node {
			return b.must(G.At(b.input("x", 2, 3), 0, 1))
		}}, []string{"At([0 1])", "cannot be converted"}},
		{expression{"below others", func(b *builder) *G.Node {
			return b.must(G.Tanh(b.must(G.Upsample2D(image(b), 2))))
		}}, []string{"Upsample"}},
		{expression{"average pooling", func(b *builder) *G.Node {
			return b.must(G.AveragePool2D(image(b), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
		}}, []string{"AvgPool", "width of the image"}},
		{expression{"uneven padding", func(b *builder) *G.Node {
			return b.must(G.MaxPool2D(image(b), tensor.Shape{2, 2}, []int{0, 1, 0, 0}, []int{2, 2}))
		}}, []string{"MaxPool", "pads 0 above, 1 below"}},
		{expression{"batch norm", func(b *builder) *G.Node {
			out, _, _, _, err := G.BatchNorm(image(b), nil, nil, 0.9, 1e-5)
			return b.must(out, err)
		}}, []string{"batchnorm-0.9-0.0", "cannot be converted"}},
		{expression{"boolean", func(b *builder) *G.Node {
			return b.must(G.Gt(b.input("x", 3), b.input("y", 3), false))
		}}, []string{"> false", "retSame"}},
		{expression{"random", func(b *builder) *G.Node {
			return b.must(G.Tanh(G.UniformRandomNode(b.g, b.dt, 0, 1, 2, 3)))
		}}, []string{"cannot be converted"}},
		{expression{"no name", func(b *builder) *G.Node {
			return b.must(G.Tanh(G.NewMatrix(b.g, b.dt, G.WithShape(2, 3))))
		}}, []string{`node ""`, "WithName"}},
		{expression{"one name twice", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("x", 2, 3), b.input("x", 3, 2)))
		}}, []string{`node "x"`, "(2, 3)", "same name"}},
		{expression{"element type", func(b *builder) *G.Node {
			return G.NewVector(b.g, tensor.Complex64, G.WithShape(2), G.WithName("z"))
		}}, []string{`node "z"`, "complex64"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBuilder(t, 1)
			var out *G.Node
			protect(t, func() { out = tt.build(b) })
			_, _, err := interop.FromGraph(out)
			if err == nil {
				t.Fatal("got no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
		})
	}
}

func TestFromGraphWantsNodesOfOneGraph(t *testing.T) {
	a, b := newBuilder(t, 1), newBuilder(t, 2)
	for name, out := range map[string]G.Nodes{"none": nil, "nil": {nil},
		"two graphs": {a.input("x", 2), b.input("x", 2)}} {
		if _, _, err := interop.FromGraph(out...); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestSeveralOutputs(t *testing.T) {
	b := newBuilder(t, 1)
	b.lo = 0
	x := b.input("x", 2, 3)
	hidden := b.must(G.Tanh(x))
	net, weights, err := interop.FromGraph(hidden, b.must(G.Sum(hidden)), x)
	if err != nil {
		t.Fatal(err)
	}
	_, shapes, _, err := net.InferShape(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []nd.Shape{{2, 3}, {1}, {2, 3}}; !slices.EqualFunc(shapes, want, nd.Shape.Equal) {
		t.Errorf("got shapes %v, want %v", shapes, want)
	}
	if got := net.Arguments(); len(got) != 1 || got[0] != "x" || len(weights) != 1 {
		t.Errorf("got arguments %v and %d weights, want x", got, len(weights))
	}
}

// TestConstants converts a tensor that never changes: it has a value, no gradient, and stays what
// it is when weights go back.
func TestConstants(t *testing.T) {
	b := newBuilder(t, 1)
	fixed := G.NewConstant(tensor.New(tensor.WithShape(3, 2),
		tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6})))
	out := b.must(G.Sum(b.must(G.Mul(b.input("x", 2, 3), fixed))))
	net, inputs, err := interop.FromGraph(out)
	if err != nil {
		t.Fatal(err)
	}
	name := slices.DeleteFunc(net.Arguments(), func(s string) bool { return s == "x" })[0]
	if !strings.HasPrefix(name, "constant") || net.Attr(name, "__lr_mult__") != "0" {
		t.Errorf("got %q with attributes %v, want a constant that is not learnt", name,
			net.AttrDict()[name])
	}
	got := ours(t, net, inputs, []float64{1})
	near(t, "gradient of the constant", got.grads[name], make([]float64, 6), 0)
	near(t, "gradient of x", got.grads["x"], []float64{3, 7, 11, 3, 7, 11}, 0)
	inputs[name] = nd.Zeros(nd.Shape{3, 2}, nd.As(dtype.Float64))
	if err := interop.ToGraph(context.Background(), inputs, out); err != nil {
		t.Fatal(err)
	}
	near(t, "the constant", floats(t, fixed.Value()), []float64{1, 2, 3, 4, 5, 6}, 0)
}

// TestNumbersInPlaceOfTensors has numbers where only tensors do: folded, repeated, as an output.
func TestNumbersInPlaceOfTensors(t *testing.T) {
	b := newBuilder(t, 1)
	y := b.input("y", 1, 2)
	two := b.must(G.Add(b.must(G.SizeOf(0, y)), b.must(G.SizeOf(1, b.input("z", 2, 1)))))
	spread, _, err := G.Broadcast(b.must(G.Reshape(b.g.Constant(G.NewF64(2)), tensor.Shape{1, 1})),
		y, G.NewBroadcastPattern([]byte{1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		out  *G.Node
		want []float64
	}{
		{"alone", two, []float64{2}},
		{"in a function", b.must(G.Square(two)), []float64{4}},
		{"compared", b.must(G.Lt(two, G.NewConstant(3.0), true)), []float64{1}},
		{"compared the other way", b.must(G.Gt(two, G.NewConstant(3.0), true)), []float64{0}},
		{"repeated", spread, []float64{2, 2}},
	} {
		net, _, err := interop.FromGraph(tt.out)
		if err != nil {
			t.Fatal(err)
		}
		ex, err := net.SimpleBind(sym.BindConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		near(t, tt.name, array(t, ex.Outputs()[0]), tt.want, 0)
		ex.Close()
	}
}

func TestToGraph(t *testing.T) {
	ctx := context.Background()
	b := newBuilder(t, 1)
	w, s := b.input("w", 2, 3), b.input("s")
	unset := G.NewMatrix(b.g, b.dt, G.WithShape(2, 3), G.WithName("unset"))
	counts := G.NewVector(b.g, tensor.Int, G.WithShape(2), G.WithName("counts"))
	out := b.must(G.Add(b.must(G.Mul(w, s)), unset))
	values := map[string]*nd.Array{
		"w": nd.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3), "s": nd.FromSlice([]float64{7}),
		"unset": nd.FromSlice([]float64{6, 5, 4, 3, 2, 1}, 2, 3)}
	if err := interop.ToGraph(ctx, values, out); err != nil {
		t.Fatal(err)
	}
	if err := interop.ToGraph(ctx, map[string]*nd.Array{"counts": nd.FromSlice([]int64{3, 4})},
		counts); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*G.Node{w, s, unset} {
		near(t, n.Name(), floats(t, n.Value()), array(t, values[n.Name()]), 0)
	}
	if got := counts.Value().Data().([]int); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("counts: got %v, want [3 4]", got)
	}
	before := floats(t, w.Value())
	for _, tt := range []struct {
		name string
		bad  *nd.Array
		want string
	}{
		{"unset", nd.Zeros(nd.Shape{3, 2}, nd.As(dtype.Float64)), "shape (3, 2)"},
		{"unset", nd.Zeros(nd.Shape{2, 3}), "float32"},
		{"other", values["s"], `no input "other"`},
	} {
		err := interop.ToGraph(ctx, map[string]*nd.Array{"w": nd.Zeros(nd.Shape{2, 3},
			nd.As(dtype.Float64)), tt.name: tt.bad}, out)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q in it", err, tt.want)
		}
	}
	near(t, "w after errors", floats(t, w.Value()), before, 0)
}
