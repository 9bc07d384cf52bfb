package nettest

import (
	"fmt"
	"math/rand/v2"

	"gomx/dtype"
	sym "gomx/symbol"
)

func MLP() *sym.Symbol {
	net := sym.Var("data")
	net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 8}, sym.Name("fc1"))
	net = sym.Activation(net, sym.ActivationParams{ActType: "relu"}, sym.Name("relu1"))
	net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

func LeNet() *sym.Symbol {
	h := sym.Var("data")
	for _, k := range []int{20, 50} {
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: k})
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	h = sym.FullyConnected(sym.Flatten(h), sym.FullyConnectedParams{NumHidden: 500})
	h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
	h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// ResNet is a residual network of bottleneck units, as ResNet-50 is with units 3, 4, 6, 3.
func ResNet(units ...int) *sym.Symbol {
	n := 0
	conv := func(x *sym.Symbol, filters, kernel, stride int, relu bool) *sym.Symbol {
		n++
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
			Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2},
			NumFilter: filters, NoBias: true}, sym.Name(fmt.Sprintf("conv%d", n)))
		x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true, Eps: sym.Some(1e-5)},
			sym.Name(fmt.Sprintf("bn%d", n)))
		if relu {
			x = sym.Activation(x, sym.ActivationParams{ActType: "relu"},
				sym.Name(fmt.Sprintf("relu%d", n)))
		}
		return x
	}
	x := conv(sym.Var("data"), 64, 7, 2, true)
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1},
		PoolType: "max"})
	for stage, count := range units {
		width := 64 << stage
		for u := range count {
			stride, short := 1, x
			if u == 0 && stage > 0 {
				stride = 2
			}
			y := conv(conv(conv(x, width, 1, stride, true), width, 3, 1, true), 4*width, 1, 1,
				false)
			if u == 0 {
				short = conv(x, 4*width, 1, stride, false)
			}
			x = sym.Activation(sym.ElemwiseAdd(y, short), sym.ActivationParams{ActType: "relu"})
		}
	}
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{1, 1}, GlobalPool: true, PoolType: "avg"})
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 1000},
		sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// RandomNet grows a graph of unary, binary, dense and shape operators over (4, 6) values.
func RandomNet(rng *rand.Rand, size int) *sym.Symbol {
	values := []*sym.Symbol{sym.Var("data"), sym.Var("w0"), sym.Var("w1")}
	pick := func() *sym.Symbol { return values[rng.IntN(len(values))] }
	for i := range size {
		var v *sym.Symbol
		switch rng.IntN(8) {
		case 0:
			v = sym.Activation(pick(), sym.ActivationParams{ActType: "tanh"})
		case 1:
			v = sym.Sigmoid(pick())
		case 2:
			v = sym.ElemwiseAdd(pick(), pick())
		case 3:
			v = sym.ElemwiseMul(pick(), pick())
		case 4:
			v = sym.FullyConnected(pick(), sym.FullyConnectedParams{NumHidden: 6},
				sym.Name(fmt.Sprintf("fc%d", i)))
		case 5:
			r := sym.Reshape(pick(), sym.ReshapeParams{Shape: []int{6, 4}})
			v = sym.Reshape(sym.Sigmoid(r), sym.ReshapeParams{Shape: []int{4, 6}})
		case 6:
			both := sym.Concat([]*sym.Symbol{pick(), pick()}, sym.ConcatParams{Dim: sym.Some(1)})
			v = sym.FullyConnected(both, sym.FullyConnectedParams{NumHidden: 6, NoBias: true},
				sym.Name(fmt.Sprintf("fc%d", i)))
		case 7:
			parts := sym.SliceChannel(pick(), sym.SliceChannelParams{NumOutputs: 2})
			v = sym.Concat([]*sym.Symbol{parts.At(1), parts.At(0)},
				sym.ConcatParams{Dim: sym.Some(1)})
		}
		values = append(values, v)
	}
	last := values[len(values)-1]
	return sym.Group(last, sym.Sum(sym.Square(pick()), sym.ReduceParams{}), last)
}

// DropoutNet is a deep network with everything that recomputing could spoil: batch norms with
// moving averages, dropout, sums over long distances.
func DropoutNet(depth int, opts ...sym.Option) *sym.Symbol {
	x := sym.Var("data")
	for i := range depth {
		c := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 8}, sym.Name(fmt.Sprintf("conv%d", i)))
		b := sym.BatchNorm(c, sym.BatchNormParams{NoFixGamma: true, UseGlobalStats: i%4 == 3},
			append(opts, sym.Name(fmt.Sprintf("bn%d", i)))...)
		y := sym.Activation(b, sym.ActivationParams{ActType: []string{"relu", "tanh"}[i%2]},
			opts...)
		if i%3 == 1 {
			y = sym.Dropout(y, sym.DropoutParams{P: sym.Some(0.3)}, opts...)
		}
		if i%2 == 1 {
			y = sym.ElemwiseAdd(x, y)
		}
		x = y
	}
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// Written are layers written out in basic operators, as models do that need something a layer does
// not offer.
var Written = []struct {
	Name  string
	Shape dtype.Shape // of data
	Net   func(x *sym.Symbol) *sym.Symbol
}{
	{"gelu", dtype.Shape{512, 4096}, writtenGELU},
	{"layernorm", dtype.Shape{2048, 768}, writtenLayerNorm},
	{"lstm", dtype.Shape{32, 256}, writtenLSTM},
	{"attention", dtype.Shape{8, 128, 64}, writtenAttention},
}

func number(v float64) sym.ScalarParams { return sym.ScalarParams{Scalar: v} }

func writtenGELU(x *sym.Symbol) *sym.Symbol {
	inner := sym.PlusScalar(sym.Erf(sym.MulScalar(x, number(0.70710678))), number(1))
	return sym.MulScalar(sym.ElemwiseMul(x, inner), number(0.5))
}

func writtenLayerNorm(x *sym.Symbol) *sym.Symbol {
	last := sym.ReduceParams{Axis: []int{-1}, KeepDims: true}
	centered := sym.BroadcastSub(x, sym.Mean(x, last))
	variance := sym.Mean(sym.Square(centered), last)
	y := sym.BroadcastMul(centered, sym.Rsqrt(sym.PlusScalar(variance, number(1e-5))))
	gamma, beta := sym.Var("gamma", sym.Shape(768)), sym.Var("beta", sym.Shape(768))
	return sym.BroadcastAdd(sym.BroadcastMul(y, gamma), beta)
}

// writtenLSTM is ten steps of an LSTM cell that begin with the same input.
func writtenLSTM(x *sym.Symbol) *sym.Symbol {
	h, c := x, x
	weight, bias := sym.Var("weight"), sym.Var("bias")
	for range 10 {
		z := sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 1024},
			sym.With("weight", weight), sym.With("bias", bias))
		g := sym.SliceChannel(z, sym.SliceChannelParams{NumOutputs: 4})
		keep := sym.ElemwiseMul(sym.Sigmoid(g.At(0)), c)
		c = sym.ElemwiseAdd(keep, sym.ElemwiseMul(sym.Sigmoid(g.At(1)), sym.Tanh(g.At(2))))
		h = sym.ElemwiseMul(sym.Sigmoid(g.At(3)), sym.Tanh(c))
	}
	return h
}

// writtenAttention multiplies by a transposed matrix, scales twice, and shifts by a mask that is
// made of constants.
func writtenAttention(x *sym.Symbol) *sym.Symbol {
	t := sym.Transpose(x, sym.TransposeParams{Axes: []int{0, 2, 1}})
	score := sym.MulScalar(sym.DivScalar(sym.BatchDot(x, t, sym.DotParams{}), number(8)),
		number(1.44))
	mask := sym.MulScalar(sym.RMinusScalar(sym.Eye(sym.EyeParams{N: 128}), number(1)), number(-4))
	return sym.BatchDot(sym.Softmax(sym.BroadcastAdd(score,
		sym.ExpandDims(mask, sym.ExpandDimsParams{})), sym.SoftmaxParams{}), x, sym.DotParams{})
}
