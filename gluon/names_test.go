package gluon_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// Gate is a block without a scope: MXNet names it by its class.
type Gate struct {
	Gain  *gluon.Param
	Inner *nn.Dense
}

// NewGate makes a gate.
func NewGate() *Gate {
	return &Gate{Gain: gluon.NewParam(gluon.Spec{Shape: nd.Shape{1},
		Init: initializer.One{}}),
		Inner: &nn.Dense{Units: 4, Activation: "tanh"}}
}

// Forward multiplies x by its gate.
func (g *Gate) Forward(x *nd.Array) *nd.Array {
	return x.Mul(g.Inner.Forward(x)).Add(x).Mul(g.Gain.At(x))
}

// stage has a prefix for its parts.
type stage struct{ Body nn.Sequential }

func (s *stage) Forward(x *nd.Array) *nd.Array { return s.Body.Forward(x) }

func (s *stage) Scope() gluon.Scope { return gluon.Scope{Prefix: "stage1_"} }

// namedNet is a network with all kinds of names; two of its layers are one.
func namedNet() *gluon.Net {
	twice := &nn.Dense{Units: 4}
	return gluon.New(nn.Sequential{
		&nn.Dense{Units: 4, Activation: "relu"},
		&stage{nn.Sequential{&nn.Dense{Units: 4}, nn.Activation("sigmoid"), NewGate()}},
		twice, NewGate(), twice, &gluon.Hooked{Block: nn.Activation("relu")}, nn.Flatten{}})
}

// TestGlobalNames compares names of parameters and operators with those of MXNet's scopes.
func TestGlobalNames(t *testing.T) {
	net := namedNet()
	ok(t, net.Init(initializer.Xavier{}))
	want := map[string]string{"0.weight": "n_dense0_weight", "0.bias": "n_dense0_bias",
		"1.body.0.weight":       "n_stage1_dense0_weight",
		"1.body.0.bias":         "n_stage1_dense0_bias",
		"1.body.2.gain":         "n_stage1_gate0_gain",
		"1.body.2.inner.weight": "n_stage1_gate0_dense0_weight",
		"1.body.2.inner.bias":   "n_stage1_gate0_dense0_bias",
		"2.weight":              "n_dense1_weight", "2.bias": "n_dense1_bias",
		"3.gain":         "n_gate0_gain",
		"3.inner.weight": "n_gate0_dense0_weight", "3.inner.bias": "n_gate0_dense0_bias",
		"4.weight": "n_dense1_weight", "4.bias": "n_dense1_bias"}
	if got := net.GlobalNames("n_"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s, err := net.Symbol(gluon.Input("data", 2, 4), gluon.GlobalNames("n_"))
	ok(t, err)
	var names []string
	for _, n := range s.Nodes() {
		if !n.IsVar() {
			names = append(names, n.Name)
		}
	}
	wantNodes := strings.Fields(`n_dense0_fwd n_dense0_relu_fwd n_stage1_dense0_fwd
		n_stage1_sigmoid0_fwd n_stage1_gate0_dense0_fwd n_stage1_gate0_dense0_tanh_fwd
		n_stage1_gate0__mul0 n_stage1_gate0__plus0 n_stage1_gate0_broadcast_mul0
		n_dense1_fwd n_gate0_dense0_fwd n_gate0_dense0_tanh_fwd n_gate0__mul0 n_gate0__plus0
		n_gate0_broadcast_mul0 n_dense1_fwd1 n_relu0_fwd n_flatten0_flatten0`)
	if !slices.Equal(names, wantNodes) {
		t.Errorf("nodes %v, want %v", names, wantNodes)
	}
}

// TestLoadGlobalNames loads a file of global names behind any prefix into another network.
func TestLoadGlobalNames(t *testing.T) {
	net, other, x := namedNet(), namedNet(), nd.Uniform(-1, 1, nd.Shape{2, 4}, nd.Seed(3))
	ok(t, net.Init(initializer.Xavier{}, gluon.Seed(1)))
	want := nettest.Values(t, net.Forward(x))
	prefix := filepath.Join(t.TempDir(), "net")
	ok(t, net.Export(prefix, 0, gluon.Input("data", 2, 4), gluon.GlobalNames("net17_")))
	ok(t, other.Load(checkpoint.ParamsPath(prefix, 0)))
	if got := nettest.Values(t, other.Forward(x)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again, err := gluon.Import(checkpoint.SymbolPath(prefix), []string{"data"},
		checkpoint.ParamsPath(prefix, 0))
	ok(t, err)
	nettest.Near(t, "imported", nettest.Values(t, again.Forward(x)), want)
}
