package compile_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/golden"
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
	single := func(o *compile.Options) { o.Single, o.Grads["data"] = true, op.ReqWrite }
	whole := func(o *compile.Options) { o.Recompute = 1 }
	fixed := func(o *compile.Options) {
		on := device.CPU()
		o.Precision, o.LossScale, o.Grads = dtype.BFloat16, &on, nil
	}
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
		{"pointwise-train", pointwise(), dtype.Shape{4, 8}, true, nil},
		{"lstm-train", lstm(), dtype.Shape{3, 2, 5}, true, nil},
		{"lstm-infer", lstm(), dtype.Shape{3, 2, 5}, false, nil},
		{"control-train", control(), dtype.Shape{4}, true, single},
		{"empty-train", perceptron(), dtype.Shape{0, 7}, true, nil},
		{"again-train", again(), dtype.Shape{4}, true, nil},
		{"again-wide", again(), dtype.Shape{4}, true, whole},
		{"loss-train", sym.SoftmaxOutput(sym.Var("data"), sym.SoftmaxOutputParams{},
			sym.Name("softmax")), dtype.Shape{4, 3}, true, single},
		{"narrow-fixed", perceptron(), dtype.Shape{5, 7}, true, fixed},
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
			compareGolden(t, e.name+".txt", b.String())
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// compareGolden compares a text with a file of testdata.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name), got, *rewrite)
}

// TestGoldenLanes compares programs that run on several queues and devices.
func TestGoldenLanes(t *testing.T) {
	show := func(name string, p *compile.Program) {
		var b strings.Builder
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Segments {
			fmt.Fprintf(&b, "%s: %d threads, wide %v, queued %v\n", s.Name, s.Threads, s.Wide,
				s.Lane.Queued())
		}
		compareGolden(t, name, b.String())
	}
	e := branches()
	src := source(t, e.net, map[string]dtype.Shape{"data": e.shape})
	for _, streams := range []int{1, 2, 3, 100} {
		show(fmt.Sprint("branches-", streams, ".txt"), mustCompile(t, src,
			compile.Options{Device: device.Null(0), Streams: streams, NoFusion: true}))
	}
	crossing := crossing()
	show("crossing.txt", mustCompile(t, source(t, crossing, map[string]dtype.Shape{"data": {4}}),
		compile.Options{Device: device.Null(0), Streams: 2, NoFusion: true}))
	long := sym.Var("data")
	for range 40 {
		long = sym.Apply(counted, op.NoParams{}, long)
	}
	show("long.txt", mustCompile(t, source(t, long, map[string]dtype.Shape{"data": {4}}),
		compile.Options{}))
	pass := func(x *sym.Symbol, group string) *sym.Symbol {
		return sym.ApplyWith(counted, op.NoParams{}, []sym.Option{sym.CtxGroup(group)}, x)
	}
	net := pass(pass(pass(pass(sym.Var("data"), "host"), "far"), "other"), "host")
	sp := spread(t, net)
	if sp.Host {
		t.Error("a graph on other devices lies on processors only")
	}
	groups := twoDevices(t)
	apart := groups.set
	groups.set = func(o *compile.Options) { apart(o); o.Grads["fc1_weight"] = op.ReqAdd }
	show("groups-add.txt", groups.compile(t))
	back := pass(sym.Var("data", sym.CtxGroup("far")), "host")
	show("gradient-copied.txt", mustCompile(t, source(t, back,
		map[string]dtype.Shape{"data": {4}}), compile.Options{Spread: spread(t, back),
		Grads: map[string]op.Req{"data": op.ReqWrite}, Train: true}))
	show("copies.txt", mustCompile(t, source(t, net, map[string]dtype.Shape{"data": {4}}),
		compile.Options{Spread: sp, Grads: map[string]op.Req{"data": op.ReqWrite}, Train: true}))
}

// spread places a network on the processor and two devices.
func spread(t *testing.T, net *sym.Symbol) *compile.Spread {
	t.Helper()
	net.Nodes()
	sp, err := compile.SpreadOver(net.Entries(), graph.Placement{Groups: map[string]device.Device{
		"host": device.CPU(), "far": device.Null(0), "other": device.Null(1)}})
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// TestGoldenExplanations compares the table of changes, segments and the plan with its values.
func TestGoldenExplanations(t *testing.T) {
	for _, e := range examples() {
		p := e.compile(t)
		var b strings.Builder
		fmt.Fprint(&b, p.Explain())
		for _, s := range p.Segments {
			fmt.Fprintf(&b, "segment %s: steps %d to %d\n", s.Name, s.From, s.To)
		}
		fmt.Fprintf(&b, "mutated: %v\n", p.Mutated)
		fmt.Fprintf(&b, "use: %+v\n", p.MemoryUse())
		m, err := p.MemoryPlan()
		if err != nil {
			t.Fatal(err)
		}
		for i, buf := range m.Buffers {
			fmt.Fprintf(&b, "buffer %d %s: %v, values %v\n", i, buf.Name, buf.Kind, buf.Values)
		}
		compareGolden(t, filepath.Join("explained", e.name+".txt"), b.String())
	}
}

// TestWideSegments gives kernels several threads: segments with such kernels go to the worker that
// has them, and so do segments that could not run beside another segment with one thread.
func TestWideSegments(t *testing.T) {
	x := sym.Var("data")
	chain := dense(relu(dense(x, 512, "fc1"), "relu1"), 512, "fc2")
	split := sym.ElemwiseAdd(dense(relu(x, "relu1"), 512, "fc1"), sym.Tanh(sym.Sigmoid(x)))
	for name, net := range map[string]*sym.Symbol{"chain": chain, "split": split} {
		for _, threads := range []int{1, 2} {
			for _, single := range []bool{false, true} {
				o := training(net)
				o.Target, o.Single = compile.Target{Threads: threads, Tier: device.TierGo}, single
				p := mustCompile(t, source(t, net, map[string]dtype.Shape{"data": {64, 512}}), o)
				for i, want := range wideSegments(p) {
					if got := p.Segments[i].Wide; got != want {
						t.Errorf("%s, %d threads, single %v: segment %s is wide: %v, want %v", name,
							threads, single, p.Segments[i].Name, got, want)
					}
				}
			}
		}
	}
}

// wideSegments is the definition of wide segments, by the order between all of them.
func wideSegments(p *compile.Program) []bool {
	n := len(p.Segments)
	before := make([][]bool, n) // before[i][k]: segment i comes after segment k
	wide, any := make([]bool, n), false
	for i, s := range p.Segments {
		before[i] = make([]bool, n)
		for _, k := range s.Needs {
			before[i][k] = true
			for j, b := range before[k] {
				before[i][j] = before[i][j] || b
			}
		}
		any = any || s.Threads > 1
	}
	for i, s := range p.Segments {
		wide[i] = any
		for k, other := range p.Segments {
			beside := k != i && !before[i][k] && !before[k][i]
			if s.Threads <= 1 && beside && other.Threads <= 1 {
				wide[i] = false
			}
		}
	}
	return wide
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

func dense(x *sym.Symbol, units int, name string, opts ...sym.Option) *sym.Symbol {
	return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: units},
		append(opts, sym.Name(name))...)
}

func relu(x *sym.Symbol, name string) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name(name))
}

// perceptron is a network of two layers with dropout between them.
func perceptron() *sym.Symbol {
	h := relu(dense(sym.Var("data"), 8, "fc1"), "relu1")
	h = sym.Dropout(h, sym.DropoutParams{}, sym.Name("drop"))
	return sym.SoftmaxOutput(dense(h, 3, "fc2"), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

func lenet() *sym.Symbol {
	h := sym.Var("data")
	for i, k := range []int{20, 50} {
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: k},
			sym.Name(fmt.Sprint("conv", i+1)))
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"},
			sym.Name(fmt.Sprint("tanh", i+1)))
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, sym.Name(fmt.Sprint("pool", i+1)))
	}
	h = dense(sym.Flatten(h, sym.Name("flat")), 500, "fc1")
	h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh3"))
	return sym.SoftmaxOutput(dense(h, 10, "fc2"), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// deep has many layers of one width.
func deep() *sym.Symbol {
	h := sym.Var("data")
	for i := range 8 {
		h = sym.Tanh(dense(h, 16, fmt.Sprint("fc", i)), sym.Name(fmt.Sprint("tanh", i)))
	}
	return sym.Sum(h, sym.ReduceParams{}, sym.Name("sum"))
}

// residual is a unit of convolution and batch norm with a way around it.
func residual() *sym.Symbol {
	x := sym.Var("data")
	y := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
		NumFilter: 8, NoBias: true}, sym.Name("conv"))
	y = sym.BatchNorm(y, sym.BatchNormParams{NoFixGamma: true}, sym.Name("bn"))
	y = relu(sym.ElemwiseAdd(x, y.At(0), sym.Name("sum")), "relu")
	return sym.Group(y, sym.BlockGrad(x, sym.Name("same")), x)
}

// recurrent is a cell of two steps that begins with zeros of a shape that follows from their use.
func recurrent() *sym.Symbol {
	x, first := sym.Var("data"), sym.Zeros(sym.InitParams{Shape: []int{0, 3}}, sym.Name("first"))
	w, b := sym.Var("h2h_weight"), sym.Var("h2h_bias")
	h := first
	for i := range 2 {
		in := dense(x, 3, fmt.Sprint("i2h", i))
		back := sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 3},
			sym.Name(fmt.Sprint("h2h", i)), sym.With("weight", w), sym.With("bias", b))
		h = sym.Tanh(sym.ElemwiseAdd(in, back, sym.Name(fmt.Sprint("plus", i))),
			sym.Name(fmt.Sprint("state", i)))
	}
	return h
}

// pointwise has pointwise operators in a row, and an operator that asks to be computed again.
func pointwise() *sym.Symbol {
	x := sym.Var("data")
	y := sym.Exp(sym.MulScalar(dense(x, 8, "fc"), sym.ScalarParams{Scalar: 0.5}, sym.Name("half")),
		sym.Name("exp"), sym.ForceMirroring())
	return sym.Sum(sym.ElemwiseMul(y, sym.Sigmoid(y, sym.Name("gate")), sym.Name("gated")),
		sym.ReduceParams{}, sym.Name("sum"))
}

// lstm is a recurrent layer, which keeps memory for its gradient.
func lstm() *sym.Symbol {
	return sym.RNN(sym.Var("data"), sym.RNNParams{StateSize: 4, NumLayers: 1, Mode: "lstm"},
		sym.Name("rnn"))
}

// control is a network of operators that wait for others, and for a variable, without reading them.
func control() *sym.Symbol {
	x := sym.Var("data")
	first := sym.Tanh(x, sym.Name("first"))
	second := sym.Sigmoid(x, sym.Name("second"), sym.After(first, sym.Var("flag", sym.Attr("__shape__",
		"(1,)"))))
	return sym.Group(first, second, sym.Square(x, sym.Name("third"), sym.After(second)))
}

// again is a chain of one parameter with an operator that asks to be computed again.
func again() *sym.Symbol {
	y := sym.Exp(sym.ElemwiseMul(sym.Var("data"), sym.Var("w"), sym.Name("product")), sym.Name("exp"),
		sym.ForceMirroring())
	return sym.Square(sym.Sin(y, sym.Name("sin")), sym.Name("square"))
}

// twoDevices is a network whose layers lie on two memories of the processor.
func twoDevices(t testing.TB) example {
	t.Helper()
	h := relu(dense(sym.Var("data"), 4, "fc1", sym.CtxGroup("a")), "relu1")
	net := dense(h, 2, "fc2", sym.CtxGroup("b"))
	net.Nodes()
	groups := map[string]device.Device{"a": {ID: 1}, "b": {ID: 2}}
	sp, err := compile.SpreadOver(net.Entries(), graph.Placement{Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	return example{"groups-train", net, dtype.Shape{5, 7}, true,
		func(o *compile.Options) { o.Spread = sp }}
}

// crossing is a network of two branches. The first reads a value of the second one behind a step of
// its own, and the second goes on behind that value.
func crossing() *sym.Symbol {
	pass := func(x *sym.Symbol, name string) *sym.Symbol { return with(counted, name, x) }
	x := pass(sym.Var("data"), "x")
	first, second := pass(x, "first"), pass(x, "second")
	return sym.Group(first, pass(second, "on"), with(joined, "join", second, pass(first, "next")))
}

// branches is a network of chains that do not depend on each other but for their beginning and end.
func branches() example {
	x := sym.Apply(counted, op.NoParams{}, sym.Var("data"))
	var end *sym.Symbol
	for range 3 {
		y := x
		for range 3 {
			y = sym.Apply(counted, op.NoParams{}, y)
		}
		if end == nil {
			end = y
		} else {
			end = sym.Apply(joined, op.NoParams{}, end, y)
		}
	}
	return example{"branches", end, dtype.Shape{4, 8}, false, nil}
}
