package autograd_test

import (
	"math/rand/v2"
	"testing"

	"gomx/autograd"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// secondOrderNets lists functions of named arrays whose first derivatives are differentiated: the
// layers of networks, and networks made of them.
var secondOrderNets = []struct {
	name   string
	shapes [][]int
	f      func(in []*nd.Array) *nd.Array
}{
	{"multilayer perceptron", [][]int{{3, 4}, {5, 4}, {5}, {2, 5}, {2}},
		func(in []*nd.Array) *nd.Array {
			h := nd.FullyConnected(in[0], in[1], in[2], nd.FullyConnectedParams{NumHidden: 5})
			return nd.FullyConnected(h.Tanh(), in[3], in[4], nd.FullyConnectedParams{NumHidden: 2})
		}},
	{"perceptron on sequences", [][]int{{2, 3, 4}, {5, 4}, {5}}, func(in []*nd.Array) *nd.Array {
		h := nd.FullyConnected(in[0], in[1], in[2], nd.FullyConnectedParams{NumHidden: 5,
			NoFlatten: true})
		return nd.Activation(h, nd.ActivationParams{ActType: "softrelu"})
	}},
	{"convolutional network", [][]int{{2, 2, 5, 5}, {3, 2, 3, 3}, {3}, {3}, {3}, {2, 12}, {2}},
		func(in []*nd.Array) *nd.Array {
			h := nd.Convolution(in[0], in[1], in[2], nd.ConvolutionParams{Kernel: []int{3, 3},
				Pad: []int{1, 1}, NumFilter: 3})
			h = nd.BatchNorm(h, in[3], in[4], nd.Zeros(nd.Shape{3}, nd.As(dtype.Float64)),
				nd.Ones(nd.Shape{3}, nd.As(dtype.Float64)), nd.BatchNormParams{NoFixGamma: true})
			h = nd.LeakyReLU(h, nd.LeakyReLUParams{ActType: "gelu"})
			h = nd.Pooling(h, nd.PoolingParams{PoolType: "avg", Kernel: []int{2, 2},
				Stride: []int{2, 2}})
			return nd.FullyConnected(h, in[5], in[6], nd.FullyConnectedParams{NumHidden: 2})
		}},
	{"generator", [][]int{{2, 3, 2, 2}, {3, 2, 3, 3}, {2}}, func(in []*nd.Array) *nd.Array {
		return nd.Deconvolution(in[0], in[1], nd.DeconvolutionParams{Kernel: []int{3, 3},
			Stride: []int{2, 2}, NumFilter: 2,
			NoBias: nd.Some(false)}, nd.With("bias", in[2])).Tanh()
	}},
	{"LSTM cell", [][]int{{2, 3}, {2, 2}, {2, 2}, {8, 3}, {8}, {8, 2}, {8}},
		func(in []*nd.Array) *nd.Array {
			p := nd.FullyConnectedParams{NumHidden: 8}
			gates := nd.FullyConnected(in[0], in[3], in[4], p).Add(nd.FullyConnected(in[1], in[5],
				in[6], p))
			g := nd.SliceChannel(gates, nd.SliceChannelParams{NumOutputs: 4})
			c := g[1].Sigmoid().Mul(in[2]).Add(g[0].Sigmoid().Mul(g[2].Tanh()))
			return nd.Concat([]*nd.Array{c, g[3].Sigmoid().Mul(c.Tanh())}, nd.ConcatParams{})
		}},
	{"attention", [][]int{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {4}, {4}},
		func(in []*nd.Array) *nd.Array {
			scores := nd.BatchDot(in[0], in[1], nd.DotParams{TransposeB: true}).Softmax()
			return nd.LayerNorm(nd.BatchDot(scores, in[2], nd.DotParams{}), in[3], in[4],
				nd.LayerNormParams{})
		}},
	{"classifier", [][]int{{3, 4}, {5, 4}}, func(in []*nd.Array) *nd.Array {
		logits := nd.Dot(in[0], in[1], nd.DotParams{TransposeB: true})
		label := nd.FromSlice([]float64{0, 4, 2})
		return nd.Pick(nd.LogSoftmax(logits, nd.SoftmaxParams{}), label, nd.PickParams{}).Neg()
	}},
	{"embedding", [][]int{{5, 3}, {3}}, func(in []*nd.Array) *nd.Array {
		rows := nd.Embedding(nd.FromSlice([]float64{1, 4, 1}), in[0],
			nd.EmbeddingParams{InputDim: 5, OutputDim: 3, DType: dtype.Float64})
		return rows.Mul(in[1].ExpandDims(0)).Square()
	}},
	{"take and gather", [][]int{{4, 3}, {4, 3}}, func(in []*nd.Array) *nd.Array {
		a := nd.Take(in[0], nd.FromSlice([]float64{3, 0, 3}), nd.TakeParams{})
		b := nd.GatherND(in[1], nd.FromSlice([]float64{0, 1, 3, 2, 2, 0}, 2, 3))
		return a.Mul(b.ExpandDims(1)).Square()
	}},
	{"cholesky factor", [][]int{{3, 3}}, func(in []*nd.Array) *nd.Array {
		x := in[0].Add(in[0].T())
		eye := nd.Eye(nd.EyeParams{N: 3, DType: dtype.Float64}).MulScalar(9)
		l := nd.LinalgPotrf(x.Add(eye), nd.CholeskyParams{})
		return nd.LinalgPotri(l, nd.CholeskyParams{}).Mul(x).Add(l)
	}},
	{"norms", [][]int{{3, 4}}, func(in []*nd.Array) *nd.Array {
		return nd.Norm(in[0], nd.NormParams{Axis: []int{1}}).Square().Add(nd.L2Normalization(in[0],
			nd.L2NormalizationParams{}).Sum())
	}},
}

func TestSecondOrderOfNetworks(t *testing.T) {
	seed := rand.Uint64()
	for _, c := range secondOrderNets {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			var in []*nd.Array
			for _, s := range c.shapes {
				in = append(in, positive(r, s...).Copy())
				in[len(in)-1].AttachGrad()
			}
			checkSecondOrder(t, in, c.f)
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// checkSecondOrder differentiates a function of the gradients of f.
func checkSecondOrder(t *testing.T, in []*nd.Array, f func(in []*nd.Array) *nd.Array) {
	t.Helper()
	slopes := func(opts ...autograd.Option) *nd.Array {
		tape, watched := autograd.Train(), make([]*nd.Array, len(in))
		for i, a := range in {
			watched[i] = tape.Watch(a)
		}
		grads, err := autograd.Grad([]*nd.Array{weighted(f(watched))}, in, opts...)
		if err != nil {
			t.Fatal(err)
		}
		var sum *nd.Array
		for i, g := range grads {
			v := weighted(g.MulScalar(0.2).AddScalar(float64(i) / 4).Square())
			if sum != nil {
				v = sum.Add(v)
			}
			sum = v
		}
		return sum
	}
	if err := autograd.Backward([]*nd.Array{slopes(autograd.CreateGraph())}); err != nil {
		t.Fatal(err)
	}
	for i, a := range in {
		differences(t, i, a, func() float64 { return values(t, slopes())[0] })
	}
}
