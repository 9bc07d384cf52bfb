package compile_test

import (
	"fmt"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	sym "gomx/symbol"
)

func dense(x *sym.Symbol, units int, name string, opts ...sym.Option) *sym.Symbol {
	return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: units}, append(opts, sym.Name(name))...)
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
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: k}, sym.Name(fmt.Sprint("conv", i+1)))
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"}, sym.Name(fmt.Sprint("tanh", i+1)))
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2}, Stride: []int{2, 2}}, sym.Name(fmt.Sprint("pool", i+1)))
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
	y := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: 8, NoBias: true}, sym.Name("conv"))
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
		back := sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 3}, sym.Name(fmt.Sprint("h2h", i)), sym.With("weight", w), sym.With("bias", b))
		h = sym.Tanh(sym.ElemwiseAdd(in, back, sym.Name(fmt.Sprint("plus", i))), sym.Name(fmt.Sprint("state", i)))
	}
	return h
}

// chain has pointwise operators in a row, and an operator that asks to be computed again.
func chain() *sym.Symbol {
	x := sym.Var("data")
	y := sym.Exp(sym.MulScalar(dense(x, 8, "fc"), sym.ScalarParams{Scalar: 0.5}, sym.Name("half")), sym.Name("exp"), sym.ForceMirroring())
	return sym.Sum(sym.ElemwiseMul(y, sym.Sigmoid(y, sym.Name("gate")), sym.Name("gated")), sym.ReduceParams{}, sym.Name("sum"))
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
	return example{"groups-train", net, dtype.Shape{5, 7}, true, func(o *compile.Options) { o.Spread = sp }}
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
