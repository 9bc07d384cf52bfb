package quantize_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/internal/nettest"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/quantize"
	sym "gomx/symbol"
)

// network composes a residual network with all that quantization treats: batch norms, a pooling, a
// join, a projection, a residual sum of an array that two layers read, a grouped convolution and
// dense layers with and without a rectifier before them. Channels come in sixteens: with fewer,
// MXNet takes kernels whose sums saturate at 16 bits.
func network() *sym.Symbol {
	conv := func(name string, x *sym.Symbol, filters, kernel, stride int, norm bool) *sym.Symbol {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
			Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2}, NumFilter: filters,
			NoBias: norm}, sym.Name(name))
		if norm {
			x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: name != "stem"},
				sym.Name(name+"_bn"))
		}
		return x
	}
	relu := func(name string, x *sym.Symbol) *sym.Symbol {
		return sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name(name))
	}
	x := relu("stem_relu", conv("stem", sym.Var("data"), 16, 3, 1, true))
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{2, 2}, Stride: []int{2, 2}},
		sym.Name("pool"))
	y := relu("a1_relu", conv("a1", x, 16, 3, 1, true))
	x = relu("a_out", sym.ElemwiseAdd(conv("a2", y, 16, 3, 1, false), x, sym.Name("a_sum")))
	y = relu("b1_relu", conv("b1", x, 16, 3, 2, true))
	x = relu("b_out", sym.ElemwiseAdd(conv("b2", y, 16, 1, 1, true), conv("bs", x, 16, 1, 2, true),
		sym.Name("b_sum")))
	x = sym.Concat([]*sym.Symbol{relu("c1_relu", conv("c1", x, 16, 1, 1, false)),
		relu("c2_relu", conv("c2", x, 16, 3, 1, false))}, sym.ConcatParams{}, sym.Name("join"))
	x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
		NumFilter: 32, NumGroup: 32}, sym.Name("depthwise"))
	x = relu("d_relu", conv("d", x, 16, 3, 1, false)) // its data have both signs
	x = sym.Dropout(x, sym.DropoutParams{}, sym.Name("drop"))
	x = relu("f1_relu", sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 20},
		sym.Name("f1")))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 12}, sym.Name("f2"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 5}, sym.Name("f3"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// model draws the parameters of a network.
func model(t *testing.T, s *sym.Symbol, rng *rand.Rand, data dtype.Shape) *checkpoint.Model {
	t.Helper()
	m := &checkpoint.Model{Symbol: s, Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	args, _, aux, err := s.InferShape(map[string]dtype.Shape{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range s.Arguments() {
		if name == "data" || strings.HasSuffix(name, "_label") {
			continue
		}
		v := make([]float32, args[i].Size())
		fan := 1.0
		if len(args[i]) > 1 {
			fan = float64(args[i][1:].Size())
		}
		for k := range v {
			v[k] = float32(rng.NormFloat64() * math.Sqrt(2/fan))
			switch {
			case strings.HasSuffix(name, "_gamma"):
				v[k] = float32(0.7 + 0.6*rng.Float64())
			case strings.HasSuffix(name, "_bias"), strings.HasSuffix(name, "_beta"):
				v[k] *= 0.1
			}
		}
		m.Args[name] = nd.FromSlice(v, args[i]...)
	}
	for i, name := range s.AuxStates() {
		v := make([]float32, aux[i].Size())
		for k := range v {
			v[k] = float32(rng.NormFloat64() * 0.1)
			if strings.HasSuffix(name, "_var") {
				v[k] = float32(0.5 + rng.Float64())
			}
		}
		m.Aux[name] = nd.FromSlice(v, aux[i]...)
	}
	return m
}

// samples draws a batch for calibration and tests.
func samples(rng *rand.Rand, shape dtype.Shape) *nd.Array {
	v := make([]float32, shape.Size())
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return nd.FromSlice(v, shape...)
}

func iterator(t *testing.T, x *nd.Array, batch int) dataio.Iter {
	t.Helper()
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: batch})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// outputs runs a model on data; without is true for a run of the operators one by one.
func outputs(t *testing.T, m *checkpoint.Model, x *nd.Array, without bool) []float32 {
	t.Helper()
	c := sym.BindConfig{Args: map[string]*nd.Array{"data": x}, Aux: m.Aux, NoFusion: without,
		Shapes: map[string]dtype.Shape{"data": x.Shape()}}
	for name, a := range m.Args {
		c.Args[name] = a
	}
	ex, err := m.Symbol.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	v, err := ex.Outputs()[0].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCalibrate compares quantized networks of every mode with the float32 network, and saves and
// loads them.
func TestCalibrate(t *testing.T) {
	seed := uint64(5)
	t.Logf("seed %d", seed)
	shape := dtype.Shape{4, 3, 12, 12}
	rng := rand.New(rand.NewPCG(seed, 1))
	m, x := model(t, network(), rng, shape), samples(rng, shape)
	m.Symbol, _ = m.Symbol.Internals().Output("f3_output") // before the softmax hides errors
	want := outputs(t, m, x, false)
	for _, c := range []struct {
		name      string
		config    quantize.Config
		error     float64
		quantized int
	}{
		{"none", quantize.Config{Mode: quantize.None}, 0.05, 11},
		{"naive", quantize.Config{Mode: quantize.Naive}, 0.05, 13},
		{"percentile", quantize.Config{Mode: quantize.Percentile, Percentile: 99.9}, 0.08, 13},
		{"entropy", quantize.Config{}, 0.15, 13},
		{"for MXNet", quantize.Config{Mode: quantize.Naive, ForMXNet: true}, 0.05, 12},
		{"excluded", quantize.Config{Mode: quantize.Naive, Exclude: []string{"stem", "b2"}}, 0.05,
			11},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := quantize.Calibrate(context.Background(), m, iterator(t, x, 2), c.config)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, l := range r.Layers {
				if l.Quantized {
					n++
				} else if l.Reason == "" {
					t.Errorf("%s: no reason", l.Name)
				}
			}
			if n != c.quantized {
				t.Errorf("%d layers quantized, want %d: %+v", n, c.quantized, r.Layers)
			}
			got := outputs(t, r.Model, x, false)
			d := nettest.Distance(got, want, 0)
			if t.Logf("error %.4f", d); !(d < c.error && d > 1e-5) {
				t.Errorf("error %v, want at most %v and more than none", d, c.error)
			}
			prefix := t.TempDir() + "/q"
			if err := r.Model.Save(prefix, 0); err != nil {
				t.Fatal(err)
			}
			again, err := checkpoint.Load(prefix, 0)
			if err != nil {
				t.Fatal(err)
			}
			if d := nettest.Distance(outputs(t, again, x, false), got, 0); d != 0 {
				t.Errorf("after loading, outputs differ by %v", d)
			}
		})
	}
}

// TestErrorOfOneLayer bounds the error of a convolution and of a dense layer by the steps of their
// data and weights: each number is off by half a step, or by more where the range cuts it off.
func TestErrorOfOneLayer(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 4))
		x := sym.Var("data")
		if seed%2 == 1 {
			x = sym.Relu(x)
		}
		layer := sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 7}, sym.Name("layer"))
		fan := 3 * 6 * 5
		if seed%3 > 0 {
			fan = 3 * 3 * 2
			layer = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 2}, NumFilter: 7,
				Pad: []int{2, 1}, Stride: []int{2, 1}, Dilate: []int{1, 2}}, sym.Name("layer"))
		}
		shape := dtype.Shape{2, 3, 6, 5}
		m, data := model(t, layer, rng, shape), samples(rng, shape)
		r, err := quantize.Calibrate(context.Background(), m, iterator(t, data, 2),
			quantize.Config{Mode: quantize.Naive})
		if err != nil {
			t.Fatal(err)
		}
		v, _ := m.Args["layer_weight"].Float32s()
		w := 0.0
		for _, v := range v {
			w = max(w, math.Abs(float64(v)))
		}
		l := r.Layers[0]
		reach := max(-l.Low, l.High)
		step := (l.High - l.Low) / 255
		if l.DType == "int8" {
			step = reach / 127
		}
		bound := float64(fan) * (step*w + w/127*reach)
		got, want := outputs(t, r.Model, data, false), outputs(t, m, data, false)
		for i := range want {
			if d := math.Abs(float64(got[i]) - float64(want[i])); d > bound {
				t.Errorf("seed %d: output %d is %v, want %v to within %v", seed, i, got[i], want[i],
					bound)
			}
		}
		if d := nettest.Distance(got, want, 0); d > 0.02 || d == 0 {
			t.Errorf("seed %d: error %v, want between 0 and 0.02", seed, d)
		}
	}
}

// TestMaxLoss leaves out layers until the error is small enough: a network whose first layer has a
// weight far above all others of its channel.
func TestMaxLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	x := sym.Var("data")
	for _, name := range []string{"f1", "f2", "f3"} {
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 16}, sym.Name(name))
	}
	shape := dtype.Shape{8, 16}
	m, data := model(t, x, rng, shape), samples(rng, shape)
	w, _ := m.Args["f1_weight"].Float32s()
	for k := range 16 {
		w[16*k] *= 100
	}
	m.Args["f1_weight"] = nd.FromSlice(w, 16, 16)
	v, _ := data.Float32s()
	for k := range 8 {
		v[16*k] /= 100
	}
	data = nd.FromSlice(v, 8, 16)
	want := outputs(t, m, data, false)
	var errors []float64
	for _, limit := range []float64{0, 0.05, 1e-9} {
		r, err := quantize.Calibrate(context.Background(), m, iterator(t, data, 8),
			quantize.Config{Mode: quantize.Naive, MaxLoss: limit})
		if err != nil {
			t.Fatal(err)
		}
		d := nettest.Distance(outputs(t, r.Model, data, false), want, 0)
		errors = append(errors, d)
		if limit > 0 && d > limit {
			t.Errorf("error %v, want at most %v", d, limit)
		}
		left := 0
		for _, l := range r.Layers {
			if l.Quantized {
				left++
			}
			if limit > 0 && (l.Error == 0 || l.Name != "f1" && l.Error > r.Layers[0].Error) {
				t.Errorf("errors of layers %+v, want the greatest first", r.Layers)
			}
		}
		if n := map[float64]int{0: 3, 0.05: 2, 1e-9: 0}[limit]; left != n ||
			limit == 0.05 && r.Layers[0].Quantized {
			t.Errorf("limit %v: %d layers quantized, want %d: %+v", limit, left, n, r.Layers)
		}
	}
	if !(errors[0] > 0.05) {
		t.Errorf("errors %v: the first network is no test", errors)
	}
}

// TestMistakes reports configurations and models that cannot be quantized.
func TestMistakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	shape := dtype.Shape{2, 3}
	m := model(t, sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("f")), rng, shape)
	x := samples(rng, shape)
	other, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: 2,
		DataNames: []string{"images"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config quantize.Config
		data   dataio.Iter
		want   string
	}{
		{quantize.Config{Mode: "best"}, nil, "want none, naive"},
		{quantize.Config{Percentile: 101}, nil, "at most 100"},
		{quantize.Config{Batches: -1}, nil, "want 0 or more"},
		{quantize.Config{MaxLoss: -1}, nil, "want 0 or more"},
		{quantize.Config{Exclude: []string{"g"}}, nil, `layer "g" to exclude is not in the network: it has f`},
		{quantize.Config{}, other, `the network has no input "images"`},
	} {
		it := c.data
		if it == nil {
			it = iterator(t, x, 2)
		}
		_, err := quantize.Calibrate(context.Background(), m, it, c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.config, err, c.want)
		}
	}
}
