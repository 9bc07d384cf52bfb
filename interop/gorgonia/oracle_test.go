package gorgonia_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/autograd"
	interop "gomx/interop/gorgonia"
	nd "gomx/ndarray"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestDenseNetAgreesWithGorgonia compares the loss and the gradients of a small dense network.
func TestDenseNetAgreesWithGorgonia(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	random := func(shape ...int) *nd.Array {
		v := make([]float64, nd.Shape(shape).Size())
		for i := range v {
			v[i] = rng.Float64()*2 - 1
		}
		return nd.FromSlice(v, shape...)
	}
	x, w1, w2 := random(5, 4), random(4, 6), random(6, 3)

	g := G.NewGraph()
	node := func(name string, a *nd.Array) *G.Node {
		d, back, err := interop.Lend(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		defer back()
		return G.NewMatrix(g, tensor.Float64, G.WithShape(a.Shape()...), G.WithName(name), G.WithValue(d.Clone()))
	}
	gx, gw1, gw2 := node("x", x), node("w1", w1), node("w2", w2)
	out := G.Must(G.Sigmoid(G.Must(G.Mul(G.Must(G.Tanh(G.Must(G.Mul(gx, gw1)))), gw2))))
	loss := G.Must(G.Sum(G.Must(G.Square(out))))
	if _, err := G.Grad(loss, gw1, gw2); err != nil {
		t.Fatal(err)
	}
	vm := G.NewTapeMachine(g, G.BindDualValues(gw1, gw2))
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}

	w1.AttachGrad()
	w2.AttachGrad()
	tape := autograd.Train()
	ours := nd.Sum(nd.Square(nd.Sigmoid(nd.Dot(nd.Tanh(nd.Dot(tape.Watch(x), w1, nd.DotParams{})), w2, nd.DotParams{}))), nd.SumParams{})
	ours.Backward()

	same(t, "loss", ours, loss.Value().Data())
	for _, p := range []struct {
		name string
		a    *nd.Array
		n    *G.Node
	}{{"w1", w1, gw1}, {"w2", w2, gw2}} {
		grad, err := p.n.Grad()
		if err != nil {
			t.Fatal(err)
		}
		same(t, "gradient of "+p.name, p.a.Grad(), grad.Data())
	}
}

func same(t *testing.T, what string, a *nd.Array, want any) {
	t.Helper()
	got, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	list, ok := want.([]float64)
	if !ok {
		list = []float64{want.(float64)}
	}
	for i := range list {
		if math.Abs(got[i]-list[i]) > 1e-12*(1+math.Abs(list[i])) {
			t.Fatalf("%s: got %v at %d, want %v", what, got[i], i, list[i])
		}
	}
}
