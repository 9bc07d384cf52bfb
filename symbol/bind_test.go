package symbol_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

func bindMLP(t *testing.T, c sym.BindConfig) *sym.Executor {
	t.Helper()
	c.Shapes = map[string]dtype.Shape{"data": {5, 7}}
	ex, err := mlp().SimpleBind(c)
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

func step(t testing.TB, ex *sym.Executor) {
	t.Helper()
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
}

func TestReshapeSharesWeights(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	small, err := ex.Reshape(map[string]dtype.Shape{"data": {2, 7}})
	if err != nil {
		t.Fatal(err)
	}
	if small.Args["fc1_weight"] != ex.Args["fc1_weight"] || small.Grads["fc1_weight"] != ex.Grads["fc1_weight"] {
		t.Error("the reshaped executor has weights of its own")
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	small.Args["data"].Set(ex.Args["data"].Slice(0, 2))
	if err := small.Forward(false); err != nil {
		t.Fatal(err)
	}
	compare(t, "output of the smaller batch", values(t, small.Outputs()[0]), values(t, ex.Outputs()[0].Slice(0, 2)))
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
	if err == nil || !strings.Contains(err.Error(), "fc2") || !strings.Contains(err.Error(), "+Inf") {
		t.Fatalf("got %v, want an error that names fc2 and +Inf", err)
	}
	ex.Args["fc2_bias"].Set(nd.Zeros(bad.Shape()))
	step(t, ex)
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
	want := values(t, ex.Outputs()[0])
	fed := ex.Args["data"].Copy()
	ex.Args["data"].Fill(0)
	if err := ex.Feed("data", fed); err != nil {
		t.Fatal(err)
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	compare(t, "output of fed data", values(t, ex.Outputs()[0]), want)
	if err := ex.Feed("data", nd.Zeros(nd.Shape{5, 8})); err == nil || !strings.Contains(err.Error(), "(5, 8)") {
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
		compare(t, "gradient", values(t, ex.Grads["x"]), want)
	}
	run([]float32{2, 4, 6})
	run([]float32{20, 0, -6}, nd.FromSlice([]float32{10, 0, -1}))
	run([]float32{2, 4, 6})
}

func TestArgumentsAsOutputs(t *testing.T) {
	x := sym.Var("x")
	ex, err := sym.Group(x, sym.Square(x)).SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {2}}})
	if err != nil {
		t.Fatal(err)
	}
	ex.Args["x"].Fill(3)
	step(t, ex)
	compare(t, "first output", values(t, ex.Outputs()[0]), []float32{3, 3})
	compare(t, "gradient", values(t, ex.Grads["x"]), []float32{7, 7})
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
		step(t, ex)
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
	// What tests before this one have left is freed whenever the collector finds it, which allocates: only what every
	// series shows belongs to the steps.
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
	step(t, ex)
	if err := nd.WaitAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	ex.Close()
	ex.Close()
	if err := ex.Forward(false); err == nil {
		t.Error("got no error from a closed executor")
	}
}
