package compile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	sym "gomx/symbol"
)

// tiles is a layout for tests: channels in blocks of a size. It takes part in the stage layout as
// layouts of libraries do, on every machine.
type tiles int

func (t tiles) Fits(shape []int) bool { return shape[1]%int(t) == 0 }

func (t tiles) Seen(shape []int) []int { return []int{shape[0], shape[1] / int(t), int(t)} }

// in describes an array in the layout.
func (t tiles) in(d op.Desc) op.Desc {
	d.Layout = t
	return d
}

// packed is a layout of parameters for tests, which takes 16 bytes more than a plain array.
type packed struct{}

func pack(d op.Desc) op.Desc {
	d.Layout, d.Bytes = packed{}, d.Bytes+16
	return d
}

// lonely is a layout that no kernel changes into another one. It joins no arrays.
type lonely struct{}

func (lonely) Fits([]int) bool { return false }

func (lonely) Seen(shape []int) []int { return shape }

var errNoKernel = errors.New("there is no kernel for tests")

// Operators with kernels that look at layouts.
var (
	tiled     = op.Declare[op.NoParams]("_test_tiled")     // wants tiles of 4 and makes them
	finely    = op.Declare[op.NoParams]("_test_finely")    // wants tiles of 2 and makes them
	picky     = op.Declare[op.NoParams]("_test_picky")     // wants a plain array, makes tiles of 4
	paired    = op.Declare[op.NoParams]("_test_paired")    // makes two arrays in tiles of 4
	weighted  = op.Declare[op.NoParams]("_test_weighted")  // wants its second input packed, and scratch memory
	form      = op.Declare[op.NoParams]("_test_form")      // a form of a parameter in any layout
	plainForm = op.Declare[op.NoParams]("_test_plainform") // a form of a parameter, always plain
	keeping   = op.Declare[op.NoParams]("_test_keeping")   // keeps a packed value for its gradient
	kept      = op.Declare[op.NoParams]("_test_kept")      // its gradient
	failing   = op.Declare[op.NoParams]("_test_failing")   // has no kernel for any array
	declining = op.Declare[op.NoParams]("_test_declining") // the same, and looks at layouts
	wanting   = op.Declare[op.NoParams]("_test_wanting")   // wants a layout that nobody makes
	giving    = op.Declare[op.NoParams]("_test_giving")    // makes a layout that nobody can change
)

func init() {
	two := func(op.NoParams) []op.Input { return []op.Input{{Name: "data"}, {Name: "weight"}} }
	declare := func(h op.Handle[op.NoParams], s op.Spec[op.NoParams], k op.Prepare[op.NoParams]) {
		s.Hidden, s.Infer, s.Ref = true, op.SameShape[op.NoParams], move
		s.Layouts = h != keeping && h != kept && h != failing // as recurrent layers on GPUs
		if s.Grad == nil {
			s.NoGrad = "a test needs none"
		}
		h.Define(s)
		h.Kernel(device.KindCPU, device.TierGo, k)
	}
	makes := func(t tiles, a *op.Args) []op.Desc {
		if !a.Chooses(0) || !t.Fits(a.Out[0].Shape) {
			return nil
		}
		return []op.Desc{t.in(a.Out[0])}
	}
	wants := func(t tiles) op.Prepare[op.NoParams] {
		return func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			in := []op.Desc{op.Plain(a.In[0].DType, a.In[0].Shape)}
			if t.Fits(in[0].Shape) {
				in[0] = t.in(in[0])
			}
			return &op.Prepared{In: in, Out: makes(t, a)}, nil
		}
	}
	declare(tiled, op.Spec[op.NoParams]{}, wants(4))
	declare(finely, op.Spec[op.NoParams]{}, wants(2))
	declare(picky, op.Spec[op.NoParams]{}, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		if a.In[0].Layout != nil {
			return nil, op.ErrUnsupported
		}
		return &op.Prepared{Out: makes(4, a), Scratch: 1}, nil
	})
	declare(paired, op.Spec[op.NoParams]{
		Outputs: func(op.NoParams) []string { return []string{"one", "two"} },
	}, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		out := slices.Clone(a.Out)
		for j := range out {
			if a.Chooses(j) {
				out[j] = tiles(4).in(out[j])
			}
		}
		return &op.Prepared{Out: out}, nil
	})
	declare(weighted, op.Spec[op.NoParams]{Inputs: two},
		func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			w := op.Plain(a.In[1].DType, a.In[1].Shape)
			return &op.Prepared{In: []op.Desc{a.In[0], pack(w)}, Out: makes(4, a), Scratch: 24,
				Impls: []string{"weighted"}}, nil
		})
	declare(form, op.Spec[op.NoParams]{Traits: op.Traits{Derived: true}},
		func(op.NoParams, *op.Args) (*op.Prepared, error) { return &op.Prepared{}, nil })
	declare(plainForm, op.Spec[op.NoParams]{Traits: op.Traits{Derived: true}},
		func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			if a.Out[0].Layout != nil {
				return nil, op.ErrUnsupported
			}
			return &op.Prepared{}, nil
		})
	declare(keeping, op.Spec[op.NoParams]{Traits: op.Traits{Keeps: true},
		Outputs: func(op.NoParams) []string { return []string{"output", "reserve"} },
		Visible: func(op.NoParams) int { return 1 },
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{kept.Apply(p, g.Head(0), g.Out(1))}
		}}, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		if !a.Chooses(1) || a.Chooses(0) {
			return &op.Prepared{}, nil
		}
		return &op.Prepared{Out: []op.Desc{a.Out[0], pack(a.Out[1])}}, nil
	})
	declare(kept, op.Spec[op.NoParams]{Inputs: two},
		func(op.NoParams, *op.Args) (*op.Prepared, error) { return &op.Prepared{}, nil })
	fail := func(op.NoParams, *op.Args) (*op.Prepared, error) { return nil, errNoKernel }
	declare(failing, op.Spec[op.NoParams]{Traits: op.Traits{Pointwise: true}}, fail)
	declare(declining, op.Spec[op.NoParams]{}, fail)
	declare(wanting, op.Spec[op.NoParams]{},
		func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			in := a.In[0]
			in.Layout = lonely{}
			return &op.Prepared{In: []op.Desc{in}}, nil
		})
	declare(giving, op.Spec[op.NoParams]{},
		func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			out := a.Out[0]
			out.Layout = lonely{}
			return &op.Prepared{Out: []op.Desc{out}}, nil
		})
	nn.Reorder.Kernel(device.KindCPU, device.TierGo,
		func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
			for _, d := range []op.Desc{a.In[0], a.Out[0]} {
				switch d.Layout.(type) {
				case tiles, packed:
					return &op.Prepared{Threads: a.Threads}, nil
				}
			}
			return nil, op.ErrUnsupported
		})
}

// with applies an operator of tests.
func with(h op.Handle[op.NoParams], name string, in ...*sym.Symbol) *sym.Symbol {
	return sym.ApplyWith(h, op.NoParams{}, []sym.Option{sym.Name(name)}, in...)
}

// layouts are networks whose operators choose layouts.
func layouts() map[string]*sym.Symbol {
	x := sym.Var("data")
	a, b := with(tiled, "a", x), with(tiled, "b", sym.Tanh(x, sym.Name("tanh")))
	late := sym.ApplyWith(tiled, op.NoParams{}, []sym.Option{sym.Name("late"), sym.After(b)}, x)
	half := sym.MulScalar(a, sym.ScalarParams{Scalar: 0.5}, sym.Name("half"))
	join := func(name string, dim int, in ...*sym.Symbol) *sym.Symbol {
		return sym.Concat(in, sym.ConcatParams{Dim: op.Some(dim)}, sym.Name(name))
	}
	w := sym.Var("w")
	one := with(form, "form", w)
	shared := with(form, "shared", w)
	refused := with(plainForm, "refused", w)
	sum := func(x *sym.Symbol) *sym.Symbol {
		return sym.Sum(x, sym.ReduceParams{}, sym.Name("sum"))
	}
	return map[string]*sym.Symbol{
		"chain":     sum(with(tiled, "b", a)),
		"output":    with(tiled, "b", a),
		"pointwise": sum(sym.ElemwiseAdd(half, b, sym.Name("plus"))),
		"mixed":     sum(sym.ElemwiseAdd(half, x, sym.Name("plus"))),
		"other":     sum(sym.ElemwiseAdd(half, with(finely, "c", x), sym.Name("plus"))),
		"visible":   sym.Group(half, sum(a)),
		"wide":      sum(sym.Cast(a, sym.CastParams{DType: dtype.Float64}, sym.Name("wide"))),
		"broadcast": sum(sym.BroadcastAdd(a, sym.Sum(x, sym.ReduceParams{Axis: []int{1},
			KeepDims: true}, sym.Name("row")), sym.Name("plus"))),
		"readers": sym.Group(sum(a), sym.Max(a, sym.ReduceParams{}, sym.Name("max"))),
		"refusal": sum(with(picky, "b", a)),
		"twice":   sum(with(weighted, "b", a, with(form, "outer", with(form, "inner", w)))),
		"first":   sum(with(paired, "b", a).At(0)),
		"second":  sum(with(paired, "b", a).At(1)),
		"seen":    sym.Group(sum(with(paired, "b", a).At(0)), with(paired, "c", a).At(1)),
		"scratch": with(picky, "b", x),
		"shape":   sum(sym.ElemwiseAdd(sym.ZerosLike(a, sym.Name("zeros")), x, sym.Name("plus"))),
		"joined":  sum(join("join", 1, a, b)),
		"unlike":  sum(join("join", 1, a, x, with(finely, "c", x))),
		"rows":    sum(join("join", 0, a, b)),
		"visibly": sym.Group(join("join", 1, a, b), sum(a)),
		"unfit": sum(join("join", 1, a, with(finely, "c", sym.SliceAxis(x,
			sym.SliceAxisParams{Axis: 1, End: op.Some(6)}, sym.Name("part"))))),
		"form":     sum(with(weighted, "b", a, one)),
		"sharing":  sum(sym.ElemwiseAdd(with(weighted, "b", a, shared), shared, sym.Name("plus"))),
		"refusing": sum(with(weighted, "b", a, refused)),
		"after":    sym.Group(sum(late), sum(b)),
		"variable": sum(with(weighted, "b", a, w)),
	}
}

// TestGoldenLayouts compares programs whose kernels choose layouts.
func TestGoldenLayouts(t *testing.T) {
	show := func(b *strings.Builder, name string, net *sym.Symbol, o compile.Options) {
		o.Target.Tier, o.Target.Layouts = device.TierGo, true
		o.Without = allPasses()
		shapes := map[string]dtype.Shape{"data": {2, 8}}
		for _, arg := range net.Arguments() {
			shapes[arg] = dtype.Shape{2, 8}
		}
		p := mustCompile(t, source(t, net, shapes), o)
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(b, "%s: ", name)
		if err := p.WriteText(b); err != nil {
			t.Fatal(err)
		}
		for _, u := range p.Explain().Library {
			fmt.Fprintf(b, "%+v\n", u)
		}
		for _, s := range p.Segments {
			fmt.Fprintf(b, "%s: %d threads\n", s.Name, s.Threads)
		}
		for _, s := range p.Steps {
			for k, in := range s.Call.In {
				fmt.Fprintf(b, "%s reads %v in layout %T %[3]v\n", s.Node.Name, s.Node.In[k],
					in.Layout)
			}
			for _, out := range s.Call.Out {
				fmt.Fprintf(b, "%s gives %d bytes in layout %T %[3]v\n", s.Node.Name, out.Bytes,
					out.Layout)
			}
		}
	}
	for name, net := range layouts() {
		var b strings.Builder
		show(&b, name, net, compile.Options{Target: compile.Target{Threads: 3}})
		compareGolden(t, "layouts/"+name+".txt", b.String())
	}
	var b strings.Builder
	net := with(keeping, "keep", sym.Var("data"))
	show(&b, "inference", net, compile.Options{NoFusion: true})
	grads := map[string]op.Req{"data": op.ReqWrite}
	show(&b, "training", net, compile.Options{Train: true, NoFusion: true, Grads: grads})
	show(&b, "training with layouts", net, compile.Options{Train: true, Grads: grads})
	compareGolden(t, "layouts/kept.txt", b.String())
	b.Reset()
	for threads := range 3 {
		show(&b, fmt.Sprint(threads, " threads"), layouts()["pointwise"],
			compile.Options{Target: compile.Target{Threads: threads}})
	}
	compareGolden(t, "layouts/threads.txt", b.String())
	b.Reset()
	grouped := sym.ApplyWith(tiled, op.NoParams{}, []sym.Option{sym.Name("a"), sym.CtxGroup("near")},
		sym.Var("data"))
	net = sym.ApplyWith(tiled, op.NoParams{}, []sym.Option{sym.Name("b"), sym.CtxGroup("far")},
		with(picky, "c", grouped))
	net.Nodes()
	sp, err := compile.SpreadOver(net.Entries(), graph.Placement{
		Groups: map[string]device.Device{"near": {ID: 1}, "far": {ID: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	show(&b, "devices", net, compile.Options{Spread: sp})
	compareGolden(t, "layouts/devices.txt", b.String())
}

// TestKernelsThatCannotBePrepared demands the error of a kernel, with the name of its node, wherever
// the stages prepare it.
func TestKernelsThatCannotBePrepared(t *testing.T) {
	x := sym.Var("data")
	end := func(x *sym.Symbol) *sym.Symbol { return sym.Tanh(x, sym.Name("tanh")) }
	both := []bool{true, false}
	outs, _ := sym.Foreach(func(row, s []*sym.Symbol) (outs, next []*sym.Symbol) {
		return []*sym.Symbol{with(failing, "inside", row[0])}, s
	}, []*sym.Symbol{x}, nil, sym.Name("loop"))
	for name, c := range map[string]struct {
		net     *sym.Symbol
		want    string // name of the node
		why     error
		layouts []bool // settings of Target.Layouts
	}{
		"plain":   {end(with(failing, "bad", x)), "bad", errNoKernel, both},
		"blocked": {end(with(failing, "bad", with(tiled, "a", x))), "bad", errNoKernel, both},
		"offered": {end(with(declining, "bad", x)), "bad", errNoKernel, both},
		"wanted":  {end(with(wanting, "bad", x)), "data_reorder", op.ErrUnsupported, both[:1]},
		"given":   {end(with(giving, "bad", x)), "bad_reorder", op.ErrUnsupported, both[:1]},
		"exchanged": {with(picky, "a", with(giving, "bad", x)), "bad_reorder", op.ErrUnsupported,
			both[:1]},
		"body": {end(outs[0]), "inside", errNoKernel, both},
	} {
		for _, layouts := range c.layouts {
			o := compile.Options{Without: allPasses()}
			o.Target.Tier, o.Target.Layouts = device.TierGo, layouts
			o.Target.Runner = func(*compile.Body) *op.Body { return &op.Body{} }
			_, err := compile.Compile(source(t, c.net, map[string]dtype.Shape{"data": {2, 8}}), o)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), c.why.Error()) {
				t.Errorf("%s, layouts %v: got %v, want an error that names %s", name, layouts, err,
					c.want)
			}
		}
	}
}
