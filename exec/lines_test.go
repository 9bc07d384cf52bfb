package exec_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// TestShapesThatDependOnValues binds a graph with boolean_mask. The numbers are those of MXNet
// 1.9.1's bind.
func TestShapesThatDependOnValues(t *testing.T) {
	data, index, w := sym.Var("data"), sym.Var("index"), sym.Var("w")
	rows := sym.BooleanMask(sym.ElemwiseMul(data, w), index, sym.BooleanMaskParams{})
	sum := sym.Sum(sym.Square(rows), sym.ReduceParams{Axis: []int{0}})
	ramp := make([]float32, 12)
	for i := range ramp {
		ramp[i] = float32(i)
	}
	two := nd.Full(2, nd.Shape{4, 3})
	ex, err := sym.Group(sum, rows).SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"w": two,
		"data":  nd.FromSlice(ramp, 4, 3),
		"index": nd.FromSlice([]float32{1, 0, 1, 0})},
		GradReq: map[string]op.Req{"w": op.ReqAdd, "index": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := ex.Backward(); err == nil || !strings.Contains(err.Error(), "wants a Forward") {
		t.Errorf("Backward before Forward: got %v", err)
	}
	for run := 1; run <= 2; run++ {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		expect(t, ex.Outputs()[0], []int{3}, 144, 200, 272)
		expect(t, ex.Outputs()[1], []int{2, 3}, 0, 2, 4, 12, 14, 16)
		if err := ex.Backward(nd.Ones(nd.Shape{3}), nd.Ones(nd.Shape{2, 3})); err != nil {
			t.Fatal(err)
		}
		n := float32(run)
		expect(t, ex.Grads["data"], []int{4, 3}, 2, 10, 18, 0, 0, 0, 50, 58, 66, 0, 0, 0)
		expect(t, ex.Grads["w"], []int{4, 3}, 0, 5*n, 18*n, 0, 0, 0, 150*n, 203*n, 264*n, 0, 0, 0)
	}
	if err := ex.Feed("index", nd.FromSlice([]float32{1, 1, 1, 0})); err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	expect(t, ex.Outputs()[1], []int{3, 3}, 0, 2, 4, 6, 8, 10, 12, 14, 16)
	if _, err := ex.MemoryPlan(false); err == nil ||
		!strings.Contains(err.Error(), "depends on values") {
		t.Errorf("a plan of the memory: got %v, want that there is none", err)
	}
}

// TestShapesThatDependOnValuesRefuse checks that options which mean nothing are errors.
func TestShapesThatDependOnValuesRefuse(t *testing.T) {
	rows := sym.BooleanMask(sym.Var("data"), sym.Var("index"), sym.BooleanMaskParams{})
	for want, c := range map[string]sym.BindConfig{
		"Guard":     {Guard: true},
		"Recompute": {Recompute: 0.5},
		"Monitor":   {Monitor: &sym.Monitor{}},
	} {
		c.Args = map[string]*nd.Array{"data": nd.Ones(nd.Shape{2, 3}), "index": nd.Ones(nd.Shape{2})}
		if _, err := rows.SimpleBind(c); err == nil || !strings.Contains(err.Error(), want+": the graph runs") {
			t.Errorf("%s: got %v, want an error that names it", want, err)
		}
	}
}

func expect(t *testing.T, a *nd.Array, shape []int, want ...float32) {
	t.Helper()
	if got := nettest.Values(t, a); !slices.Equal(got, want) || !slices.Equal(a.Shape(), shape) {
		t.Errorf("got %v of shape %v, want %v of shape %v", got, a.Shape(), want, shape)
	}
}
