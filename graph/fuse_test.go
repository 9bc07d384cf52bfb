package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/nettest"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
	sym "gomx/symbol"
)

// block is a residual block over (2, 16, 8, 8): convolution, batch norm, sum, rectifier.
type block struct {
	data, conv, norm, sum, relu *op.Node
}

func newBlock(filters int) block {
	v := func(name string) op.Entry { return op.Var(name).Entry(0) }
	node := func(n *op.Node, name string) *op.Node { n.Name = name; return n }
	var b block
	b.data = op.Var("data")
	conv := nn.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: filters,
		NoBias: true}
	b.conv = node(nn.Convolution.Node(conv, b.data.Entry(0), v("weight")), "conv")
	b.norm = node(nn.BatchNorm.Node(nn.BatchNormParams{}, b.conv.Entry(0), v("gamma"), v("beta"),
		v("mean"), v("var")), "norm")
	b.sum = node(prim.ElemwiseAdd.Node(op.NoParams{}, b.data.Entry(0), b.norm.Entry(0)), "sum")
	b.relu = node(nn.Activation.Node(nn.ActivationParams{ActType: "relu"}, b.sum.Entry(0)), "relu")
	return b
}

// factsFor infers shapes from the shape of data and the shapes that variables name. All types are
// float32.
func factsFor(t *testing.T, outs []op.Entry, data dtype.Shape) *graph.Facts {
	t.Helper()
	g := graph.Index(outs)
	shapes, types := make([]dtype.Shape, g.NumEntries()), make([]dtype.Type, g.NumEntries())
	for i := range types {
		types[i] = dtype.Float32
	}
	for _, n := range g.Nodes {
		if n.Name == "data" {
			shapes[g.Entry(n.Entry(0))] = data
		}
		if s := n.Attrs["__shape__"]; n.IsVar() && s != "" {
			shape, err := op.ParseTuple(s)
			if err != nil {
				t.Fatal(err)
			}
			shapes[g.Entry(n.Entry(0))] = shape
		}
	}
	if err := graph.InferShapes(g, shapes); err != nil {
		t.Fatal(err)
	}
	return graph.FactsOf(g, shapes, types)
}

// optimize runs the passes with shapes inferred for data of some channels, and returns how often
// each changed something.
func optimize(t *testing.T, channels int, outs ...op.Entry) ([]op.Entry, map[string]int) {
	t.Helper()
	f := factsFor(t, outs, dtype.Shape{2, channels, 8, 8})
	changes := map[string]int{}
	for _, p := range inference {
		var err error
		if outs, changes[p.name], _, err = graph.Apply(p.pass, outs, f); err != nil {
			t.Fatal(err)
		}
	}
	return outs, changes
}

// inference are the fusions of graphs that only infer, in their order.
var inference = []struct {
	name string
	pass graph.Pass
}{{"drop-dropout", graph.DropDropout}, {"fold-batchnorm", graph.FoldBatchNorm},
	{"fuse-sum", graph.FuseSum},
	{"fuse-activation", graph.FuseActivation}, {"adopt-convolutions", graph.AdoptConvolutions},
	{"winograd", graph.ChooseWinograd}}

func TestResidualBlockBecomesOneConvolution(t *testing.T) {
	b := newBlock(16)
	outs, changes := optimize(t, 16, b.relu.Entry(0))
	n := outs[0].Node
	if n.Op != nn.FusedConvolutionAdd.Op || !n.Params.(nn.FusedConvolutionParams).ReLU {
		t.Fatalf("output is computed by %s %+v, want %s with a rectifier", n.Op.Name, n.Params,
			nn.FusedConvolutionAdd.Name)
	}
	if n.In[1].Node.Op != nn.FoldBatchNorm.Op || n.In[2] != b.data.Entry(0) {
		t.Errorf("weight %v and sum %v, want a folded weight and data", n.In[1], n.In[2])
	}
	for _, name := range []string{"fold-batchnorm", "fuse-sum", "fuse-activation"} {
		if changes[name] != 1 {
			t.Errorf("%s made %d changes, want 1", name, changes[name])
		}
	}
	if b.relu.In[0] != b.sum.Entry(0) || b.norm.In[0] != b.conv.Entry(0) {
		t.Error("the graph given was changed")
	}
}

func TestValuesThatOthersReadStay(t *testing.T) {
	for _, c := range []struct {
		name string
		also func(b block) op.Entry
		want *op.Op // of the first output
	}{
		{"convolution", func(b block) op.Entry { return b.conv.Entry(0) }, nn.Activation.Op},
		{"batch norm", func(b block) op.Entry { return b.norm.Entry(0) }, nn.Activation.Op},
		{"mean", func(b block) op.Entry { return b.norm.Entry(1) }, nn.Activation.Op},
		{"sum", func(b block) op.Entry { return b.sum.Entry(0) }, nn.Activation.Op},
		{"data", func(b block) op.Entry { return b.data.Entry(0) }, nn.FusedConvolutionAdd.Op},
	} {
		b := newBlock(16)
		outs, _ := optimize(t, 16, b.relu.Entry(0), c.also(b))
		if got := outs[0].Node.Op; got != c.want {
			t.Errorf("%s wanted as well: output is computed by %s, want %s", c.name, got.Name,
				c.want.Name)
		}
		if n := outs[1].Node; !n.IsVar() && n.Name == "" {
			t.Errorf("%s wanted as well: it has lost its name", c.name)
		}
	}
}

func TestWinogradIsChosenForTheWholeGraph(t *testing.T) {
	for _, c := range []struct{ filters, want int }{{16, 0}, {32, 1}} {
		b := newBlock(c.filters)
		outs, changes := optimize(t, c.filters, b.relu.Entry(0))
		p := outs[0].Node.Params.(nn.FusedConvolutionParams)
		if changes["winograd"] != c.want || p.Winograd != (c.want > 0) || p.Blocked != p.Winograd {
			t.Errorf("%d filters: %d changes, parameters %+v, want %d", c.filters,
				changes["winograd"], p, c.want)
		}
	}
}

func TestDropoutGoesUnlessItIsAnOutput(t *testing.T) {
	x := op.Var("data")
	inner := nn.Dropout.Node(nn.DropoutParams{}, x.Entry(0))
	last := nn.Dropout.Node(nn.DropoutParams{}, prim.Relu.Apply(op.NoParams{}, inner.Entry(0)))
	outs, changes := optimize(t, 16, last.Entry(0))
	if changes["drop-dropout"] != 1 || outs[0].Node.Op != nn.Dropout.Op ||
		outs[0].Node.In[0].Node.In[0] != x.Entry(0) {
		t.Errorf("%d changes, output %v of %v, want only the inner dropout gone",
			changes["drop-dropout"], outs[0].Node.Op.Name, outs[0].Node.In)
	}
}

// convNet grows a random graph of convolutions and what follows them: batch norm, sums,
// activations, pooling, concatenation.
type convNet struct {
	rng    *rand.Rand
	values []*sym.Symbol // all of shape (2, channels, 6, 6)
	chans  []int
	nodes  int
}

func (g *convNet) add(s *sym.Symbol, channels int) *sym.Symbol {
	g.values, g.chans = append(g.values, s), append(g.chans, channels)
	return s
}

func (g *convNet) name(kind string) sym.Option {
	g.nodes++
	return sym.Name(fmt.Sprintf("%s%d", kind, g.nodes))
}

// pick prefers what was made last.
func (g *convNet) pick() int {
	if g.rng.IntN(2) == 0 {
		return len(g.values) - 1
	}
	return g.rng.IntN(len(g.values))
}

func (g *convNet) relu(s *sym.Symbol) *sym.Symbol {
	switch g.rng.IntN(3) {
	case 0:
		return sym.Relu(s, g.name("relu"))
	case 1:
		return sym.Activation(s, sym.ActivationParams{ActType: "relu"}, g.name("act"))
	}
	return sym.Activation(s, sym.ActivationParams{ActType: "tanh"}, g.name("act"))
}

func (g *convNet) norm(s *sym.Symbol) *sym.Symbol {
	return sym.BatchNorm(s, sym.BatchNormParams{NoFixGamma: g.rng.IntN(2) == 0,
		Eps: sym.Some(1e-3)}, g.name("bn"))
}

// conv makes a convolution that keeps the extents, of one of several kinds.
func (g *convNet) conv(from int) (*sym.Symbol, int) {
	x, c := g.values[from], g.chans[from]
	out := []int{3, 8, 16, 32, 24}[g.rng.IntN(5)]
	p := sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: out,
		NoBias: g.rng.IntN(2) == 0}
	switch g.rng.IntN(4) {
	case 0:
		p.Kernel, p.Pad = []int{1, 1}, nil
	case 1:
		p.NumFilter, p.NumGroup = c, c
	}
	return sym.Convolution(x, p, g.name("conv")), p.NumFilter
}

// same returns a value of a number of channels other than s, nil without.
func (g *convNet) same(channels int) *sym.Symbol {
	for _, i := range g.rng.Perm(len(g.values)) {
		if g.chans[i] == channels {
			return g.values[i]
		}
	}
	return nil
}

func (g *convNet) grow() {
	at := g.pick()
	x, c := g.values[at], g.chans[at]
	switch g.rng.IntN(8) {
	case 0, 1, 2, 3:
		y, n := g.conv(at)
		if g.rng.IntN(4) > 0 {
			y = g.norm(y)
		}
		if other := g.same(n); other != nil && g.rng.IntN(2) == 0 {
			if g.rng.IntN(2) == 0 {
				y = sym.ElemwiseAdd(y, other, g.name("add"))
			} else {
				y = sym.BroadcastAdd(other, y, g.name("add"))
			}
		}
		if g.rng.IntN(3) > 0 {
			y = g.relu(y)
		}
		g.add(y, n)
	case 4:
		g.add(g.relu(g.norm(x)), c)
	case 5:
		p := sym.PoolingParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, PoolType: []string{"max",
			"avg"}[g.rng.IntN(2)]}
		g.add(sym.Pooling(x, p, g.name("pool")), c)
	case 6:
		other := g.rng.IntN(len(g.values))
		both := []*sym.Symbol{x, g.values[other]}
		g.add(sym.Concat(both, sym.ConcatParams{Dim: sym.Some(1)}, g.name("concat")),
			c+g.chans[other])
	case 7:
		g.add(sym.ElemwiseMul(x, g.relu(x), g.name("mul")), c)
	}
}

// output ends the network: a dense layer over one value, and one value as it is.
func (g *convNet) output() *sym.Symbol {
	x := g.values[len(g.values)-1]
	if g.rng.IntN(2) == 0 {
		x = sym.Pooling(x, sym.PoolingParams{GlobalPool: true, PoolType: "avg",
			Kernel: []int{1, 1}}, g.name("global"))
	}
	fc := sym.FullyConnected(sym.Flatten(x, g.name("flat")), sym.FullyConnectedParams{NumHidden: 5},
		g.name("fc"))
	return sym.Group(g.relu(fc), g.values[g.rng.IntN(len(g.values))])
}

// TestFusionAgrees runs random convolutional graphs in inference with and without fusion, on every
// tier, and changes parameters in between.
func TestFusionAgrees(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			g := &convNet{rng: rng}
			g.add(sym.Var("data"), []int{3, 16}[rng.IntN(2)])
			for range 2 + rng.IntN(12) {
				g.grow()
			}
			checkFusion(t, rng, g.output(), g.chans[0])
		})
	}
}

func checkFusion(t *testing.T, rng *rand.Rand, s *sym.Symbol, channels int) {
	tier := []device.Tier{device.TierRef, device.TierGo, device.TierC, device.TierC,
		device.TierC}[rng.IntN(5)]
	defer device.LimitTier(device.LimitTier(tier))
	c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, channels, 6, 6}},
		DefaultReq: op.ReqNull}
	fused, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	c.NoFusion, c.Args, c.Aux = true, fused.Args, fused.Aux
	plain, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		for _, name := range s.Arguments() {
			if round == 0 || rng.IntN(3) == 0 {
				nettest.FillGently(t, rng, fused.Args[name])
			}
		}
		for _, name := range s.AuxStates() {
			if round == 0 || rng.IntN(3) == 0 {
				nettest.FillBetween(t, rng, fused.Aux[name], 0.5, 1)
			}
		}
		for _, ex := range []*sym.Executor{fused, plain} {
			if err := ex.Forward(false); err != nil {
				t.Fatal(err)
			}
		}
		for i := range fused.Outputs() {
			nettest.Near(t, fmt.Sprintf("round %d: output %d", round, i),
				nettest.Values(t, fused.Outputs()[i]), nettest.Values(t, plain.Outputs()[i]))
		}
	}
}

// inferred runs a network once without any passes and once with all but some, on the same random
// arguments, and returns the outputs of both, plain ones first. The executor of the second run goes
// to look.
func inferred(t *testing.T, net *sym.Symbol, data dtype.Shape, without []string,
	look func(ex *sym.Executor)) (plain, passed [][]float32) {
	t.Helper()
	run := func(plain bool) (outs [][]float32) {
		c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": data}, NoFusion: plain,
			GradReq: map[string]op.Req{}}
		for _, name := range net.Arguments() {
			c.GradReq[name] = op.ReqNull
		}
		if !plain {
			c.Without = without
		}
		ex, err := net.SimpleBind(c)
		if err != nil {
			t.Fatal(err)
		}
		defer ex.Close()
		rng := rand.New(rand.NewPCG(1, 2))
		for _, name := range net.Arguments() {
			nettest.FillBetween(t, rng, ex.Args[name], 0.5, 1.5)
		}
		for range 2 { // the second run has kept forms
			outs = nil
			if err := ex.Forward(false); err != nil {
				t.Fatal(err)
			}
			for _, o := range ex.Outputs() {
				outs = append(outs, nettest.Values(t, o))
			}
		}
		if !plain {
			look(ex)
		}
		return outs
	}
	return run(true), run(false)
}

func alike(t *testing.T, got, want [][]float32) {
	t.Helper()
	for i := range want {
		for k, w := range want[i] {
			if g := got[i][k]; !(math.Abs(float64(g-w)) <= 1e-4*(1+math.Abs(float64(w)))) {
				t.Fatalf("output %d: element %d is %v, want %v", i, k, g, w)
			}
		}
	}
}

// random functions of a convolution's channels by a parameter.
func randomAffine(rng *rand.Rand, y *sym.Symbol, channels, i int) *sym.Symbol {
	shape := []dtype.Shape{{1, channels, 1, 1}, {channels, 1, 1}, {1, 1, 1, 1}, {1}}[rng.IntN(4)]
	c := sym.Var(fmt.Sprint("c", i), sym.Shape(shape...))
	if rng.IntN(3) == 0 {
		c = sym.Reshape(sym.Var(fmt.Sprint("c", i), sym.Shape(1, 1, 1, channels)),
			sym.ReshapeParams{Shape: []int{1, channels, 1, 1}})
	}
	switch rng.IntN(6) {
	case 0:
		return sym.BroadcastAdd(c, y)
	case 1:
		return sym.BroadcastAdd(y, c)
	case 2:
		return sym.BroadcastSub(y, c)
	case 3:
		return sym.BroadcastSub(c, y)
	case 4:
		return sym.BroadcastDiv(y, c)
	}
	return sym.BroadcastMul(c, y)
}

// TestFoldedAffineAgrees: random chains of sums and products per channel become part of the
// convolution, with the rectifier behind them, and change no result.
func TestFoldedAffineAgrees(t *testing.T) {
	for seed := range uint64(24) {
		tier := []device.Tier{device.TierRef, device.TierGo, device.TierC}[seed%3]
		defer device.LimitTier(device.LimitTier(tier))
		rng := rand.New(rand.NewPCG(seed, 5))
		channels := []int{1, 5, 16, 32}[rng.IntN(4)]
		p := sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: channels,
			NoBias: rng.IntN(2) == 0}
		y := sym.Convolution(sym.Var("data"), p, sym.Name("conv"))
		steps := 1 + rng.IntN(5)
		for i := range steps {
			y = randomAffine(rng, y, channels, i)
		}
		y = sym.Relu(y)
		want, got := inferred(t, y, dtype.Shape{2, 4, 9, 8}, nil, func(ex *sym.Executor) {
			if n := changesOf(t, ex, "fold-affine"); n != steps {
				t.Errorf("seed %d: %d of %d functions are folded", seed, n, steps)
			}
			if n := changesOf(t, ex, "fuse-activation"); n != 1 {
				t.Errorf("seed %d: the rectifier is not part of the convolution", seed)
			}
		})
		alike(t, got, want)
	}
}

// changesOf counts the changes that a pass has made to an executor's graph for inference.
func changesOf(t *testing.T, ex *sym.Executor, pass string) (n int) {
	t.Helper()
	e, err := ex.Explain(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range e.Passes {
		if p.Pass == pass {
			n += len(p.Changes)
		}
	}
	return n
}

// TestAffineStaysApart: values that others read, factors that the network computes, and factors of
// other axes than channels are not folded.
func TestAffineStaysApart(t *testing.T) {
	conv := func() *sym.Symbol {
		return sym.Convolution(sym.Var("data"), sym.ConvolutionParams{Kernel: []int{1, 1},
			NumFilter: 8}, sym.Name("conv"))
	}
	by := func(shape ...int) *sym.Symbol { return sym.Var("by", sym.Shape(shape...)) }
	y := conv()
	for name, net := range map[string]*sym.Symbol{
		"also read":   sym.Group(sym.BroadcastMul(y, by(8, 1, 1)), sym.Exp(y)),
		"computed":    sym.BroadcastMul(conv(), sym.Exp(by(1, 8, 1, 1))),
		"columns":     sym.BroadcastMul(conv(), by(1, 1, 1, 8)),
		"samples":     sym.BroadcastAdd(conv(), by(2, 1, 1, 1)),
		"denominator": sym.BroadcastDiv(by(8, 1, 1), conv()),
	} {
		want, got := inferred(t, net, dtype.Shape{2, 3, 8, 8}, nil, func(ex *sym.Executor) {
			if n := changesOf(t, ex, "fold-affine"); n != 0 {
				t.Errorf("%s: %d functions are folded", name, n)
			}
		})
		alike(t, got, want)
	}
}
