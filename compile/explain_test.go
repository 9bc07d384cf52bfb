package compile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

func ExampleProgram_Explain() {
	x := sym.Var("x")
	inner := sym.PlusScalar(sym.Erf(sym.MulScalar(x, sym.ScalarParams{Scalar: 0.7071},
		sym.Name("scaled")), sym.Name("erf")), sym.ScalarParams{Scalar: 1}, sym.Name("shifted"))
	gelu := sym.MulScalar(sym.ElemwiseMul(x, inner, sym.Name("gated")),
		sym.ScalarParams{Scalar: 0.5}, sym.Name("gelu"))
	same := sym.Transpose(sym.Transpose(gelu, sym.TransposeParams{}, sym.Name("there")),
		sym.TransposeParams{}, sym.Name("back"))
	net := sym.FullyConnected(same, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	e, err := sym.Explain(net, sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {4, 8}},
		DefaultReq: op.ReqNull}, false)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d operators composed, %d run\n", e.Composed, e.Operators)
	for _, p := range e.Passes {
		for _, c := range p.Changes {
			fmt.Printf("%s: %s → %s\n", p.Pass, c.Before, c.After)
		}
	}
	// Output:
	// 8 operators composed, 2 run
	// simplify: transpose(there_output) → _mul_scalar(gated_output)
	// fuse-pointwise: _mul_scalar, erf, _plus_scalar, elemwise_mul, _mul_scalar → _fused_pointwise of 1 inputs and 1 outputs
}

func TestExplainListsEveryPassOfTheMode(t *testing.T) {
	for _, train := range []bool{false, true} {
		e, err := sym.Explain(nettest.MLP(),
			sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {5, 7}}}, train)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, p := range e.Passes {
			got = append(got, p.Pass)
		}
		for _, p := range compile.PassesOf(train) {
			want = append(want, p.Name)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("train %v: got passes %v, want %v", train, got, want)
		}
		if e.Composed != 4 || e.Operators == 0 {
			t.Errorf("train %v: %d operators composed and %d run, want 4 and some", train,
				e.Composed, e.Operators)
		}
		text, err := json.Marshal(e)
		if err != nil || !strings.Contains(string(text), `"pass":"share"`) {
			t.Errorf("train %v: JSON %s, %v", train, text, err)
		}
		if s := e.String(); !strings.Contains(s, "fuse-pointwise") ||
			!strings.Contains(s, "before") {
			t.Errorf("train %v: table without passes:\n%s", train, s)
		}
	}
}

// TestTables writes explanations with and without operators that call a library.
func TestTables(t *testing.T) {
	e := &compile.Explanation{Composed: 3, Operators: 2, Reorders: 1, Passes: []compile.PassReport{
		{Pass: "share"}, {Pass: "fuse-sum", Changes: []graph.Change{{Node: "sum", Before: "a",
			After: "b"}}}}}
	const changes = `: 3 operators composed, 2 run, 1 change layouts
pass      node     before  after
share     nothing          
fuse-sum  sum      a       b
`
	if got, want := e.String(), "inference"+changes; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	e.Train = true
	e.Library = []compile.LibraryUse{{Node: "fc", Op: "FullyConnected",
		Impls: []string{"gemm", "sum"}}}
	const library = `
kernels of the library
node  operator        implementations
fc    FullyConnected  gemm sum
`
	if got, want := e.String(), "training"+changes+library; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPassesCanBeLeftOut(t *testing.T) {
	c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {5, 7}},
		Without: []string{"fuse-activation", "share"}}
	e, err := sym.Explain(nettest.MLP(), c, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range e.Passes {
		if p.Pass == "fuse-activation" || p.Pass == "share" {
			t.Errorf("pass %s ran", p.Pass)
		}
	}
	c.Without = []string{"no-such-pass"}
	if _, err := nettest.MLP().SimpleBind(c); err == nil ||
		!strings.Contains(err.Error(), "no-such-pass") {
		t.Errorf("got %v, want an error that names the pass", err)
	}
}
