package exec_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

func bindMLP(t *testing.T, c sym.BindConfig) *sym.Executor {
	t.Helper()
	c.Shapes = map[string]dtype.Shape{"data": {5, 7}}
	ex, err := nettest.MLP().SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range ex.Args {
		if name != "softmax_label" {
			a.Set(nd.Uniform(-1, 1, a.Shape(), nd.Seed(3)))
		}
	}
	return ex
}

func TestReshapeSharesWeights(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	small, err := ex.Reshape(map[string]dtype.Shape{"data": {2, 7}})
	if err != nil {
		t.Fatal(err)
	}
	if small.Args["fc1_weight"] != ex.Args["fc1_weight"] ||
		small.Grads["fc1_weight"] != ex.Grads["fc1_weight"] {
		t.Error("the reshaped executor has weights of its own")
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	small.Args["data"].Set(ex.Args["data"].Slice(0, 2))
	if err := small.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "output of the smaller batch", nettest.Values(t, small.Outputs()[0]),
		nettest.Values(t, ex.Outputs()[0].Slice(0, 2)))
}

func TestBackwardAfterASharingExecutorIsRefused(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	other, err := ex.Reshape(map[string]dtype.Shape{"data": {2, 7}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := other.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err == nil || !strings.Contains(err.Error(), "another executor") {
		t.Errorf("got %v, want an error about another executor", err)
	}
}

func TestGuardNamesTheFirstBadOperator(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{Guard: true})
	bad := nd.Full(math.Inf(1), ex.Args["fc2_bias"].Shape())
	ex.Args["fc2_bias"].Set(bad)
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	err := ex.Outputs()[0].Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "fc2") ||
		!strings.Contains(err.Error(), "+Inf") {
		t.Fatalf("got %v, want an error that names fc2 and +Inf", err)
	}
	ex.Args["fc2_bias"].Set(nd.Zeros(bad.Shape()))
	nettest.Step(t, ex)
	if err := ex.Outputs()[0].Wait(context.Background()); err != nil {
		t.Errorf("the next run still fails: %v", err)
	}
	if err := nd.WaitAll(context.Background()); err == nil {
		t.Error("WaitAll says nothing of the failed run")
	}
}

func TestFeedReadsTheGivenArray(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	want := nettest.Values(t, ex.Outputs()[0])
	fed := ex.Args["data"].Copy()
	ex.Args["data"].Fill(0)
	if err := ex.Feed("data", fed); err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	nettest.Compare(t, "output of fed data", nettest.Values(t, ex.Outputs()[0]), want)
	if err := ex.Feed("data", nd.Zeros(nd.Shape{5, 8})); err == nil ||
		!strings.Contains(err.Error(), "(5, 8)") {
		t.Errorf("got %v, want an error that names the shape", err)
	}
}

func TestHeadGradients(t *testing.T) {
	x := sym.Var("x")
	ex, err := sym.Square(x).SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {3}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nd.CopyFrom(ex.Args["x"], []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	run := func(want []float32, heads ...*nd.Array) {
		t.Helper()
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(heads...); err != nil {
			t.Fatal(err)
		}
		nettest.Compare(t, "gradient", nettest.Values(t, ex.Grads["x"]), want)
	}
	run([]float32{2, 4, 6})
	run([]float32{20, 0, -6}, nd.FromSlice([]float32{10, 0, -1}))
	run([]float32{2, 4, 6})
}

func TestArgumentsAsOutputs(t *testing.T) {
	x := sym.Var("x")
	ex, err := sym.Group(x, sym.Square(x)).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2}}})
	if err != nil {
		t.Fatal(err)
	}
	ex.Args["x"].Fill(3)
	nettest.Step(t, ex)
	nettest.Compare(t, "first output", nettest.Values(t, ex.Outputs()[0]), []float32{3, 3})
	nettest.Compare(t, "gradient", nettest.Values(t, ex.Grads["x"]), []float32{7, 7})
}

func TestMemoryIsShared(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{DefaultReq: op.ReqNull})
	use, err := ex.MemoryUse(false)
	if err != nil {
		t.Fatal(err)
	}
	if use.Arena > use.Unshared || use.Arena < use.LowerBound {
		t.Errorf("got %+v, want the arena between the lower bound and no sharing", use)
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	ctx := context.Background()
	run := func() {
		nettest.Step(t, ex)
		if err := nd.WaitAll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		run()
	}
	budget := 0.0
	if device.MaxTier() < device.TierC {
		budget = 16 // kernels in Go allocate when they split their work
	}
	// What tests before this one have left is freed whenever the collector finds it, which
	// allocates: only what every series shows belongs to the steps.
	least := math.Inf(1)
	for range 10 {
		if least = min(least, testing.AllocsPerRun(50, run)); least <= budget {
			return
		}
		runtime.GC()
	}
	t.Errorf("got %v allocations per step, want at most %v", least, budget)
}

func TestExecutorIsFreedWhenForgotten(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	nettest.Step(t, ex)
	if err := nd.WaitAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	ex.Close()
	ex.Close()
	if err := ex.Forward(false); err == nil {
		t.Error("got no error from a closed executor")
	}
}

// TestArraysClosedAfterForward closes an input and an output while a run on them is pending: their
// memory stays until it is done.
func TestArraysClosedAfterForward(t *testing.T) {
	closed := make(chan struct{})
	meetings.Store("closing", func() error { <-closed; return nil })
	x := sym.Var("x")
	net := sym.Group(sym.ElemwiseAdd(sym.Apply(meet, meetParams{Name: "closing"}, x), x,
		sym.Name("sum")), sym.Negative(x, sym.Name("neg")))
	ex, err := net.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {3}},
		DefaultReq: op.ReqNull})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	a := nd.FromSlice([]float32{1, 2, 3})
	if err := ex.Feed("x", a); err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	a.Close()
	ex.Outputs()[1].Close()
	close(closed)
	got, err := ex.Outputs()[0].Float32s()
	if err != nil || len(got) != 3 || got[0] != 3 || got[1] != 5 || got[2] != 7 {
		t.Errorf("got %v, %v, want [3 5 7]", got, err)
	}
}
