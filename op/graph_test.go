package op_test

import (
	"strings"
	"testing"

	"gomx/op"
	"gomx/op/prim"
)

// graphParams holds a graph beside an ordinary parameter.
type graphParams struct {
	Count int       `op:"count,required" min:"1" doc:"a number"`
	Body  *op.Graph `op:"body,graph" doc:"a graph"`
}

var withGraph = op.Declare[graphParams]("_test_with_graph")

func init() {
	withGraph.Define(op.Spec[graphParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it is for tests only"},
		Infer:  op.SameShape[graphParams],
		Check: func(p graphParams) error {
			if len(p.Body.Inputs) != p.Count {
				return op.Errorf("count", "%d, the graph has %d inputs", p.Count, len(p.Body.Inputs))
			}
			return nil
		},
		Ref: func(graphParams, *op.Call) error { return nil },
	})
}

// sum is the graph x + y of two variables.
func sum(x, y string) *op.Graph {
	a, b := op.Var(x), op.Var(y)
	n, err := op.NewNode(op.Lookup("elemwise_add"), "", nil, a.Entry(0), b.Entry(0))
	if err != nil {
		panic(err)
	}
	return op.NewGraph([]op.Entry{n.Entry(0)})
}

// TestGraphParameters reads parameters with a graph: attributes know nothing of it, and it is
// checked when it is added.
func TestGraphParameters(t *testing.T) {
	p, err := withGraph.ParseParams(map[string]string{"count": "2"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withGraph.ParseParams(map[string]string{"count": "2", "body": "x"}); err == nil {
		t.Error("the graph is accepted as an attribute")
	}
	if got := withGraph.FormatParams(p); len(got) != 1 || got["count"] != "2" {
		t.Errorf("written as %v, want the count alone", got)
	}
	if p, err = withGraph.WithGraphs(p, []*op.Graph{sum("x", "y")}); err != nil {
		t.Fatal(err)
	}
	if got := withGraph.Graphs(p); len(got) != 1 || len(got[0].Inputs) != 2 {
		t.Errorf("graphs %v, want the one added", got)
	}
	for want, list := range map[string][]*op.Graph{"0 graphs, want 1": {}, "missing": {nil},
		"two inputs are called \"x\"": {sum("x", "x")},
		"1 inputs":                    {op.NewGraph([]op.Entry{op.Var("x").Entry(0)})}} {
		if _, err := withGraph.WithGraphs(p, list); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if _, err := op.NewNode(withGraph.Op, "", graphParams{Count: 1}); err == nil {
		t.Error("a node without its graph is accepted")
	}
}

// TestGraphKeys compares the keys of graphs: names do not count, operators and connections do.
func TestGraphKeys(t *testing.T) {
	key := func(g *op.Graph) string {
		return string(withGraph.AppendKey(nil, graphParams{Count: 2, Body: g}))
	}
	swapped := sum("x", "y")
	swapped = &op.Graph{Inputs: []*op.Node{swapped.Inputs[1], swapped.Inputs[0]},
		Outputs: swapped.Outputs}
	n := prim.ElemwiseMul.Node(op.NoParams{}, op.Var("x").Entry(0), op.Var("y").Entry(0))
	if key(sum("x", "y")) != key(sum("a", "b")) {
		t.Error("graphs that differ in names only have different keys")
	}
	for name, g := range map[string]*op.Graph{"inputs in another order": swapped,
		"another operator": op.NewGraph([]op.Entry{n.Entry(0)})} {
		if key(g) == key(sum("x", "y")) {
			t.Errorf("%s: the keys are equal", name)
		}
	}
}

// TestOwnOperators tells operators of programs from operators of the library.
func TestOwnOperators(t *testing.T) {
	if !withGraph.Own || prim.ElemwiseMul.Own || op.Lookup("elemwise_add").Own {
		t.Errorf("own: %v of a test, %v and %v of the library, want true, false, false",
			withGraph.Own, prim.ElemwiseMul.Own, op.Lookup("elemwise_add").Own)
	}
}
