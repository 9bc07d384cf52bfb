package nettest

import (
	"fmt"
	"math/rand/v2"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// AnyGraph grows a random graph of all kinds of operators over values of a batch of two.
type AnyGraph struct {
	rng    *rand.Rand
	values []*sym.Symbol
	shapes []dtype.Shape
	Shape  map[string]dtype.Shape // of variables
	random bool                   // with dropout
	groups bool                   // nodes are in dev0, dev1, dev2 or no group
	nodes  int
}

func NewAnyGraph(rng *rand.Rand) *AnyGraph { return GrowAnyGraph(rng, false) }

func GrowAnyGraph(rng *rand.Rand, groups bool) *AnyGraph {
	g := &AnyGraph{rng: rng, Shape: map[string]dtype.Shape{}, random: rng.IntN(3) == 0,
		groups: groups}
	g.variable("image", dtype.Shape{2, 3, 6, 6})
	g.variable("row", dtype.Shape{2, 12})
	g.variable("other", dtype.Shape{2, 12})
	for range 6 + rng.IntN(22) {
		g.grow()
	}
	return g
}

func (g *AnyGraph) add(s *sym.Symbol, shape ...int) {
	g.values, g.shapes = append(g.values, s), append(g.shapes, shape)
}

func (g *AnyGraph) variable(name string, shape dtype.Shape) *sym.Symbol {
	v := sym.Var(name)
	g.Shape[name] = shape
	g.add(v, shape...)
	return v
}

func (g *AnyGraph) name(kind string) sym.Option {
	g.nodes++
	name := fmt.Sprintf("%s%d", kind, g.nodes)
	if g.groups {
		if i := g.rng.IntN(4); i < 3 {
			return sym.NewScope("", sym.CtxGroup(fmt.Sprint("dev", i))).Name(name)
		}
	}
	return sym.Name(name)
}

// pick returns a value with the given number of axes and prefers the value added last. axes 0
// accepts every number.
func (g *AnyGraph) pick(axes int) (*sym.Symbol, dtype.Shape) {
	for try := 0; ; try++ {
		i := g.rng.IntN(len(g.values))
		if try == 0 && g.rng.IntN(2) == 0 {
			i = len(g.values) - 1
		}
		if axes == 0 || len(g.shapes[i]) == axes {
			return g.values[i], g.shapes[i]
		}
	}
}

// like returns a value of a shape.
func (g *AnyGraph) like(shape dtype.Shape) *sym.Symbol {
	for _, i := range g.rng.Perm(len(g.values)) {
		if g.shapes[i].Equal(shape) {
			return g.values[i]
		}
	}
	panic("no value of this shape")
}

func (g *AnyGraph) grow() {
	switch g.rng.IntN(10) {
	case 0:
		g.layer()
	case 1, 2, 3:
		g.function()
	case 4, 5:
		g.pair()
	case 6:
		g.move()
	case 7:
		g.reduce()
	case 8:
		g.constant()
	case 9:
		g.part()
	}
}

// layer adds a convolution, batch norm, pooling, attention, dense layer or dropout.
func (g *AnyGraph) layer() {
	switch g.rng.IntN(8) {
	case 6:
		g.residual()
	case 7:
		x, s := g.pick(4)
		y := sym.BatchDot(x, x, sym.DotParams{TransposeB: true}, g.name("scores"))
		y = sym.MulScalar(y, sym.ScalarParams{Scalar: 0.1}, g.name("scaled"))
		y = sym.Softmax(y, sym.SoftmaxParams{}, g.name("softmax"))
		g.add(sym.BatchDot(y, x, sym.DotParams{}, g.name("attention")), s...)
	case 0:
		x, s := g.pick(4)
		n := []int{3, 8, 16}[g.rng.IntN(3)]
		y := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: n}, g.name("conv"))
		g.add(y, s[0], n, s[2], s[3])
	case 1:
		x, s := g.pick(4)
		g.add(sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: g.rng.IntN(2) == 0,
			Eps: sym.Some(1e-2)}, g.name("bn")).At(0), s...)
	case 2:
		x, s := g.pick(4)
		p := sym.PoolingParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, PoolType: []string{"max",
			"avg"}[g.rng.IntN(2)]}
		g.add(sym.Pooling(x, p, g.name("pool")), s...)
	case 3, 4:
		x, s := g.pick(0)
		g.add(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 12}, g.name("fc")), s[0],
			12)
	case 5:
		x, s := g.pick(0)
		p := sym.DropoutParams{P: sym.Some(0.0)}
		if g.random {
			p.P = sym.Some(0.4)
		}
		g.add(sym.Dropout(x, p, g.name("dropout")).At(0), s...)
	}
}

// residual adds a convolution with all that may be fused into it.
func (g *AnyGraph) residual() {
	x, s := g.pick(4)
	if g.rng.IntN(2) == 0 {
		s = dtype.Shape{s[0], 32, s[2], s[3]}
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{1, 1}, NumFilter: s[1]},
			g.name("widen"))
	}
	y := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
		NumFilter: s[1], NoBias: true}, g.name("conv"))
	if g.rng.IntN(3) > 0 {
		y = sym.BatchNorm(y, sym.BatchNormParams{Eps: sym.Some(1e-2)}, g.name("bn")).At(0)
	}
	if g.rng.IntN(2) == 0 {
		y = sym.ElemwiseAdd(y, x, g.name("add"))
	}
	g.add(sym.Relu(y, g.name("relu")), s...)
}

// function adds a function of one value.
func (g *AnyGraph) function() {
	x, s := g.pick(0)
	number := sym.ScalarParams{Scalar: []float64{0, 1, 2, -0.5, 0.3}[g.rng.IntN(5)]}
	list := []func() *sym.Symbol{
		func() *sym.Symbol { return sym.Sigmoid(x, g.name("sigmoid")) },
		func() *sym.Symbol { return sym.Tanh(x, g.name("tanh")) },
		func() *sym.Symbol { return sym.Relu(x, g.name("relu")) },
		func() *sym.Symbol { return sym.Erf(x, g.name("erf")) },
		func() *sym.Symbol { return sym.Negative(x, g.name("neg")) },
		func() *sym.Symbol { return sym.Abs(sym.Negative(x, g.name("neg")), g.name("abs")) },
		func() *sym.Symbol { return sym.Square(sym.Tanh(x, g.name("tanh")), g.name("square")) },
		func() *sym.Symbol { return sym.PlusScalar(x, number, g.name("plus")) },
		func() *sym.Symbol { return sym.MulScalar(x, number, g.name("times")) },
		func() *sym.Symbol { return sym.MinusScalar(x, number, g.name("minus")) },
		func() *sym.Symbol {
			third := sym.DivScalar(x, sym.ScalarParams{Scalar: 3}, g.name("divided"))
			return sym.MulScalar(third, sym.ScalarParams{Scalar: 1.7}, g.name("times"))
		},
		func() *sym.Symbol { return sym.RMinusScalar(x, number, g.name("from")) },
		func() *sym.Symbol { return sym.MaximumScalar(x, number, g.name("max")) },
		func() *sym.Symbol {
			return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: []string{"leaky", "elu",
				"gelu"}[g.rng.IntN(3)]}, g.name("leaky"))
		},
		func() *sym.Symbol {
			return sym.Activation(x, sym.ActivationParams{ActType: []string{"relu", "tanh",
				"softrelu", "softsign"}[g.rng.IntN(4)]}, g.name("act"))
		},
		func() *sym.Symbol { return sym.BlockGrad(x, g.name("block")) },
		func() *sym.Symbol { return sym.Identity(x, g.name("id")) },
	}
	g.add(list[g.rng.IntN(len(list))](), s...)
}

// pair adds a function of two values of one shape, or of one and a smaller one that is broadcast.
func (g *AnyGraph) pair() {
	x, s := g.pick(0)
	if g.rng.IntN(3) == 0 {
		small := s.Clone()
		for i := range small {
			if g.rng.IntN(2) == 0 {
				small[i] = 1
			}
		}
		g.nodes++
		v := g.variable(fmt.Sprintf("small%d", g.nodes), small)
		list := []func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol{sym.BroadcastAdd,
			sym.BroadcastMul, sym.BroadcastSub, sym.BroadcastMaximum}
		g.add(list[g.rng.IntN(len(list))](x, v, g.name("broadcast")), s...)
		return
	}
	y := g.like(s)
	list := []func() *sym.Symbol{
		func() *sym.Symbol { return sym.ElemwiseAdd(x, y, g.name("add")) },
		func() *sym.Symbol { return sym.ElemwiseSub(x, y, g.name("sub")) },
		func() *sym.Symbol {
			return sym.ElemwiseMul(x, sym.Sigmoid(y, g.name("gate")), g.name("mul"))
		},
		func() *sym.Symbol { return sym.BroadcastAdd(x, y, g.name("add")) },
		func() *sym.Symbol {
			return sym.ElemwiseDiv(x, sym.PlusScalar(sym.Square(y, g.name("sq")),
				sym.ScalarParams{Scalar: 1}, g.name("one")), g.name("div"))
		},
		func() *sym.Symbol { return sym.AddN([]*sym.Symbol{x, y, x}, g.name("sum")) },
	}
	g.add(list[g.rng.IntN(len(list))](), s...)
}

// move adds a change of shape or of the order of axes.
func (g *AnyGraph) move() {
	x, s := g.pick(0)
	switch g.rng.IntN(4) {
	case 0:
		g.add(sym.Reshape(sym.Flatten(x, g.name("flat")), sym.ReshapeParams{Shape: s},
			g.name("reshape")), s...)
	case 1:
		t := sym.Transpose(x, sym.TransposeParams{}, g.name("transpose"))
		g.add(sym.Transpose(sym.Tanh(t, g.name("tanh")), sym.TransposeParams{},
			g.name("transpose")), s...)
	case 2:
		t := sym.SwapAxis(x, sym.SwapAxisParams{Dim1: 0, Dim2: 1}, g.name("swap"))
		g.add(sym.SwapAxis(t, sym.SwapAxisParams{Dim1: 0, Dim2: 1}, g.name("swap")), s...)
	case 3:
		x, s := g.pick(2)
		t := sym.Transpose(g.like(s), sym.TransposeParams{}, g.name("transpose"))
		g.add(sym.MulScalar(sym.Dot(sym.Dot(x, t, sym.DotParams{}, g.name("dot")), x,
			sym.DotParams{}, g.name("dot")), sym.ScalarParams{Scalar: 0.1}, g.name("times")), s...)
	}
}

// reduce adds a reduction, brought back to the shape of its input.
func (g *AnyGraph) reduce() {
	x, s := g.pick(0)
	p := sym.ReduceParams{Axis: []int{len(s) - 1 - g.rng.IntN(len(s)-1)}, KeepDims: true}
	y := sym.Mean(x, p, g.name("mean"))
	if g.rng.IntN(2) == 0 {
		y = sym.Sum(sym.MulScalar(x, sym.ScalarParams{Scalar: 0.2}, g.name("times")), p,
			g.name("sum"))
	}
	g.add(sym.BroadcastSub(x, y, g.name("center")), s...)
}

// constant adds an operator that joins a value with a constant, or that reads an input only for its
// shape.
func (g *AnyGraph) constant() {
	x, s := g.pick(0)
	switch g.rng.IntN(4) {
	case 0:
		g.add(sym.ElemwiseMul(x, sym.OnesLike(x, g.name("ones")), g.name("mul")), s...)
	case 1:
		z := sym.PlusScalar(sym.ZerosLike(sym.Tanh(x, g.name("tanh")), g.name("zeros")),
			sym.ScalarParams{Scalar: 0.25}, g.name("quarter"))
		g.add(sym.ElemwiseAdd(z, x, g.name("add")), s...)
	case 2:
		ramp := sym.MulScalar(sym.Arange(sym.ArangeParams{Start: 0,
			Stop: sym.Some(float64(s[len(s)-1]))}, g.name("arange")), sym.ScalarParams{Scalar: 0.1},
			g.name("ramp"))
		g.add(sym.BroadcastMul(x, ramp, g.name("mul")), s...)
	case 3:
		g.add(sym.ReshapeLike(sym.Tanh(x, g.name("tanh")), sym.Sigmoid(x, g.name("like")),
			sym.ReshapeLikeParams{}, g.name("reshape")), s...)
	}
}

// part adds parts of values, put together again.
func (g *AnyGraph) part() {
	x, s := g.pick(2)
	if s[1] != 12 {
		return
	}
	switch g.rng.IntN(3) {
	case 0:
		a := sym.SliceAxis(x, sym.SliceAxisParams{Axis: 1, Begin: 0, End: sym.Some(6)},
			g.name("slice"))
		b := sym.SliceAxis(g.like(s), sym.SliceAxisParams{Axis: 1, Begin: 6, End: sym.Some(12)},
			g.name("slice"))
		g.add(sym.Concat([]*sym.Symbol{a, b}, sym.ConcatParams{Dim: sym.Some(1)}, g.name("concat")),
			s...)
	case 1:
		all := sym.SliceAxis(x, sym.SliceAxisParams{Axis: 1, Begin: 0, End: op.Opt[int]{}},
			g.name("slice"))
		g.add(sym.Concat([]*sym.Symbol{all}, sym.ConcatParams{Dim: sym.Some(1)}, g.name("concat")),
			s...)
	case 2:
		parts := sym.SliceChannel(x, sym.SliceChannelParams{NumOutputs: 3}, g.name("split"))
		gate := sym.ElemwiseMul(sym.Sigmoid(parts.At(0), g.name("gate")),
			sym.Tanh(parts.At(1), g.name("tanh")), g.name("mul"))
		g.add(sym.Concat([]*sym.Symbol{gate, parts.At(2), gate}, sym.ConcatParams{Dim: sym.Some(1)},
			g.name("concat")), s...)
	}
}

// Symbol groups the last value, a loss or none, and some others.
func (g *AnyGraph) Symbol() *sym.Symbol {
	outs := []*sym.Symbol{g.values[len(g.values)-1]}
	if x := outs[0]; g.rng.IntN(2) == 0 {
		outs = append(outs, g.loss(x))
	}
	for range g.rng.IntN(3) {
		outs = append(outs, g.values[g.rng.IntN(len(g.values))])
	}
	return sym.Group(outs...)
}

// loss ends in a dense layer and a loss, which some passes join.
func (g *AnyGraph) loss(x *sym.Symbol) *sym.Symbol {
	if g.rng.IntN(2) == 0 {
		if g.rng.IntN(3) == 0 {
			x = sym.Tile(sym.Flatten(x, g.name("flat")), sym.TileParams{Reps: []int{64, 1}},
				g.name("many"))
		}
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 12}, g.name("scores"))
		return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, g.name("softmax"))
	}
	if g.rng.IntN(2) == 0 {
		x = sym.BlockGrad(x, g.name("features"))
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 1}, g.name("score"))
	if g.rng.IntN(2) == 0 {
		return sym.LogisticRegressionOutput(x, sym.RegressionParams{}, g.name("logistic"))
	}
	return sym.LinearRegressionOutput(x, sym.RegressionParams{}, g.name("line"))
}
