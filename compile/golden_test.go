package compile_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// source infers a symbol for shapes of its data.
func source(t testing.TB, s *sym.Symbol, shapes map[string]dtype.Shape) compile.Source {
	t.Helper()
	s.Nodes() // names them
	r, err := compile.Infer(s.Entries(), compile.Given{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]*op.Node{}
	for _, n := range s.Nodes() {
		vars[n.Name] = n
	}
	src := compile.Source{Outputs: s.Entries(), Facts: r.Facts()}
	for _, name := range s.Arguments() {
		src.Args = append(src.Args, vars[name])
	}
	return src
}

// training returns options that want the gradients of all arguments but data and labels.
func training(s *sym.Symbol) compile.Options {
	o := compile.Options{Train: true, Grads: map[string]op.Req{}}
	for _, name := range s.Arguments() {
		if name != "data" && !strings.HasSuffix(name, "_label") {
			o.Grads[name] = op.ReqWrite
		}
	}
	return o
}

func mustCompile(t testing.TB, src compile.Source, o compile.Options) *compile.Program {
	t.Helper()
	p, err := compile.Compile(src, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// example is a network with the options that it is compiled with.
type example struct {
	name  string
	net   *sym.Symbol
	shape dtype.Shape
	train bool
	set   func(o *compile.Options)
}

func examples() []example {
	add := func(o *compile.Options) { o.Grads["fc1_weight"] = op.ReqAdd }
	half := func(o *compile.Options) { o.Recompute = 0.5 }
	plain := func(o *compile.Options) { o.NoFusion, o.Verify = true, true }
	narrow := func(o *compile.Options) {
		on := device.CPU()
		o.Precision, o.LossScale = dtype.BFloat16, &on
	}
	return []example{
		{"mlp-train", perceptron(), dtype.Shape{5, 7}, true, nil},
		{"mlp-infer", perceptron(), dtype.Shape{5, 7}, false, nil},
		{"mlp-add", perceptron(), dtype.Shape{5, 7}, true, add},
		{"mlp-plain", perceptron(), dtype.Shape{5, 7}, true, plain},
		{"mlp-narrow", perceptron(), dtype.Shape{5, 7}, true, narrow},
		{"mlp-narrow-infer", perceptron(), dtype.Shape{5, 7}, false, narrow},
		{"lenet-train", lenet(), dtype.Shape{4, 1, 28, 28}, true, nil},
		{"deep-recompute", deep(), dtype.Shape{64, 16}, true, half},
		{"residual-train", residual(), dtype.Shape{2, 8, 6, 6}, true, nil},
		{"residual-infer", residual(), dtype.Shape{2, 8, 6, 6}, false, nil},
		{"recurrent-train", recurrent(), dtype.Shape{2, 3}, true, nil},
		{"chain-train", chain(), dtype.Shape{4, 8}, true, nil},
	}
}

// TestGolden compares programs as text with files. Kernels are the plain loops, so that the files
// hold on every machine.
func TestGolden(t *testing.T) {
	for _, e := range append(examples(), twoDevices(t)) {
		t.Run(e.name, func(t *testing.T) {
			p := e.compile(t)
			var b strings.Builder
			if err := p.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", e.name+".txt")
			if *rewrite {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("the program differs from %s; run the test with -rewrite and look at the change:\n%s", file, firstDifference(b.String(), string(want)))
			}
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// compile compiles the network for the plain kernels.
func (e *example) compile(t testing.TB) *compile.Program {
	t.Helper()
	o := compile.Options{}
	if e.train {
		o = training(e.net)
	}
	if e.set != nil {
		e.set(&o)
	}
	return mustCompile(t, source(t, e.net, map[string]dtype.Shape{"data": e.shape}), o)
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got  " + a[i] + "\nwant " + b[i]
		}
	}
	return "one text is longer"
}
