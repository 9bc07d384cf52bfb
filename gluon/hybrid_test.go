package gluon_test

import (
	"math"
	"slices"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// noisy adds random numbers of its own.
type noisy struct{ Fc *nn.Dense }

func (n *noisy) Forward(x *nd.Array) *nd.Array {
	y := n.Fc.Forward(x)
	return y.Add(nd.Normal(0, 1, y.Shape()).MulScalar(0.1))
}

// twice normalizes two arrays with the same averages, of which the second takes more operations:
// graphs compute such an input of the product first.
type twice struct {
	Fc   *nn.Dense
	Norm *nn.BatchNorm
}

func (w *twice) Forward(x *nd.Array) *nd.Array {
	short := w.Norm.Forward(x.MulScalar(5))
	y := w.Fc.Forward(x).Add(w.Fc.Forward(x.Sin()))
	return w.Norm.Forward(y.Exp().AddScalar(3).Sqrt()).Mul(short).Add(x)
}

// doubling is a custom function whose gradient is not the derivative.
var doubling = autograd.Function{
	Name:    "doubling",
	Forward: func(in []*nd.Array) []*nd.Array { return []*nd.Array{in[0].MulScalar(2).Tanh()} },
	Backward: func(in, out, grad []*nd.Array) []*nd.Array {
		return []*nd.Array{grad[0].Mul(out[0]).MulScalar(3)}
	},
}

// networks are made anew for every comparison.
var networks = map[string]struct {
	make func() gluon.Block
	in   nd.Shape
}{
	"dense": {func() gluon.Block {
		return nn.Sequential{&nn.Dense{Units: 8, Activation: "relu"}, &nn.Dense{Units: 3}}
	}, nd.Shape{4, 5}},
	"convolution": {func() gluon.Block {
		return nn.Sequential{&nn.Conv2D{Channels: 4, Kernel: nn.Square(3), Pad: nn.Square(1)},
			&nn.BatchNorm{}, nn.Activation("relu"), &nn.MaxPool2D{}, &nn.Dropout{Rate: 0.5},
			nn.Flatten{}, &nn.Dense{Units: 3}}
	}, nd.Shape{2, 3, 8, 8}},
	"residual": {func() gluon.Block { return newResidual(2) }, nd.Shape{2, 2, 4, 4}},
	"noise":    {func() gluon.Block { return &noisy{&nn.Dense{Units: 3}} }, nd.Shape{2, 3}},
	"recurrent": {func() gluon.Block { return &rnn.Layer{Hidden: 4, Layers: 2, Dropout: 0.5} },
		nd.Shape{5, 2, 3}},
	"deformable": {func() gluon.Block {
		return nn.Sequential{
			&nn.DeformableConvolution{Channels: 3, Kernel: nn.Square(3), Pad: []int{1},
				DeformableConfig: nn.DeformableConfig{Init: nn.DeformableInits{
					OffsetWeight: initializer.Uniform{Scale: 0.1},
					OffsetBias:   initializer.Constant{Value: 0.3}}}},
			&nn.DeformableConvolution{Channels: 2, Kernel: nn.Square(2),
				DeformableConfig: nn.DeformableConfig{Modulated: true, Init: nn.DeformableInits{
					OffsetBias: initializer.Constant{Value: 0.3}}}}}
	}, nd.Shape{2, 2, 5, 5}},
	"twice": {func() gluon.Block { return &twice{&nn.Dense{Units: 3}, &nn.BatchNorm{}} },
		nd.Shape{4, 3}},
	"views": {func() gluon.Block {
		return nn.Sequential{&nn.Dense{Units: 6}, gluon.Func(func(x *nd.Array) *nd.Array {
			y := x.Reshape(0, 2, 3).At(0).Add(x.Slice(1, 2).Reshape(2, 3))
			return y.ExpandDims(0).Index(nd.All(), nd.Int(1)).Flatten()
		})}
	}, nd.Shape{2, 3}},
	"function": {func() gluon.Block {
		return nn.Sequential{&nn.Dense{Units: 3}, gluon.Func(func(x *nd.Array) *nd.Array {
			return doubling.Apply(x.Sigmoid())[0]
		})}
	}, nd.Shape{2, 3}},
}

// result is everything that a training step leaves behind.
type result struct {
	out, again, predicted, input []float32
	params                       map[string][]float32
}

// step runs a network in training twice, and in inference.
func step(t *testing.T, b gluon.Block, shape nd.Shape, hybridize ...gluon.HybridOption) result {
	t.Helper()
	nd.SetSeed(3)
	net := gluon.New(b)
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		t.Fatal(err)
	}
	x := nd.Uniform(-1, 1, shape, nd.Seed(5))
	net.Forward(x) // finds the shapes
	if hybridize != nil {
		net.Hybridize(hybridize...)
	}
	r := result{params: map[string][]float32{}}
	x.AttachGrad()
	for range 2 {
		y := net.Forward(autograd.Train().Watch(x))
		y.Mul(y).Backward()
		r.out, r.again = r.again, nettest.Values(t, y)
	}
	r.predicted = nettest.Values(t, net.Forward(x))
	r.input = nettest.Values(t, x.Grad())
	for name, p := range net.Params().All() {
		r.params[name] = nettest.Values(t, p.Data())
		if g := p.Grad(); g != nil {
			r.params[name+" gradient"] = nettest.Values(t, g)
		}
	}
	return r
}

// differ compares two results up to a tolerance; 0 is for equal bits.
func differ(t *testing.T, name string, got, want result, tolerance float64) {
	t.Helper()
	one := func(what string, a, b []float32) {
		t.Helper()
		if tolerance == 0 && slices.Equal(a, b) {
			return
		}
		if len(a) != len(b) {
			t.Errorf("%s: %s: %d values, want %d", name, what, len(a), len(b))
			return
		}
		for i := range a {
			if d := math.Abs(float64(a[i]) -
				float64(b[i])); !(d <= tolerance*(1+math.Abs(float64(b[i])))) {
				t.Errorf("%s: %s: value %d is %v, want %v", name, what, i, a[i], b[i])
				return
			}
		}
	}
	one("first output", got.out, want.out)
	one("second output", got.again, want.again)
	one("output of inference", got.predicted, want.predicted)
	one("gradient of the input", got.input, want.input)
	for k, v := range want.params {
		one(k, got.params[k], v)
	}
}

func TestHybridize(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			want := step(t, n.make(), n.in)
			differ(t, "without fusion", step(t, n.make(), n.in, gluon.NoFusion()), want, 0)
			differ(t, "with fusion", step(t, n.make(), n.in, gluon.MaxGraphs(3)), want, 1e-4)
		})
	}
}

// looping is a recurrent cell in a loop, a loop with a condition, and a choice.
type looping struct{ Fc *nn.Dense }

func (l *looping) Forward(x *nd.Array) *nd.Array {
	start := x.Slice(0, 1).Reshape(2, 3).MulScalar(0.5)
	outs, last := nd.Foreach(func(row, h []*nd.Array) (outs, states []*nd.Array) {
		y := l.Fc.Forward(row[0].Add(h[0])).Tanh()
		return []*nd.Array{y.Mul(start)}, []*nd.Array{y}
	}, []*nd.Array{x}, []*nd.Array{start})
	_, last = nd.WhileLoop(func(v []*nd.Array) *nd.Array {
		return nd.LesserScalar(nd.Sum(v[0].Mul(v[0]), nd.ReduceParams{}), nd.ScalarParams{Scalar: 5})
	}, func(v []*nd.Array) (outs, vars []*nd.Array) {
		return nil, []*nd.Array{v[0].MulScalar(1.5)}
	}, last, 6)
	rows := outs[0].Add(last[0].ExpandDims(0).BroadcastTo(outs[0].Shape()...))
	pred := nd.GreaterScalar(nd.Sum(rows, nd.ReduceParams{}), nd.ScalarParams{})
	return nd.Cond(pred, func() []*nd.Array { return []*nd.Array{rows.Mul(rows)} },
		func() []*nd.Array { return []*nd.Array{rows.Sigmoid()} })[0]
}

// TestHybridizeLoops compares loops and choices that are nodes of a traced graph with loops that
// run line by line.
func TestHybridizeLoops(t *testing.T) {
	in := nd.Shape{4, 2, 3}
	want := step(t, &looping{&nn.Dense{Units: 3}}, in)
	differ(t, "loops", step(t, &looping{&nn.Dense{Units: 3}}, in, gluon.NoFusion()), want, 1e-5)
}
