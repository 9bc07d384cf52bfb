package exec_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/engine"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// ownEngine returns an engine of the test's own.
func ownEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestExecutorOnAnotherEngine trains with arrays of an engine that is not the default one.
func TestExecutorOnAnotherEngine(t *testing.T) {
	e := ownEngine(t)
	s := sym.FullyConnected(sym.Var("x"), sym.FullyConnectedParams{NumHidden: 2}, sym.Name("fc"))
	ex, err := s.SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{"x": nd.Ones(nd.Shape{1, 3},
		nd.Using(e))}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if got := ex.Args["fc_weight"].Engine(); got != e {
		t.Errorf("an array that SimpleBind has made is on another engine")
	}
	ex.Args["fc_weight"].Fill(2)
	for range 2 {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(nd.Full(3, nd.Shape{1, 2}, nd.Using(e))); err != nil {
			t.Fatal(err)
		}
	}
	nettest.Near(t, "output", nettest.Values(t, ex.Outputs()[0]), []float32{6, 6})
	nettest.Near(t, "gradient", nettest.Values(t, ex.Grads["x"]), []float32{12, 12, 12})
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(nd.Ones(nd.Shape{1, 2})); err == nil ||
		!strings.Contains(err.Error(), "another engine") {
		t.Errorf("head gradient of the default engine: error %v", err)
	}
	if err := ex.Feed("x", nd.Ones(nd.Shape{1, 3})); err == nil ||
		!strings.Contains(err.Error(), "another engine") {
		t.Errorf("array of the default engine fed: error %v", err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	nettest.Near(t, "gradient of ones", nettest.Values(t, ex.Grads["x"]), []float32{4, 4, 4})
	again, err := ex.Reshape(map[string]dtype.Shape{"x": {2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Near(t, "output of another shape", nettest.Values(t, again.Outputs()[0]),
		[]float32{0, 0, 0, 0})
	copied, err := ex.Replicate(nil, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Near(t, "output of a replica", nettest.Values(t, copied.Outputs()[0]), []float32{0, 0})
}

func TestArraysOfTwoEnginesAreRefused(t *testing.T) {
	e := ownEngine(t)
	_, err := sym.ElemwiseAdd(sym.Var("x"),
		sym.Var("y")).SimpleBind(sym.BindConfig{Args: map[string]*nd.Array{
		"x": nd.Ones(nd.Shape{3}), "y": nd.Ones(nd.Shape{3}, nd.Using(e))}})
	if err == nil || !strings.Contains(err.Error(),
		`argument "y" belongs to another engine than argument "x"`) {
		t.Errorf("error %v, want one that names the two arrays", err)
	}
}

// TestSetDefaultAfterBind: an executor stays on the engine that it was bound on.
func TestSetDefaultAfterBind(t *testing.T) {
	ex := boundSquare(t, sym.BindConfig{DefaultReq: op.ReqWrite})
	old := engine.Default()
	engine.SetDefault(ownEngine(t))
	defer engine.SetDefault(old)
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	nettest.Near(t, "gradient", nettest.Values(t, ex.Grads["x"]), []float32{2, 4, 6})
}
