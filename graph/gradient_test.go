package graph_test

import (
	"testing"

	"gomx/graph"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func lookup(t *testing.T, name string, in ...op.Entry) op.Entry {
	t.Helper()
	return named(t, name, name, in...)
}

// named applies an operator without parameters under a name.
func named(t *testing.T, opName, name string, in ...op.Entry) op.Entry {
	t.Helper()
	n, err := op.NewNode(op.Lookup(opName), name, nil, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n.Entry(0)
}

// eval computes entries from one value per variable.
func eval(t *testing.T, feeds map[*op.Node]float64, outputs ...op.Entry) []float64 {
	t.Helper()
	tensors := map[*op.Node]op.Tensor{}
	for n, v := range feeds {
		tensors[n] = op.TensorOf([]float64{v})
	}
	res, err := optest.Eval(outputs, tensors)
	if err != nil {
		t.Fatal(err)
	}
	var list []float64
	for _, r := range res {
		list = append(list, op.Slice[float64](r)[0])
	}
	return list
}

func TestGradientSumsPaths(t *testing.T) {
	x, y := op.Var("x"), op.Var("y")
	// f = x·x·y + x, so df/dx = 2xy + 1 and df/dy = x²
	f := lookup(t, "elemwise_add", lookup(t, "elemwise_mul", lookup(t, "elemwise_mul", x.Entry(0),
		x.Entry(0)), y.Entry(0)), x.Entry(0))
	grads, err := graph.Gradient([]op.Entry{f}, nil, []op.Entry{x.Entry(0), y.Entry(0)})
	if err != nil {
		t.Fatal(err)
	}
	got := eval(t, map[*op.Node]float64{x: 3, y: 5}, grads...)
	if got[0] != 31 || got[1] != 9 {
		t.Errorf("got %v, want [31 9]", got)
	}
}

func TestGradientUsesHeads(t *testing.T) {
	x, h := op.Var("x"), op.Var("h")
	f := lookup(t, "square", x.Entry(0))
	grads, err := graph.Gradient([]op.Entry{f, f}, []op.Entry{h.Entry(0), {}},
		[]op.Entry{x.Entry(0)})
	if err != nil {
		t.Fatal(err)
	}
	if got := eval(t, map[*op.Node]float64{x: 3, h: 10}, grads...); got[0] != 66 {
		t.Errorf("got %v, want 6·(10+1)", got)
	}
}

func TestGradientOfWhatDoesNotMatterIsNone(t *testing.T) {
	x, y := op.Var("x"), op.Var("y")
	grads, err := graph.Gradient([]op.Entry{lookup(t, "square", x.Entry(0))}, nil,
		[]op.Entry{y.Entry(0)})
	if err != nil {
		t.Fatal(err)
	}
	if grads[0].Valid() {
		t.Errorf("got %v, want none", grads[0])
	}
}

func TestGradientOfGradient(t *testing.T) {
	x := op.Var("x")
	cube := lookup(t, "elemwise_mul", lookup(t, "square", x.Entry(0)), x.Entry(0))
	first, err := graph.Gradient([]op.Entry{cube}, nil, []op.Entry{x.Entry(0)})
	if err != nil {
		t.Fatal(err)
	}
	second, err := graph.Gradient(first, nil, []op.Entry{x.Entry(0)})
	if err != nil {
		t.Fatal(err)
	}
	if got := eval(t, map[*op.Node]float64{x: 2}, first[0], second[0]); got[0] != 12 ||
		got[1] != 12 {
		t.Errorf("got %v, want 3x² = 12 and 6x = 12", got)
	}
}

var _ = prim.ElemwiseAdd
