//go:build cuda

package module_test

import (
	"maps"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// counted is a network whose training steps are counted.
type counted struct {
	name      string
	net       func(t *testing.T) *sym.Symbol
	data      []dataio.Desc
	label     []dataio.Desc
	optimizer optimizer.Optimizer
	precision dtype.Type
	most      int64 // kernels, library calls, copies and fills of a step
	narrow    int64 // the same in bfloat16
}

// resnet50 is ResNet-50 with a loss.
func resnet50(t *testing.T) *sym.Symbol {
	t.Helper()
	s := symbolOf(t, gluon.New(zoo.ResNet(1, 50, zoo.Classes(10))),
		gluon.Input("data", 2, 3, 32, 32))
	return sym.SoftmaxOutput(s, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// bertBase is BERT-base with narrow layers, and the losses of pretraining.
func bertBase(t *testing.T) *sym.Symbol {
	t.Helper()
	c := zoo.BERTConfig{Vocab: 30, Units: 24, Heads: 12, Layers: 12, MaxLength: 8, Dropout: 0.1}
	s := symbolOf(t, zoo.NewBERT(c).Net(), gluon.Input("data0", 2, 8), gluon.Input("data1", 2, 8),
		gluon.Input("data2", 2), gluon.Input("data3", 2, 3))
	const position = "encoder.position_weight" // its shape follows from nothing else
	s = s.Compose(map[string]*sym.Symbol{position: sym.Var(position, sym.Shape(8, 24))})
	next := sym.SoftmaxOutput(s.At(2), sym.SoftmaxOutputParams{}, sym.Name("next"))
	words := sym.SoftmaxOutput(sym.Reshape(s.At(3), sym.ReshapeParams{Shape: []int{-3, 0}}),
		sym.SoftmaxOutputParams{}, sym.Name("words"))
	return sym.Group(next, words)
}

// symbolOf returns a network without its parameters.
func symbolOf(t *testing.T, n *gluon.Net, inputs ...gluon.ExportOption) *sym.Symbol {
	t.Helper()
	if err := n.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	s, err := n.Symbol(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func desc(name string, shape ...int) dataio.Desc { return dataio.Desc{Name: name, Shape: shape} }

// TestCUDAStepWork counts the kernels, library calls, copies, waits and allocations of training
// steps whose values nobody reads.
func TestCUDAStepWork(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	if err := cuda.DNN(); err != nil {
		t.Skip("layers by kernels of their own are not bounded: ", err)
	}
	images, class := []dataio.Desc{desc("data", 2, 3, 32, 32)},
		[]dataio.Desc{desc("softmax_label", 2)}
	words := []dataio.Desc{desc("data0", 2, 8), desc("data1", 2, 8), desc("data2", 2),
		desc("data3", 2, 3)}
	for _, c := range []counted{{"resnet50", resnet50, images, class,
		optimizer.SGD{LR: 0.01, Momentum: 0.9, WD: 1e-4}, dtype.Float32, 400, 400},
		{"bert-base", bertBase, words, []dataio.Desc{desc("next_label", 2), desc("words_label", 6)},
			optimizer.Adam{LR: 1e-4}, dtype.Float32, 500, 580}} {
		t.Run(c.name, func(t *testing.T) { c.count(t) })
		c.precision, c.most = dtype.BFloat16, c.narrow
		t.Run(c.name+" in bfloat16", func(t *testing.T) { c.count(t) })
	}
}

func (c *counted) count(t *testing.T) {
	mod := module.New(c.net(t), module.On(device.CUDA(0)), module.Replay(),
		module.MixedPrecision(c.precision))
	if err := mod.Bind(c.data, c.label); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitParams(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitOptimizer(c.optimizer); err != nil {
		t.Fatal(err)
	}
	b := &dataio.Batch{}
	for _, d := range c.data {
		b.Data = append(b.Data, nd.Ones(d.Shape, nd.On(device.CUDA(0))))
	}
	for _, d := range c.label {
		b.Label = append(b.Label, nd.Ones(d.Shape, nd.On(device.CUDA(0))))
	}
	steps := func(n int) {
		for range n {
			if err := mod.ForwardBackward(b); err != nil {
				t.Fatal(err)
			}
			if err := mod.Update(); err != nil {
				t.Fatal(err)
			}
		}
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	steps(3)
	const n = 2
	stop, before, launches := cuda.Trace(0), cuda.WorkOf(0), cuda.Launches(0)
	steps(n)
	work, names := cuda.WorkOf(0).Sub(before), stop()
	t.Logf("%d launches, of %d steps: %+v", cuda.Launches(0)-launches, n, work)
	for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return int(names[b] - names[a])
	}) {
		t.Logf("%8.1f %s", float64(names[name])/n, name)
	}
	if got := work.Computes() / n; got > c.most {
		t.Errorf("%d kernels, library calls and copies per step, want at most %d", got, c.most)
	}
	if work.Waits != 0 || work.Allocations != 0 {
		t.Errorf("%d waits of the host and %d allocations, want none", work.Waits, work.Allocations)
	}
}
