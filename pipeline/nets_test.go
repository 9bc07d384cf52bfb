package pipeline_test

import (
	"fmt"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/pipeline/cut"
	sym "gomx/symbol"
)

// residual is a network of residual units with batch norm and dropout in three groups. The last
// unit reads a value of the first group too.
func residual() *sym.Symbol {
	conv := func(x *sym.Symbol, g *sym.Scope, name string) *sym.Symbol {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 32, NoBias: true}, g.Name(name))
		return sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true, Eps: sym.Some(1e-3)},
			g.Name(name+"_bn")).At(0)
	}
	relu := func(x *sym.Symbol, g *sym.Scope, name string) *sym.Symbol {
		return sym.Activation(x, sym.ActivationParams{ActType: "relu"}, g.Name(name))
	}
	g := sym.NewScope("", sym.CtxGroup("g0"))
	x := relu(conv(sym.Var("data"), g, "stem"), g, "stem_relu")
	first := x
	for i := range 3 {
		g = sym.NewScope("", sym.CtxGroup(fmt.Sprint("g", i)))
		name := fmt.Sprint("unit", i)
		short := x
		if i == 2 {
			short = sym.ElemwiseAdd(x, first, g.Name("long"))
		}
		y := conv(relu(conv(x, g, name+"_a"), g, name+"_relu"), g, name+"_b")
		x = relu(sym.ElemwiseAdd(y, short, g.Name(name+"_add")), g, name+"_out")
	}
	x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(0.4)}, g.Name("drop")).At(0)
	x = sym.FullyConnected(sym.Flatten(x, g.Name("flat")), sym.FullyConnectedParams{NumHidden: 12},
		g.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, g.Name("softmax"))
}

// recurrent is two LSTM cells that read a sequence step by step, each in a group of its own: the
// groups alternate in the order of the graph, and all steps share the weights of a cell.
func recurrent() *sym.Symbol {
	const size = 8
	x := sym.Var("data")
	var outs []*sym.Symbol
	weights := map[string]*sym.Symbol{}
	weight := func(name string) *sym.Symbol {
		if weights[name] == nil {
			weights[name] = sym.Var(name)
		}
		return weights[name]
	}
	var h, c [2]*sym.Symbol
	for t := range 5 {
		step := sym.SliceAxis(x, sym.SliceAxisParams{Axis: 1, Begin: t, End: sym.Some(t + 1)},
			sym.CtxGroup("g0"), sym.Name(fmt.Sprint("step", t)))
		y := step
		for l := range 2 {
			g := sym.NewScope("", sym.CtxGroup(fmt.Sprint("g", l)))
			name := fmt.Sprintf("l%d_t%d_", l, t)
			dense := func(in *sym.Symbol, kind string) *sym.Symbol {
				w := fmt.Sprintf("l%d_%s", l, kind)
				return sym.FullyConnected(in, sym.FullyConnectedParams{NumHidden: 4 * size},
					g.Name(name+kind), sym.With("weight", weight(w+"_weight")),
					sym.With("bias", weight(w+"_bias")))
			}
			gates := dense(y, "i2h")
			if t > 0 {
				gates = sym.ElemwiseAdd(gates, dense(h[l], "h2h"), g.Name(name+"sum"))
			}
			part := sym.SliceChannel(gates, sym.SliceChannelParams{NumOutputs: 4},
				g.Name(name+"gates"))
			in := sym.ElemwiseMul(sym.Sigmoid(part.At(0), g.Name(name+"i")),
				sym.Tanh(part.At(1), g.Name(name+"u")), g.Name(name+"iu"))
			if t > 0 {
				in = sym.ElemwiseAdd(in, sym.ElemwiseMul(sym.Sigmoid(part.At(2), g.Name(name+"f")),
					c[l], g.Name(name+"fc")), g.Name(name+"c"))
			}
			c[l] = in
			h[l] = sym.ElemwiseMul(sym.Sigmoid(part.At(3), g.Name(name+"o")),
				sym.Tanh(in, g.Name(name+"tanh")), g.Name(name+"h"))
			y = h[l]
		}
		outs = append(outs, sym.SoftmaxOutput(sym.FullyConnected(y,
			sym.FullyConnectedParams{NumHidden: 12}, sym.Name(fmt.Sprint("fc", t)),
			sym.CtxGroup("g2"), sym.With("weight", weight("fc_weight")),
			sym.With("bias", weight("fc_bias"))), sym.SoftmaxOutputParams{},
			sym.CtxGroup("g2"), sym.Name(fmt.Sprint("softmax", t))))
	}
	return sym.Group(outs...)
}

// TestNetworks trains networks whose stages are groups. Results are, to the bit, the results of the
// uncut graph in one executor: as composed, and with the passes but those by which convolutions
// choose layouts over the borders of groups.
func TestNetworks(t *testing.T) {
	groups := map[string]int{"g0": 0, "g1": 1, "g2": 2}
	for name, c := range map[string]struct {
		net   *sym.Symbol
		shape dtype.Shape
	}{"residual": {residual(), dtype.Shape{4, 3, 16, 16}},
		"recurrent": {recurrent(), dtype.Shape{4, 5, 6}}} {
		t.Run(name, func(t *testing.T) {
			fed := map[string]dtype.Shape{"data": c.shape}
			trial := newTrial(t, c.net, fed, fed)
			trial.micros, trial.bind.Seed, trial.steps = 2, 9, 1
			at, err := cut.ByGroups(c.net.Entries(), groups, 3)
			if err != nil {
				t.Fatal(err)
			}
			p, err := cut.Cut(c.net.Entries(), at, 3,
				func(v *op.Node) bool { return trial.learned[v.Name] })
			if err != nil {
				t.Fatal(err)
			}
			trial.bind.NoFusion = true
			compare(t, trial.staged(t, p), trial.whole(t), exact())
			trial.bind.NoFusion = false
			trial.bind.Without = []string{"adopt-trained-convolutions", "fuse-trained-activation"}
			got := trial.staged(t, p)
			trial.bind.Group2Ctx = map[string]device.Device{"g0": device.CPU(), "g1": {ID: 1},
				"g2": {ID: 2}}
			compare(t, got, trial.whole(t), exact())
		})
	}
}
