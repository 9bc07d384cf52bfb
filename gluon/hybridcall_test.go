package gluon_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
)

// hybrid returns a hybridized network with parameters.
func hybrid(t testing.TB, b gluon.Block, opts ...gluon.HybridOption) *gluon.Net {
	t.Helper()
	net := gluon.New(b)
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		t.Fatal(err)
	}
	net.Hybridize(opts...)
	return net
}

// wantTraces compares the number of traces and of graphs.
func wantTraces(t *testing.T, net *gluon.Net, traces, graphs int) {
	t.Helper()
	if a, b := gluon.Traces(net); a != traces || b != graphs {
		t.Errorf("%d traces and %d graphs, want %d and %d", a, b, traces, graphs)
	}
}

func TestGraphsAreKept(t *testing.T) {
	net := hybrid(t, &nn.Dense{Units: 2, InUnits: 3}, gluon.MaxGraphs(3))
	batch := func(n int) *nd.Array { return nd.Ones(nd.Shape{n, 3}) }
	net.Forward(batch(1))
	net.Forward(batch(1))
	wantTraces(t, net, 1, 1)
	net.Forward(autograd.Train().Watch(batch(1))) // another mode
	net.Forward(autograd.Train().Watch(batch(1)))
	wantTraces(t, net, 2, 2)
	net.Forward(autograd.Predict().Watch(batch(1)))
	wantTraces(t, net, 3, 3)
	net.Forward(batch(1))
	net.Forward(batch(2)) // drops the graph of training, which was used longest ago
	wantTraces(t, net, 4, 3)
	net.Forward(batch(1))
	wantTraces(t, net, 4, 3)
	net.Forward(autograd.Train().Watch(batch(1)))
	wantTraces(t, net, 5, 3)
}

func TestParametersChange(t *testing.T) {
	d := &nn.Dense{Units: 1, InUnits: 1, NoBias: true}
	net := hybrid(t, d)
	x := nd.Ones(nd.Shape{1, 1})
	want := func(v float32) {
		t.Helper()
		y := net.Forward(autograd.Train().Watch(x))
		if got := nettest.Values(t, y); got[0] != v {
			t.Errorf("got %v, want %v", got[0], v)
		}
		if y.Recorded() != (d.Weight.GradReq != nd.GradNull) {
			t.Errorf("recorded: %v with gradient request %v", y.Recorded(), d.Weight.GradReq)
		}
	}
	for _, v := range []float64{2, 3} {
		if err := d.Weight.Set(nd.Full(v, nd.Shape{1, 1})); err != nil {
			t.Fatal(err)
		}
		want(float32(v))
	}
	wantTraces(t, net, 1, 1)
	d.Weight.SetGradReq(nd.GradNull)
	want(3)
	wantTraces(t, net, 2, 1)
	d.Weight.SetGradReq(nd.GradAdd)
	want(3)
	if err := net.Init(initializer.One{}); err != nil { // other arrays
		t.Fatal(err)
	}
	d.Weight.Set(nd.Full(5, nd.Shape{1, 1}))
	want(5)
	for range 2 {
		net.Forward(autograd.Train().Watch(x)).Backward()
	}
	if g := nettest.Values(t, d.Weight.Grad()); g[0] != 2 {
		t.Errorf("gradients add up to %v, want 2", g)
	}
}

// TestCallsBeforeBackward keeps several calls of one network on a tape, as a network that judges
// real and made pictures does.
func TestCallsBeforeBackward(t *testing.T) {
	grads := func(hybridize bool) []float32 {
		net := hybrid(t, nn.Sequential{&nn.Dense{Units: 4, InUnits: 2, Activation: "tanh"},
			&nn.Dense{Units: 1, InUnits: 4}})
		if !hybridize {
			net.Unhybridize()
		}
		tape := autograd.Train()
		a, b := nd.Uniform(-1, 1, nd.Shape{3, 2}, nd.Seed(1)), nd.Uniform(-1, 1, nd.Shape{3, 2},
			nd.Seed(2))
		y := net.Forward(tape.Watch(a)).Sub(net.Forward(tape.Watch(b)).MulScalar(2))
		z := net.Forward(tape.Watch(b)) // its gradients are never asked for
		y.Backward()
		_ = z.Shape()
		return nettest.Values(t, net.Params().Get("0.weight").Grad())
	}
	want := grads(false)
	for range 3 {
		got := grads(true)
		for i := range want {
			if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
}

// TestMemoryOfCalls looks whether the memory of calls comes back: of those that Backward has used,
// and of those that were forgotten.
func TestMemoryOfCalls(t *testing.T) {
	net := hybrid(t, nn.Sequential{&nn.Dense{Units: 64, InUnits: 64, Activation: "relu"},
		&nn.Dense{Units: 64, InUnits: 64}})
	x := nd.Ones(nd.Shape{64, 64})
	for range 50 {
		y := net.Forward(autograd.Train().Watch(x))
		y.Backward()
		y.Close()
	}
	if n := gluon.Calls(net); n != 1 {
		t.Errorf("memory for %d calls, want 1", n)
	}
	for range 200 {
		net.Forward(autograd.Train().Watch(x))
		runtime.GC()
		if gluon.Calls(net) > 20 {
			t.Fatal("memory of forgotten calls does not come back")
		}
	}
}

func TestReadingWhileTracing(t *testing.T) {
	for name, f := range map[string]func(x *nd.Array) *nd.Array{
		"Item": func(x *nd.Array) *nd.Array {
			v, err := x.Sum().Item()
			if err == nil {
				t.Errorf("Item returned %v", v)
			}
			return x
		},
		"Float32s": func(x *nd.Array) *nd.Array { x.Float32s(); return x },
		"printing": func(x *nd.Array) *nd.Array { _ = fmt.Sprint(x); return x },
		"Wait":     func(x *nd.Array) *nd.Array { x.Wait(t.Context()); return x },
		"Set":      func(x *nd.Array) *nd.Array { nd.Zeros(x.Shape()).Set(x); return x },
		"Fill":     func(x *nd.Array) *nd.Array { x.AddScalar(1).Fill(2); return x },
		"AddInPlace": func(x *nd.Array) *nd.Array {
			x.AddScalar(1).AddInPlace(x)
			return x
		},
		"AttachGrad": func(x *nd.Array) *nd.Array { x.AttachGrad(); return x },
		"Backward":   func(x *nd.Array) *nd.Array { x.Backward(); return x },
		"mask":       func(x *nd.Array) *nd.Array { return x.Index(nd.Mask(x.Relu())) },
		"Watch":      func(x *nd.Array) *nd.Array { return autograd.Train().Watch(x) },
		"Var":        func(x *nd.Array) *nd.Array { x.Var(); return x },
	} {
		net := gluon.New(gluon.Func(f))
		net.Hybridize()
		err := func() (err error) {
			defer op.Recover(&err)
			net.Forward(nd.Ones(nd.Shape{2, 2}))
			return nil
		}()
		if err == nil || !strings.Contains(err.Error(), "trace") ||
			!strings.Contains(err.Error(), "hybridcall_test.go:") {
			t.Errorf("%s: %v, want an error that names the line", name, err)
		}
	}
}

// TestEscape uses a traced array after the call.
func TestEscape(t *testing.T) {
	var kept *nd.Array
	net := gluon.New(gluon.Func(func(x *nd.Array) *nd.Array {
		kept = x.AddScalar(1)
		return kept
	}))
	net.Hybridize()
	net.Forward(nd.Ones(nd.Shape{2}))
	err := func() (err error) {
		defer op.Recover(&err)
		kept.AddScalar(2)
		return nil
	}()
	if err == nil || !strings.Contains(err.Error(), "after the call") {
		t.Error(err)
	}
}

// pair is a block with two inputs and two outputs.
type pair struct{ Left, Right *nn.Dense }

func (p *pair) Forward(a, b *nd.Array) (*nd.Array, *nd.Array) {
	return p.Left.Forward(a).Add(p.Right.Forward(b)), a
}

func TestSeveralInputsAndOutputs(t *testing.T) {
	p := &pair{&nn.Dense{Units: 2}, &nn.Dense{Units: 2}}
	net := gluon.Wrap(p, func(in []*nd.Array) []*nd.Array {
		x, y := p.Forward(in[0], in[1])
		return []*nd.Array{x, y, x}
	})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	a, b := nd.Uniform(0, 1, nd.Shape{3, 4}), nd.Uniform(0, 1, nd.Shape{3, 5})
	run := func() (vals [][]float32) {
		tape := autograd.Train()
		out := net.Call(tape.Watch(a), tape.Watch(b))
		if err := autograd.Backward([]*nd.Array{out[0].Mul(out[2])}); err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			vals = append(vals, nettest.Values(t, o))
		}
		return append(vals, nettest.Values(t, p.Left.Weight.Grad()),
			nettest.Values(t, p.Right.Weight.Grad()))
	}
	want := run()
	net.Hybridize(gluon.NoFusion())
	for i, v := range run() {
		if !slices.Equal(v, want[i]) {
			t.Errorf("%d: got %v, want %v", i, v, want[i])
		}
	}
}

// TestSecondOrder differentiates the norm of a gradient.
func TestSecondOrder(t *testing.T) {
	run := func(hybridize bool) []float32 {
		nd.SetSeed(1)
		net := gluon.New(nn.Sequential{&nn.Dense{Units: 4, InUnits: 3, Activation: "tanh"},
			&nn.Dropout{Rate: 0.3}, &nn.Dense{Units: 1, InUnits: 4}})
		if err := net.Init(initializer.Xavier{}); err != nil {
			t.Fatal(err)
		}
		if hybridize {
			net.Hybridize(gluon.NoFusion())
		}
		x := nd.Uniform(-1, 1, nd.Shape{5, 3}, nd.Seed(2))
		x.AttachGrad()
		tape := autograd.Train()
		w := tape.Watch(x)
		y := net.Forward(w)
		g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{w}, autograd.CreateGraph())
		if err != nil {
			t.Fatal(err)
		}
		g[0].Square().Sum().Add(y.Sum()).Backward()
		return append(nettest.Values(t, x.Grad()),
			nettest.Values(t, net.Params().Get("0.weight").Grad())...)
	}
	want, got := run(false), run(true)
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// TestGradientInside traces a network that computes a gradient itself.
func TestGradientInside(t *testing.T) {
	d := &nn.Dense{Units: 2, InUnits: 2, Activation: "sigmoid"}
	penalty := gluon.Func(func(x *nd.Array) *nd.Array {
		if x.Tape() == nil {
			x = autograd.Predict().Watch(x)
		}
		g, err := autograd.Grad([]*nd.Array{d.Forward(x)}, []*nd.Array{x}, autograd.CreateGraph())
		if err != nil {
			panic(err)
		}
		return g[0].Square().Sum()
	})
	net := gluon.New(struct {
		*nn.Dense
		gluon.Func `gluon:"-"`
	}{d, penalty}.Func)
	if err := gluon.ParamsOf(d).Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	x := nd.Uniform(-1, 1, nd.Shape{3, 2}, nd.Seed(4))
	x.AttachGrad()
	run := func() []float32 {
		y := net.Forward(autograd.Train().Watch(x))
		y.Backward()
		return append(nettest.Values(t, y), nettest.Values(t, d.Weight.Grad())...)
	}
	want := run()
	net.Hybridize()
	got := run()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestCallsInParallel(t *testing.T) {
	net := hybrid(t, nn.Sequential{&nn.Dense{Units: 16, InUnits: 8, Activation: "relu"},
		&nn.Dense{Units: 2, InUnits: 16}})
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range 20 {
				x := nd.Full(float64(k*20+i), nd.Shape{1 + k%3, 8})
				y := net.Forward(x)
				got, err := y.Float32s()
				if err != nil {
					t.Error(err)
					return
				}
				if d := got[0] - got[len(got)-2]; d != 0 {
					t.Errorf("rows differ: %v", got)
				}
			}
		})
	}
	wg.Wait()
}

// TestLossInGraph hybridizes network and loss as one.
func TestLossInGraph(t *testing.T) {
	d := &nn.Dense{Units: 3, InUnits: 4}
	net := gluon.Wrap(d, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{loss.SoftmaxCE{}.Forward(d.Forward(in[0]), in[1])}
	})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	x, label := nd.Uniform(0, 1, nd.Shape{2, 4}), nd.FromSlice([]float32{0, 2}, 2)
	run := func() []float32 {
		net.Call(autograd.Train().Watch(x), label)[0].Backward()
		return nettest.Values(t, d.Weight.Grad())
	}
	want := run()
	net.Hybridize()
	got := run()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("gradient %d is %v, want %v", i, got[i], want[i])
		}
	}
}
