package symbol_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	sym "gomx/symbol"
)

func ExampleScope() {
	encoder := sym.NewScope("encoder_", sym.CtxGroup("dev1"))
	first := encoder.Scope("first_", sym.LRMult(0.1))
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 4},
		first.Name("fc"))
	net = sym.Relu(net, encoder.Auto("relu"))
	fmt.Println(net.Arguments(), net.Outputs())
	fmt.Println(net.Attr("encoder_first_fc_weight", "__ctx_group__"),
		net.Attr("encoder_first_fc_weight", "__lr_mult__"), net.Attr("encoder_relu0",
			"__lr_mult__"))
	// Output:
	// [data encoder_first_fc_weight encoder_first_fc_bias] [encoder_relu0_output]
	// dev1 0.1
}

func TestScopeAttributes(t *testing.T) {
	s := sym.NewScope("a_", sym.Attr("__x__", "outer"), sym.Attr("__y__", "outer"))
	inner := s.Scope("b_", sym.Attr("__x__", "inner"))
	for _, tt := range []struct {
		node *sym.Symbol
		want string
	}{
		{inner.Var("v"), "a_b_v inner outer"},
		{inner.Var("v", sym.Attr("__y__", "own")), "a_b_v inner own"},
		{sym.Relu(sym.Var("x"), inner.Name("r")), "a_b_r inner outer"},
		{sym.Relu(sym.Var("x"), sym.Attr("__x__", "own"), inner.Auto("r")), "a_b_r0 own outer"},
		{sym.Relu(sym.Var("x"), inner.Auto("r")), "a_b_r1 inner outer"},
		{s.Var("v"), "a_v outer outer"},
	} {
		a := tt.node.ListAttr()
		if got := strings.Join([]string{tt.node.Name(), a["__x__"], a["__y__"]},
			" "); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestControlDependencies(t *testing.T) {
	x := sym.Var("x")
	first := sym.Exp(x, sym.Name("first"))
	last := sym.Negative(x, sym.Name("last"), sym.After(first))
	text, err := last.JSON()
	if err != nil || !strings.Contains(string(text), `"control_deps"`) {
		t.Fatalf("%s, %v: want control_deps", text, err)
	}
	back, err := sym.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	nodes := back.Nodes()
	n := nodes[len(nodes)-1]
	if len(n.After) != 1 || n.After[0].Name != "first" {
		t.Errorf("after loading, %s runs after %v, want first", n.Name, n.After)
	}
	ex, err := last.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {3}}})
	if err != nil {
		t.Fatal(err)
	}
	ex.Args["x"].Fill(2)
	nettest.Step(t, ex)
	nettest.Compare(t, "output", nettest.Values(t, ex.Outputs()[0]), []float32{-2, -2, -2})
}

func TestInferStorage(t *testing.T) {
	x := sym.Var("x", sym.StorageType(sym.StorageCSR))
	w := sym.Var("w")
	s := sym.Group(sym.Dot(x, w, sym.DotParams{}), sym.Identity(x), w)
	args, outs, _, err := s.InferStorage(map[string]sym.Storage{"w": sym.StorageRowSparse})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(args, outs),
		"[csr row_sparse] [default csr row_sparse]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, _, _, err := s.InferStorage(map[string]sym.Storage{"w": "dense"}); err == nil ||
		!strings.Contains(err.Error(), "dense") {
		t.Errorf("got %v, want an error about the storage type", err)
	}
	if _, _, _, err := s.InferStorage(map[string]sym.Storage{"v": sym.StorageCSR}); err == nil ||
		!strings.Contains(err.Error(), `"v"`) {
		t.Errorf("got %v, want an error about the variable", err)
	}
}

func TestInferTypePartial(t *testing.T) {
	x, y := sym.Var("x"), sym.Var("y")
	s := sym.Group(sym.ElemwiseAdd(x, y), sym.Cast(sym.Var("z"),
		sym.CastParams{DType: dtype.Int32}))
	args, outs, _, err := s.InferTypePartial(map[string]dtype.Type{"y": dtype.Float64})
	if err != nil {
		t.Fatal(err)
	}
	if args[0] != dtype.Float64 || args[2] != dtype.Unknown || outs[1] != dtype.Int32 {
		t.Errorf("got %v and %v, want float64, float64, unknown and float64, int32", args, outs)
	}
}

// TestPartialInferenceInBothDirections gives shapes of outputs, weights or data, with unknown
// extents.
func TestPartialInferenceInBothDirections(t *testing.T) {
	x := sym.Var("x")
	for _, tt := range []struct {
		name  string
		s     *sym.Symbol
		given map[string]dtype.Shape
		want  string // shapes of all arguments
	}{
		{"dense, from the weight", sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3,
			NoBias: true}, sym.Name("fc")),
			map[string]dtype.Shape{"fc_weight": {3, 7}}, "fc_weight (3, 7)"},
		{"sum, from the other side", sym.ElemwiseAdd(x, sym.Var("y")),
			map[string]dtype.Shape{"y": {2, 5}}, "x (2, 5) y (2, 5)"},
		{"sum, each side knows one extent", sym.ElemwiseAdd(x, sym.Var("y")),
			map[string]dtype.Shape{"x": {2, -1}, "y": {-1, 5}}, "x (2, 5) y (2, 5)"},
		{"transposed", sym.ElemwiseAdd(sym.Transpose(x, sym.TransposeParams{}), sym.Var("y")),
			map[string]dtype.Shape{"y": {2, 5}}, "x (5, 2) y (2, 5)"},
		{"channels of a batch norm", sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn")).At(0),
			map[string]dtype.Shape{"x": {-1, 4, -1, -1}}, "bn_gamma (4,) bn_beta (4,)"},
		{"weights without the batch", sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3},
			NumFilter: 8}, sym.Name("c")),
			map[string]dtype.Shape{"x": {-1, 3, -1, -1}}, "c_weight (8, 3, 3, 3) c_bias (8,)"},
		{"attribute with unknown extents",
			sym.ElemwiseAdd(sym.Var("a", sym.Attr("__shape__", "(0, 5)")), x),
			map[string]dtype.Shape{"x": {2, -1}}, "a (2, 5) x (2, 5)"},
	} {
		args, _, _, err := tt.s.InferShapePartial(tt.given)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for i, name := range tt.s.Arguments() {
			got = append(got, fmt.Sprintf("%s %v", name, args[i]))
		}
		if all := strings.Join(got, " "); !strings.Contains(all, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, all, tt.want)
		}
	}
}
