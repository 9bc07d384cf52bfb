package gluon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestExport exports every network, imports it and trains both for a step.
func TestExport(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			net := gluon.New(n.make())
			if err := net.Init(initializer.Xavier{}); err != nil {
				t.Fatal(err)
			}
			net.Hybridize(gluon.NoFusion())
			x := nd.Uniform(-1, 1, n.in, nd.Seed(5))
			nd.SetSeed(9)
			want := nettest.Values(t, net.Forward(x))
			prefix := filepath.Join(t.TempDir(), "net")
			if err := net.Export(prefix, 3); err != nil {
				t.Fatal(err)
			}
			again, err := gluon.Import(prefix+"-symbol.json", []string{"data"},
				prefix+"-0003.params")
			if err != nil {
				t.Fatal(err)
			}
			nd.SetSeed(9)
			again.Hybridize(gluon.NoFusion())
			if got := nettest.Values(t, again.Forward(x)); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			again.Unhybridize()
			nd.SetSeed(9)
			if got := nettest.Values(t, again.Forward(x)); !slices.Equal(got, want) {
				t.Errorf("line by line: got %v, want %v", got, want)
			}
			if _, err := checkpoint.Load(prefix, 3); err != nil {
				t.Error(err)
			}
			if name == "function" {
				return // its gradient is not in the file
			}
			gradients := func(net *gluon.Net) map[string][]float32 {
				nd.SetSeed(2)
				net.Forward(autograd.Train().Watch(x)).Backward()
				grads := map[string][]float32{}
				for name, p := range net.Params().All() {
					if g := p.Grad(); g != nil {
						grads[name] = nettest.Values(t, g)
					}
				}
				return grads
			}
			got := gradients(again)
			for name, w := range gradients(net) {
				name = net.Params().Get(name).Name() // of a shared one the first
				if p := again.Params().Get(name); p == nil {
					t.Errorf("no parameter %s, there are %v", name, again.Params().Names())
				} else if !slices.Equal(got[name], w) {
					t.Errorf("gradient of %s is %v, want %v", name, got[name], w)
				}
			}
		})
	}
}

func TestFromSymbol(t *testing.T) {
	x := sym.FullyConnected(sym.Var("x"), sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	b, err := gluon.FromSymbol(sym.Group(x, sym.Square(x)), "x")
	if err != nil {
		t.Fatal(err)
	}
	net := gluon.Wrap(b, b.Call)
	want := strings.Fields("fc_weight fc_bias bn_gamma bn_beta bn_moving_mean bn_moving_var")
	if got := net.Params().Names(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	out := net.Call(nd.Ones(nd.Shape{2, 5}))
	if len(out) != 2 || !net.Params().Get("fc_weight").Data().Shape().Equal(nd.Shape{3, 5}) {
		t.Errorf("%d outputs, weight %v", len(out), net.Params().Get("fc_weight"))
	}
	if out = net.Call(nd.Ones(nd.Shape{7, 5})); out[1].Shape()[0] != 7 {
		t.Errorf("another batch gave shape %v", out[1].Shape())
	}
	if _, err := gluon.FromSymbol(x, "data"); err == nil ||
		!strings.Contains(err.Error(), `"data"`) {
		t.Error(err)
	}
}

func TestExportErrors(t *testing.T) {
	net := gluon.New(&nn.Dense{Units: 2, InUnits: 3})
	if err := net.Init(nil); err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(t.TempDir(), "net")
	if err := net.Export(prefix, 0); err == nil || !strings.Contains(err.Error(), "gluon.Input") {
		t.Error(err)
	}
	if err := net.Export(prefix, 0, gluon.Input("x", 4, 3)); err != nil {
		t.Error(err)
	}
	if err := net.Export(prefix, 0, gluon.Input("x", 4, 2)); err == nil {
		t.Error("no error for an argument that does not fit")
	}
	s, err := net.Symbol(gluon.Input("x", 4, 3))
	if err != nil || fmt.Sprint(s.Arguments()) != "[x weight bias]" {
		t.Error(s.Arguments(), err)
	}
}

// TestSymbolBlockWithMask runs a symbol in which a shape depends on values.
func TestSymbolBlockWithMask(t *testing.T) {
	rows := sym.BooleanMask(sym.Var("data"), sym.Var("index"), sym.BooleanMaskParams{})
	b, err := gluon.FromSymbol(sym.Sum(rows, sym.ReduceParams{}), "data", "index")
	if err != nil {
		t.Fatal(err)
	}
	x, index := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2), nd.FromSlice([]float32{0, 1})
	if got, err := b.Call([]*nd.Array{x, index})[0].Item(); err != nil || got != 7 {
		t.Errorf("got %v and error %v, want the sum of the second row, 7", got, err)
	}
}
