package autograd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
)

// TestMain runs all tests on both engines.
func TestMain(m *testing.M) {
	code := 0
	for _, cfg := range []engine.Config{{Naive: true}, {Workers: 2}} {
		e, err := engine.New(cfg)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		engine.SetDefault(e)
		code = max(code, m.Run())
	}
	os.Exit(code)
}

func values(t *testing.T, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// network is a small convolutional network with everything that training has.
type network struct {
	params             []*nd.Array
	data, target       *nd.Array
	convW, convB       *nd.Array
	gamma, beta        *nd.Array
	movingMean, movVar *nd.Array
	weight, bias       *nd.Array
}

func newNetwork(dt dtype.Type) *network {
	normal := func(seed uint64, shape ...int) *nd.Array {
		a := nd.Normal(0, 0.5, shape, nd.Seed(seed), nd.As(dt))
		a.AttachGrad()
		return a
	}
	n := &network{
		convW: normal(1, 3, 2, 3, 3), convB: normal(2, 3), gamma: normal(3, 3), beta: normal(4, 3),
		weight: normal(5, 4, 12), bias: normal(6, 4),
		movingMean: nd.Zeros(nd.Shape{3}, nd.As(dt)), movVar: nd.Ones(nd.Shape{3}, nd.As(dt)),
		data:   nd.Normal(0, 1, nd.Shape{2, 2, 6, 6}, nd.Seed(7), nd.As(dt)),
		target: nd.Normal(0, 1, nd.Shape{2, 4}, nd.Seed(8), nd.As(dt)),
	}
	n.params = []*nd.Array{n.convW, n.convB, n.gamma, n.beta, n.weight, n.bias}
	return n
}

// loss is the squared distance from the target.
func (n *network) loss(tape *autograd.Tape) *nd.Array {
	x := nd.Convolution(tape.Watch(n.data), n.convW, n.convB,
		nd.ConvolutionParams{Kernel: []int{3, 3}, NumFilter: 3})
	x = nd.BatchNorm(x, n.gamma, n.beta, n.movingMean, n.movVar,
		nd.BatchNormParams{NoFixGamma: true})
	x = nd.Activation(x, nd.ActivationParams{ActType: "tanh"})
	x = nd.Pooling(x, nd.PoolingParams{Kernel: []int{2, 2}, Stride: []int{2, 2}, PoolType: "avg"})
	x = nd.FullyConnected(x.Flatten(), n.weight, n.bias, nd.FullyConnectedParams{NumHidden: 4})
	return x.Sub(n.target).Square().Sum()
}

func TestNetworkAgainstDifferences(t *testing.T) {
	for name, start := range map[string]func() *autograd.Tape{"train": autograd.Train,
		"predict": autograd.Predict} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(dtype.Float64)
			n.loss(start()).Backward()
			r := rand.New(rand.NewPCG(1, 2))
			for i, p := range n.params {
				grad, x := values(t, p.Grad()), values(t, p)
				k := r.IntN(len(x))
				at := func(v float64) float64 {
					moved := slices.Clone(x)
					moved[k] = v
					if err := nd.CopyFrom(p, moved); err != nil {
						t.Fatal(err)
					}
					return values(t, n.loss(start()))[0]
				}
				const h = 1e-5
				want := (at(x[k]+h) - at(x[k]-h)) / (2 * h)
				at(x[k])
				if math.Abs(grad[k]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("parameter %d at %d: got %v, want %v", i, k, grad[k], want)
				}
			}
		})
	}
}

// The kernels of every tier give the gradients of the reference, and repeat bit for bit.
func TestTiersAgree(t *testing.T) {
	defer device.LimitTier(device.MaxTier())
	grads := func(tier device.Tier) (all []float64) {
		device.LimitTier(tier)
		n := newNetwork(dtype.Float32)
		n.loss(autograd.Train()).Backward()
		for _, p := range n.params {
			all = append(all, values(t, p.Grad())...)
		}
		return append(all, values(t, n.movingMean)...)
	}
	want := grads(device.TierRef)
	for _, tier := range []device.Tier{device.TierGo, device.TierC} {
		got := grads(tier)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-3*(1+math.Abs(want[i])) {
				t.Fatalf("tier %v: gradient %d is %v, want %v", tier, i, got[i], want[i])
			}
		}
		if !slices.Equal(got, grads(tier)) {
			t.Errorf("tier %v: a second run gives other bits", tier)
		}
	}
}

func TestDropoutFollowsTheTape(t *testing.T) {
	x := nd.Ones(nd.Shape{1000})
	x.AttachGrad()
	p := nd.DropoutParams{P: nd.Some(0.5)}
	zeros := func(a *nd.Array) (n int) {
		for _, v := range values(t, a) {
			if v == 0 {
				n++
			}
		}
		return n
	}
	if n := zeros(nd.Dropout(x, p)); n != 0 {
		t.Errorf("without a tape %d elements are dropped, want none", n)
	}
	if n := zeros(nd.Dropout(autograd.Predict().Watch(x), p)); n != 0 {
		t.Errorf("in prediction %d elements are dropped, want none", n)
	}
	y := nd.Dropout(autograd.Train().Watch(x), p)
	if n := zeros(y); n < 400 || n > 600 {
		t.Errorf("in training %d elements are dropped, want about 500", n)
	}
	y.Backward()
	if !slices.Equal(values(t, y), values(t, x.Grad())) {
		t.Error("the gradient is not dropped where the value is")
	}
}

func TestGradOfIntermediateArrays(t *testing.T) {
	x := nd.FromSlice([]float64{1, 2})
	x.AttachGrad()
	tape := autograd.Train()
	y := tape.Watch(x).MulScalar(3)
	z := y.Square().Sum()
	unrelated := tape.Watch(x).Exp()
	grads, err := autograd.Grad([]*nd.Array{z}, []*nd.Array{y, x, unrelated}, autograd.Retain())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{6, 12}, {18, 36}, {0, 0}} {
		if got := values(t, grads[i]); !slices.Equal(got, want) {
			t.Errorf("gradient %d: got %v, want %v", i, got, want)
		}
	}
	if got := values(t, x.Grad()); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("the attached gradient changed to %v", got)
	}
	if err := autograd.Backward([]*nd.Array{z},
		autograd.HeadGrads(nd.FromSlice([]float64{2}))); err != nil {
		t.Fatal(err)
	}
	if got := values(t, x.Grad()); !slices.Equal(got, []float64{36, 72}) {
		t.Errorf("got %v, want the double", got)
	}
	if _, err := autograd.Grad([]*nd.Array{tape.Watch(x).Exp()},
		[]*nd.Array{nd.FromSlice([]float64{1})}); err == nil ||
		!strings.Contains(err.Error(), "array 0: the array is not on a tape") {
		t.Errorf("got %v", err)
	}
}

// Memory that a training loop uses does not grow.
func TestTrainingReleasesMemory(t *testing.T) {
	data, w := nd.Ones(nd.Shape{20, 100}), nd.Ones(nd.Shape{4, 100})
	w.AttachGrad()
	step := func() {
		nd.Scope(func(s *nd.Scoped) {
			x := s.Enter(autograd.Train().Watch(data))
			y := nd.FullyConnected(x, w, nil, nd.FullyConnectedParams{NumHidden: 4, NoBias: true})
			y.Square().Sum().Backward()
		})
	}
	used := func() int64 {
		// The memory of closed arrays is given back when no task uses them.
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return device.Usage(device.CPU()).Used[device.PurposeArray]
	}
	step()
	before := used()
	for range 50 {
		step()
	}
	if grown := used() - before; grown > 64<<10 {
		t.Errorf("50 steps left %d bytes in use", grown)
	}
}
