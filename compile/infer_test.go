package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	sym "gomx/symbol"
)

// counted passes data on and counts how often its shape is inferred; joined adds two arrays. Both
// have kernels for null devices.
var (
	counted   = op.Declare[op.NoParams]("_test_counted")
	joined    = op.Declare[op.NoParams]("_test_joined")
	inferring int
)

func init() {
	counted.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true},
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			inferring++
			return op.SameShape(p, in, out)
		},
		Ref:  move,
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry { return g.OutGrad[:1] },
	})
	joined.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "a test needs none"},
		Inputs: func(op.NoParams) []op.Input { return []op.Input{{Name: "lhs"}, {Name: "rhs"}} },
		Infer:  op.SameShape[op.NoParams], Ref: move,
	})
	counted.Kernel(device.KindNull, device.TierRef, op.Simple(move))
	joined.Kernel(device.KindNull, device.TierRef, op.Simple(move))
}

func move(_ op.NoParams, c *op.Call) error { loop.Move(c.Out[0], c.In[0]); return nil }

// TestInferenceHappensOnce counts inferences of an operator of the forward part: a graph is
// inferred when it is bound, by two sweeps of which the second learns nothing, and never while it
// is compiled.
func TestInferenceHappensOnce(t *testing.T) {
	h := sym.Apply(counted, op.NoParams{}, dense(sym.Var("data"), 4, "fc1"))
	net := sym.SoftmaxOutput(dense(sym.Dropout(h, sym.DropoutParams{}), 3, "fc2"),
		sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	inferring = 0
	src := source(t, net, map[string]dtype.Shape{"data": {5, 7}})
	if inferring > 2 {
		t.Errorf("%d inferences when bound, want at most two sweeps", inferring)
	}
	for _, train := range []bool{false, true} {
		for _, precision := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
			o := training(net)
			o.Train, o.Precision, o.Recompute = train, precision, 0.3
			inferring = 0
			p := mustCompile(t, src, o)
			again := 0
			if precision != dtype.Float32 {
				again = 1 // a node with other types is another node
			}
			if inferring > again && !compile.Invariants { // the check infers everything
				t.Errorf("train %v, %v: %d inferences while compiling, want at most %d", train,
					precision, inferring, again)
			}
			if p.Inferred > 2 {
				t.Errorf("train %v, %v: %d inferences of the whole graph, want at most 2", train,
					precision, p.Inferred)
			}
		}
	}
}

// TestGivenAndAttributes reads shapes and types of variables from the caller and from attributes.
func TestGivenAndAttributes(t *testing.T) {
	v := sym.Var("v", sym.Attr("__shape__", "(2, 0, -1, 3)"), sym.Attr("__dtype__", "float64"))
	none := sym.Var("none", sym.Attr("__shape__", "()"), sym.Attr("__dtype__", "-1"))
	net := sym.Group(sym.Tanh(v), sym.Tanh(none), sym.ElemwiseAdd(sym.Var("left"),
		sym.Var("right")), sym.Tanh(sym.Var("alone")))
	net.Nodes()
	for _, c := range []struct {
		given compile.Given
		want  map[string]string
	}{
		{compile.Given{}, map[string]string{"v": "(2,?,?,3) float64", "none": "() float32",
			"left": "() float32", "right": "() float32", "alone": "() float32"}},
		{compile.Given{Shapes: map[string]dtype.Shape{"v": {2, 5, 1, 3}, "left": {4}},
			Types: map[string]dtype.Type{"v": dtype.Int32, "right": dtype.Float16,
				"other": dtype.Int8}},
			map[string]string{"v": "(2,5,1,3) int32", "none": "() float32", "left": "(4) float16",
				"right": "(4) float16", "alone": "() float32"}},
	} {
		r, err := compile.Infer(net.Entries(), c.given)
		if err != nil {
			t.Fatal(err)
		}
		var vars []*op.Node
		for _, n := range net.Nodes() {
			if !n.IsVar() {
				continue
			}
			vars = append(vars, n)
			s, typ := r.Of(n.Entry(0))
			if got := spell(s) + " " + typ.String(); got != c.want[n.Name] {
				t.Errorf("%s: got %s, want %s", n.Name, got, c.want[n.Name])
			}
		}
		err = r.CheckKnown(vars)
		for name, want := range c.want {
			open := strings.HasPrefix(want, "()") || strings.Contains(want, "?")
			if err == nil || strings.Contains(err.Error(), " "+name+" ") != open {
				t.Errorf("got %v, want an error that names %s: %v", err, name, open)
			}
		}
		if err := r.CheckKnown(nil); err != nil {
			t.Errorf("no variables: got %v, want no error", err)
		}
	}
}

// TestDeclared reads the shape and the type that attributes of a variable state.
func TestDeclared(t *testing.T) {
	for _, c := range []struct{ shape, typ, want, fault string }{
		{"", "", "() unknown", ""},
		{"(2, 0, -1)", "float64", "(2,?,?) float64", ""},
		{"(3,)", "-1", "(3) unknown", ""},
		{"(3", "", "() unknown", "__shape__"},
		{"(3,)", "number", "(3) unknown", "__dtype__"},
	} {
		v := op.Var("v")
		v.Attrs = map[string]string{"__shape__": c.shape, "__dtype__": c.typ}
		s, typ, err := compile.Declared(v)
		if got := spell(s) + " " + typ.String(); got != c.want {
			t.Errorf("%q, %q: got %s, want %s", c.shape, c.typ, got, c.want)
		}
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q, %q: got %v, want an error with %q", c.shape, c.typ, err, c.fault)
		}
	}
}

// TestDescriptions describes entries as plain operands.
func TestDescriptions(t *testing.T) {
	net := sym.Tanh(sym.Var("data"))
	net.Nodes()
	r, err := compile.Infer(net.Entries(), compile.Given{Shapes: map[string]dtype.Shape{"data": {2,
		3}}, Types: map[string]dtype.Type{"data": dtype.Float64}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Shapes {
		if d := r.Desc(i); !d.Shape.Equal(dtype.Shape{2, 3}) || d.DType != dtype.Float64 ||
			d.Bytes != 48 || d.Layout != nil {
			t.Errorf("entry %d: got %+v, want 48 bytes of (2,3) float64", i, d)
		}
	}
}

// spell writes a shape with ? for extents that are not known.
func spell(s dtype.Shape) string {
	var b strings.Builder
	for i, d := range s {
		if i > 0 {
			b.WriteString(",")
		}
		if d < 0 {
			b.WriteString("?")
		} else {
			fmt.Fprint(&b, d)
		}
	}
	return "(" + b.String() + ")"
}

// TestAddedGradientsNeedNoInference demands as many inferences where gradients are added to arrays as
// where they replace them.
func TestAddedGradientsNeedNoInference(t *testing.T) {
	inferred := map[string]int{}
	for _, e := range examples() {
		inferred[e.name] = e.compile(t).Inferred
	}
	if got, want := inferred["mlp-add"], inferred["mlp-train"]; got != want {
		t.Errorf("got %d inferences, want %d", got, want)
	}
}

func TestInferErrors(t *testing.T) {
	x := sym.Var("data", sym.Attr("__shape__", "(2, -1)"))
	for name, c := range map[string]struct {
		net   *sym.Symbol
		given compile.Given
		want  string
	}{
		"unknown name": {sym.Tanh(x), compile.Given{Shapes: map[string]dtype.Shape{"date": {1}}},
			`"date"`},
		"bad shape": {sym.Tanh(sym.Var("v", sym.Attr("__shape__", "(2"))), compile.Given{},
			"__shape__"},
		"bad type": {sym.Tanh(sym.Var("v", sym.Attr("__dtype__", "number"))), compile.Given{},
			"__dtype__"},
		"contradiction": {sym.Tanh(x), compile.Given{Shapes: map[string]dtype.Shape{"data": {2,
			3}}}, ""},
		"shapes differ": {sym.ElemwiseAdd(sym.Var("a"), sym.Var("b")),
			compile.Given{Shapes: map[string]dtype.Shape{"a": {2}, "b": {3}}}, "elemwise_add"},
		"types disagree": {sym.ElemwiseAdd(sym.Var("a"), sym.Var("b")),
			compile.Given{Types: map[string]dtype.Type{"a": dtype.Int32, "b": dtype.Float64}},
			"type"},
	} {
		c.net.Nodes()
		_, err := compile.Infer(c.net.Entries(), c.given)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	open := dense(x, 3, "fc")
	open.Nodes()
	r, err := compile.Infer(open.Entries(), compile.Given{})
	if err != nil {
		t.Fatal(err)
	}
	var vars []*op.Node
	for _, n := range open.Nodes() {
		if n.IsVar() {
			vars = append(vars, n)
		}
	}
	if err := r.CheckKnown(vars); err == nil || !strings.Contains(err.Error(), "data (2, ?)") &&
		!strings.Contains(err.Error(), "data") {
		t.Errorf("got %v, want an error that names data", err)
	}
	if err := r.CheckKnown(vars[len(vars)-1:]); err != nil {
		t.Errorf("the bias is known: %v", err)
	}
	if _, err := compile.Compile(compile.Source{Outputs: open.Entries(), Facts: r.Facts()},
		compile.Options{}); err == nil || !strings.Contains(err.Error(), "not enough is known") {
		t.Errorf("got %v, want an error about a shape that is not known", err)
	}
}
