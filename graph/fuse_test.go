package graph_test

import (
	"testing"

	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
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
	conv := nn.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: filters, NoBias: true}
	b.conv = node(nn.Convolution.Node(conv, b.data.Entry(0), v("weight")), "conv")
	b.norm = node(nn.BatchNorm.Node(nn.BatchNormParams{}, b.conv.Entry(0), v("gamma"), v("beta"), v("mean"), v("var")), "norm")
	b.sum = node(prim.ElemwiseAdd.Node(op.NoParams{}, b.data.Entry(0), b.norm.Entry(0)), "sum")
	b.relu = node(nn.Activation.Node(nn.ActivationParams{ActType: "relu"}, b.sum.Entry(0)), "relu")
	return b
}

// optimize runs the passes with shapes inferred for data of some channels, and returns how often
// each changed something.
func optimize(t *testing.T, channels int, outs ...op.Entry) ([]op.Entry, map[string]int) {
	t.Helper()
	g := graph.Index(outs)
	shapes, types := make([]dtype.Shape, g.NumEntries()), make([]dtype.Type, g.NumEntries())
	for i := range types {
		types[i] = dtype.Float32
	}
	for _, n := range g.Nodes {
		if n.Name == "data" {
			shapes[g.Entry(n.Entry(0))] = dtype.Shape{2, channels, 8, 8}
		}
	}
	if err := graph.InferShapes(g, shapes); err != nil {
		t.Fatal(err)
	}
	f := graph.FactsOf(g, shapes, types)
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
}{{"drop-dropout", graph.DropDropout}, {"fold-batchnorm", graph.FoldBatchNorm}, {"fuse-sum", graph.FuseSum},
	{"fuse-activation", graph.FuseActivation}, {"adopt-convolutions", graph.AdoptConvolutions}, {"winograd", graph.ChooseWinograd}}

func TestResidualBlockBecomesOneConvolution(t *testing.T) {
	b := newBlock(16)
	outs, changes := optimize(t, 16, b.relu.Entry(0))
	n := outs[0].Node
	if n.Op != nn.FusedConvolutionAdd.Op || !n.Params.(nn.FusedConvolutionParams).ReLU {
		t.Fatalf("output is computed by %s %+v, want %s with a rectifier", n.Op.Name, n.Params, nn.FusedConvolutionAdd.Name)
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
			t.Errorf("%s wanted as well: output is computed by %s, want %s", c.name, got.Name, c.want.Name)
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
			t.Errorf("%d filters: %d changes, parameters %+v, want %d", c.filters, changes["winograd"], p, c.want)
		}
	}
}

func TestDropoutGoesUnlessItIsAnOutput(t *testing.T) {
	x := op.Var("data")
	inner := nn.Dropout.Node(nn.DropoutParams{}, x.Entry(0))
	last := nn.Dropout.Node(nn.DropoutParams{}, prim.Relu.Apply(op.NoParams{}, inner.Entry(0)))
	outs, changes := optimize(t, 16, last.Entry(0))
	if changes["drop-dropout"] != 1 || outs[0].Node.Op != nn.Dropout.Op || outs[0].Node.In[0].Node.In[0] != x.Entry(0) {
		t.Errorf("%d changes, output %v of %v, want only the inner dropout gone", changes["drop-dropout"], outs[0].Node.Op.Name, outs[0].Node.In)
	}
}
