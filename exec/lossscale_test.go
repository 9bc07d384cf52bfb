package exec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// mixedNet has layers of every class: convolution, batch norm, pooling, products, a sum of two
// types, and a loss.
func mixedNet() *sym.Symbol {
	x := sym.Convolution(sym.Var("data"), sym.ConvolutionParams{Kernel: []int{3, 3},
		Pad: []int{1, 1}, NumFilter: 4}, sym.Name("conv"))
	x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true}, sym.Name("bn"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name("relu"))
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{2, 2}, Stride: []int{2, 2}, PoolType: "avg"},
		sym.Name("pool"))
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 8}, sym.Name("fc1"))
	x = sym.ElemwiseAdd(x, sym.Square(x))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// mixedRun binds net, gives it numbers, runs one step and returns outputs and gradients.
func mixedRun(t *testing.T, net *sym.Symbol, c sym.BindConfig) (out []float32,
	grads map[string][]float32) {
	t.Helper()
	c.Shapes = map[string]dtype.Shape{"data": {4, 2, 6, 6}}
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range net.Arguments() {
		a := ex.Args[name]
		values := make([]float32, a.Size())
		for i := range values {
			values[i] = float32(rng.NormFloat64()) * 0.5
			if strings.HasSuffix(name, "label") {
				values[i] = float32(i % 3)
			}
		}
		a.Set(nd.FromSlice(values, a.Shape()...))
	}
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	grads = map[string][]float32{}
	for name, g := range ex.Grads {
		if g.DType() != dtype.Float32 {
			t.Errorf("gradient of %s is %v, want float32", name, g.DType())
		}
		if grads[name], err = g.Float32s(); err != nil {
			t.Fatal(err)
		}
	}
	if out, err = ex.Outputs()[0].Float32s(); err != nil {
		t.Fatal(err)
	}
	return out, grads
}

// distance is the largest difference, relative to the largest number.
func distance(got, want []float32) float64 {
	most, far := 1e-6, 0.0
	for i := range want {
		most = max(most, math.Abs(float64(want[i])))
		far = max(far, math.Abs(float64(got[i]-want[i])))
	}
	return far / most
}

// TestMixedPrecision compares a step in mixed precision with one in float32. What differs comes
// from roundings of 8 or 11 bits along a dozen layers.
func TestMixedPrecision(t *testing.T) {
	want, wantGrads := mixedRun(t, mixedNet(), sym.BindConfig{})
	for _, p := range []struct {
		precision dtype.Type
		scale     float64
		tolerance float64
	}{{dtype.Float16, 0, 0.02}, {dtype.Float16, 1024, 0.02}, {dtype.BFloat16, 0, 0.15},
		{dtype.BFloat16, 256, 0.15}} {
		c := sym.BindConfig{Precision: p.precision, Products: op.Some(device.AllProducts)}
		if p.scale > 0 {
			c.LossScale = sym.NewLossScale(device.CPU(), p.scale)
		}
		got, grads := mixedRun(t, mixedNet(), c)
		if d := distance(got, want); d > p.tolerance || d == 0 {
			t.Errorf("%v, scale %v: outputs differ by %v, want at most %v and not 0", p.precision,
				p.scale, d, p.tolerance)
		}
		for name := range wantGrads {
			if name == "data" || strings.HasSuffix(name, "label") {
				continue
			}
			if name == "conv_bias" { // zero but for rounding: batch norm takes it away again
				continue
			}
			if d := distance(grads[name], wantGrads[name]); d > p.tolerance {
				t.Errorf("%v, scale %v: gradient of %s differs by %v, want at most %v", p.precision,
					p.scale, name, d, p.tolerance)
			}
		}
	}
}

// TestProducts computes in bfloat16 the classes that are asked for: without any, every number is
// that of float32.
func TestProducts(t *testing.T) {
	want, wantGrads := mixedRun(t, mixedNet(), sym.BindConfig{})
	run := func(p device.Products) ([]float32, map[string][]float32) {
		return mixedRun(t, mixedNet(), sym.BindConfig{Precision: dtype.BFloat16,
			Products: op.Some(p)})
	}
	got, grads := run(0)
	if !slices.Equal(got, want) {
		t.Error("outputs without products in bfloat16 are not those of float32")
	}
	for name := range wantGrads {
		if !slices.Equal(grads[name], wantGrads[name]) {
			t.Errorf("gradient of %s without products in bfloat16 is not that of float32", name)
		}
	}
	all, _ := run(device.AllProducts)
	for _, p := range []device.Product{device.Convolutions, device.FewRowProducts} {
		one, _ := run(device.ProductsOf(p))
		if slices.Equal(one, want) || slices.Equal(one, all) {
			t.Errorf("%v alone in bfloat16: the same as all or none", p)
		}
		again, _ := run(device.ProductsOf(p))
		if !slices.Equal(one, again) {
			t.Errorf("%v in bfloat16: a second run differs", p)
		}
	}
}

// TestLossScaleSavesSmallGradients makes gradients that half precision cannot hold: they vanish
// unless they are scaled.
func TestLossScaleSavesSmallGradients(t *testing.T) {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 3, NoBias: true},
		sym.Name("fc1"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2, NoBias: true}, sym.Name("fc2"))
	net := sym.MakeLoss(sym.Sum(x, sym.ReduceParams{}),
		sym.MakeLossParams{GradScale: sym.Some(1e-9)})
	_, want := mixedRun(t, net, sym.BindConfig{})
	_, lost := mixedRun(t, net, sym.BindConfig{Precision: dtype.Float16})
	_, kept := mixedRun(t, net, sym.BindConfig{Precision: dtype.Float16,
		LossScale: sym.NewLossScale(device.CPU(), 1<<20)})
	for name := range want {
		if d := distance(lost[name], make([]float32, len(lost[name]))); d > 0 {
			t.Errorf("gradient of %s survives in half precision without a scale", name)
		}
		scale := float32(0)
		for _, v := range want[name] {
			scale = max(scale, float32(math.Abs(float64(v))))
		}
		for i, v := range want[name] {
			if math.Abs(float64(kept[name][i]-v)) > 0.01*float64(scale) {
				t.Fatalf("gradient of %s: got %v at %d, want %v", name, kept[name][i], i, v)
			}
		}
	}
}

// TestPrecisionInference keeps parameters in the narrow type from run to run and notices when they
// change.
func TestPrecisionInference(t *testing.T) {
	net := mixedNet()
	shapes := map[string]dtype.Shape{"data": {2, 2, 6, 6}}
	wide, err := net.SimpleBind(sym.BindConfig{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := net.SimpleBind(sym.BindConfig{Shapes: shapes, Precision: dtype.BFloat16,
		Products: op.Some(device.AllProducts),
		Args:     wide.Args, Aux: wide.Aux})
	if err != nil {
		t.Fatal(err)
	}
	wide.Aux["bn_moving_var"].Fill(1)
	for i, scale := range []float64{0.1, 0.1, 0.3} {
		for name, a := range wide.Args {
			if name != "softmax_label" {
				a.Set(nd.Normal(0, scale, a.Shape(), nd.Seed(uint64(7))))
			}
		}
		for range 2 {
			if err := wide.Forward(false); err != nil {
				t.Fatal(err)
			}
			if err := narrow.Forward(false); err != nil {
				t.Fatal(err)
			}
			want, err := wide.Outputs()[0].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			got, err := narrow.Outputs()[0].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			if d := distance(got, want); d > 0.1 || d == 0 {
				t.Errorf("run %d: outputs differ by %v, want a little: %v, %v", i, d, got, want)
			}
		}
	}
	if use, err := narrow.MemoryUse(false); err != nil || use.Kept == 0 {
		t.Errorf("MemoryUse: %+v, %v: want parameters that are kept in bfloat16", use, err)
	}
}

// TestPrecisionMisuse names a type that is no precision.
func TestPrecisionMisuse(t *testing.T) {
	_, err := mixedNet().SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {1, 2, 6,
		6}}, Precision: dtype.Int32})
	if err == nil || !strings.Contains(err.Error(), "int32") {
		t.Errorf("Precision int32: %v, want an error that names it", err)
	}
}

// TestMixedPrecisionOverDevices converts values on the devices where they are computed.
func TestMixedPrecisionOverDevices(t *testing.T) {
	split := func() *sym.Symbol {
		first, second := sym.NewScope("", sym.CtxGroup("first")),
			sym.NewScope("", sym.CtxGroup("second"))
		x := sym.FullyConnected(sym.Flatten(sym.Var("data")),
			sym.FullyConnectedParams{NumHidden: 8}, first.Name("fc1"))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, first.Name("tanh"))
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, second.Name("fc2"))
		return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, second.Name("softmax"))
	}
	c := sym.BindConfig{Precision: dtype.Float16, LossScale: sym.NewLossScale(device.CPU(), 64)}
	want, wantGrads := mixedRun(t, split(), c)
	c.Group2Ctx = map[string]device.Device{"first": device.CPU(), "second": {Kind: device.KindCPU,
		ID: 1}}
	got, grads := mixedRun(t, split(), c)
	if d := distance(got, want); d != 0 {
		t.Errorf("outputs differ by %v", d)
	}
	for name := range wantGrads {
		if d := distance(grads[name], wantGrads[name]); d != 0 {
			t.Errorf("gradient of %s differs by %v", name, d)
		}
	}
}
