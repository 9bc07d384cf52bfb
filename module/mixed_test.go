package module_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/examples/data"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// digitsNet is a small convolutional network for images of 8×8, with channels that fill blocks.
func digitsNet() *sym.Symbol {
	x := sym.Convolution(sym.Var("data"), sym.ConvolutionParams{Kernel: []int{3, 3},
		Pad: []int{1, 1}, NumFilter: 32}, sym.Name("conv"))
	x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true}, sym.Name("bn"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name("relu"))
	x = sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2}, Stride: []int{2, 2}},
		sym.Name("pool"))
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 32}, sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// digitsLoss trains digitsNet and returns the cross entropy of every epoch.
func digitsLoss(t *testing.T, opts ...module.Option) (curve []float64, m *module.Module) {
	t.Helper()
	train, err := data.Digits().Train(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	m = module.New(digitsNet(), append(opts, module.Seed(1))...)
	err = m.Fit(t.Context(), train, module.Epochs(3), module.Init(initializer.Xavier{}),
		module.Metric(metric.CrossEntropy()),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9}),
		module.OnEpoch(func(e *module.EpochEnd) error {
			curve = append(curve,
				e.Train[0].Value)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return curve, m
}

// TestMixedPrecisionLearns trains in both narrow types along the curve of float32. Roundings of 8
// bits move single weights, not the curve.
func TestMixedPrecisionLearns(t *testing.T) {
	want, _ := digitsLoss(t)
	for _, p := range []dtype.Type{dtype.BFloat16, dtype.Float16} {
		got, m := digitsLoss(t, module.MixedPrecision(p),
			module.NarrowProducts(device.AllProducts),
			module.LossScale(module.Scaling{Initial: 128, Window: 10, Max: 512}))
		t.Logf("%v: %.4f, float32 %.4f", p, got, want)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.1*want[i]+0.01 {
				t.Errorf("%v, epoch %d: cross entropy %v, want about %v", p, i, got[i], want[i])
			}
		}
		if slices.Equal(got, want) {
			t.Errorf("%v: the losses are those of float32", p)
		}
		args, aux := m.Params()
		for _, list := range []map[string]*nd.Array{args, aux, m.Grads()} {
			for name, a := range list {
				if a.DType() != dtype.Float32 {
					t.Errorf("%v: %s is %v, want float32", p, name, a.DType())
				}
			}
		}
		prefix := filepath.Join(t.TempDir(), "mixed")
		if err := m.Save(prefix, 3); err != nil {
			t.Fatal(err)
		}
		model, err := checkpoint.Load(prefix, 3)
		if err != nil {
			t.Fatal(err)
		}
		if a := model.Args["fc1_weight"]; a.DType() != dtype.Float32 {
			t.Errorf("%v: the checkpoint has %v, want float32", p, a.DType())
		}
		if names := model.Symbol.Internals().Outputs(); len(names) != len(
			digitsNet().Internals().Outputs()) {
			t.Errorf("%v: the checkpoint's symbol is not the one trained: %v", p, names)
		}
	}
}

// TestLossScale lets random batches overflow and compares scale, skipped batches and parameters
// with a loop that counts.
func TestLossScale(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 8))
		s := module.Scaling{Initial: math.Ldexp(1, 3+rng.IntN(6)), Max: 1 << 9, Window: 1 +
			rng.IntN(4)}
		m := module.New(storeNet(), module.MixedPrecision(dtype.Float16), module.LossScale(s),
			module.Seed(seed))
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		must(m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{4, 5}}},
			[]dataio.Desc{{Name: "softmax_label", Shape: dtype.Shape{4}}}))
		must(m.InitParams(initializer.Xavier{}))
		must(m.InitOptimizer(optimizer.SGD{LR: 0.1, Momentum: 0.9}))
		args, _ := m.Params()
		scale, good, skipped := s.Initial, 0, 0
		for step := range 25 {
			if got := m.LossScale(); got != scale {
				t.Fatalf("seed %d, step %d: loss scale %v, want %v", seed, step, got, scale)
			}
			x := make([]float32, 20)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			bad := rng.IntN(4) == 0
			if bad {
				x[rng.IntN(len(x))] = 1e6 // no number of half precision
			}
			before := floats(t, args)
			must(m.ForwardBackward(&dataio.Batch{Data: []*nd.Array{nd.FromSlice(x, 4, 5)},
				Label: []*nd.Array{nd.FromSlice([]float32{0, 1, 2, 0})}}))
			must(m.Update())
			after := floats(t, args)
			for name := range before {
				if slices.Equal(before[name], after[name]) != bad {
					t.Fatalf("seed %d, step %d, overflow %v: %s stays %v", seed, step, bad, name,
						!bad)
				}
			}
			if bad {
				scale, good, skipped = scale/2, 0, skipped+1
			} else if good++; good == s.Window {
				scale, good = min(2*scale, s.Max), 0
			}
		}
		if m.Skipped() != skipped {
			t.Errorf("seed %d: %d batches skipped, want %d", seed, m.Skipped(), skipped)
		}
	}
}

// TestLossScaleMisuse names what is wrong, and a network that diverges.
func TestLossScaleMisuse(t *testing.T) {
	descs := func(m *module.Module) error {
		return m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{4, 5}}},
			[]dataio.Desc{{Name: "softmax_label", Shape: dtype.Shape{4}}})
	}
	if err := descs(module.New(storeNet(), module.LossScale(module.Scaling{}))); err == nil ||
		!strings.Contains(err.Error(), "MixedPrecision") {
		t.Errorf("LossScale alone: %v", err)
	}
	if err := descs(module.New(storeNet(), module.MixedPrecision(dtype.Float16),
		module.LossScale(module.Scaling{Initial: -1}))); err == nil {
		t.Error("a negative loss scale")
	}
	m := module.New(storeNet(), module.MixedPrecision(dtype.Float16))
	nan := make([]float32, 20)
	nan[3] = float32(math.NaN())
	err := descs(m)
	for _, f := range []func() error{func() error { return m.InitParams(initializer.Xavier{}) },
		func() error { return m.InitOptimizer(optimizer.SGD{}) }} {
		if err == nil {
			err = f()
		}
	}
	for step := 0; step < 100 && err == nil; step++ {
		if err = m.ForwardBackward(&dataio.Batch{Data: []*nd.Array{nd.FromSlice(nan, 4, 5)},
			Label: []*nd.Array{nd.FromSlice(make([]float32, 4))}}); err == nil {
			err = m.Update()
		}
	}
	if err == nil || !strings.Contains(err.Error(), "diverges") {
		t.Errorf("gradients that are always NaN: %v, want an error", err)
	}
}
