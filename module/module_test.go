package module_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// mlp is a small classifier of points in the plane.
func mlp() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16},
		sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"})
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// points are n points of the plane, labelled by whether they lie inside a circle.
func points(t testing.TB, n, batch int, c dataio.NDArrayConfig) *dataio.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 0))
	data, label := make([]float32, 2*n), make([]float32, n)
	for i := range label {
		x, y := r.Float64()*2-1, r.Float64()*2-1
		data[2*i], data[2*i+1] = float32(x), float32(y)
		if math.Hypot(x, y) < 0.75 {
			label[i] = 1
		}
	}
	c.Data, c.Label, c.BatchSize = []*nd.Array{nd.FromSlice(data, n, 2)},
		[]*nd.Array{nd.FromSlice(label)}, batch
	it, err := dataio.NDArrayIter(c)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func shuffled() dataio.NDArrayConfig { return dataio.NDArrayConfig{Shuffle: true, Seed: 8} }

// train fits a new module and returns it.
func train(t *testing.T, it dataio.Iter, opts ...module.FitOption) *module.Module {
	t.Helper()
	mod := module.New(mlp(), module.Seed(5))
	if err := mod.Fit(context.Background(), it, append([]module.FitOption{
		module.Optimize(optimizer.SGD{LR: 0.5, Momentum: 0.9}), module.Init(initializer.Xavier{})},
		opts...)...); err != nil {
		t.Fatal(err)
	}
	return mod
}

// values reads all parameters.
func values(t *testing.T, mod *module.Module) map[string][]float32 {
	t.Helper()
	m := map[string][]float32{}
	args, aux := mod.Params()
	for _, list := range []map[string]*nd.Array{args, aux} {
		for name, a := range list {
			v, err := a.Float32s()
			if err != nil {
				t.Fatal(err)
			}
			m[name] = v
		}
	}
	return m
}

func same(a, b map[string][]float32) bool {
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

func TestFitLearns(t *testing.T) {
	it := points(t, 500, 20, shuffled())
	var batches, epochs int
	mod := train(t, it, module.Epochs(30),
		module.Validate(points(t, 130, 20, dataio.NDArrayConfig{})), module.Sample(5),
		module.OnBatch(func(b *module.BatchEnd) error { batches++; return nil }),
		module.OnEpoch(func(e *module.EpochEnd) error { epochs++; return nil }))
	if batches != 30*25 || epochs != 30 {
		t.Errorf("%d batches and %d epochs called back, want %d and 30", batches, epochs, 30*25)
	}
	h := mod.History()
	if len(h.Batches) != 30*4 || len(h.Epochs) != 30 || len(h.Curves()) != 2 {
		t.Errorf("history has %d stretches, %d epochs, %d curves", len(h.Batches), len(h.Epochs),
			len(h.Curves()))
	}
	last := h.Epochs[29]
	if v, ok := last.Validation.Get("accuracy"); !ok || v < 0.9 {
		t.Errorf("validation %v, want an accuracy of at least 0.9", last.Validation)
	}
	if last.Samples != 500 || last.Batches != 25 {
		t.Errorf("epoch of %d samples in %d batches, want 500 in 25", last.Samples, last.Batches)
	}
}

// TestRepeats checks that a run repeats bit for bit, and that it depends on the seed.
func TestRepeats(t *testing.T) {
	a := values(t, train(t, points(t, 200, 20, shuffled()), module.Epochs(3)))
	b := values(t, train(t, points(t, 200, 20, shuffled()), module.Epochs(3)))
	if !same(a, b) {
		t.Error("two runs differ")
	}
	p, err := dataio.Prefetch(points(t, 200, 20, shuffled()), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !same(a, values(t, train(t, p, module.Epochs(3)))) {
		t.Error("a run with prefetching differs")
	}
}

// TestContinue checks that a run continued from a checkpoint is the undisturbed run.
func TestContinue(t *testing.T) {
	whole := values(t, train(t, points(t, 200, 20, shuffled()), module.Epochs(4)))
	prefix := filepath.Join(t.TempDir(), "runs", "mlp")
	train(t, points(t, 200, 20, shuffled()), module.Epochs(2), module.Checkpoint(prefix,
		module.WithStates()))
	mod, err := module.Load(prefix, 2, module.Seed(5))
	if err != nil {
		t.Fatal(err)
	}
	it := points(t, 200, 20, shuffled())
	sgd := optimizer.SGD{LR: 0.5, Momentum: 0.9}
	if err := errors.Join(mod.Bind(it.ProvideData(), it.ProvideLabel()), mod.InitParams(nil),
		mod.InitOptimizer(sgd),
		mod.LoadStates(prefix+"-0002.states"), mod.Fit(context.Background(), it,
			module.BeginEpoch(2), module.Epochs(4))); err != nil {
		t.Fatal(err)
	}
	if !same(whole, values(t, mod)) {
		t.Error("the continued run differs")
	}
}

func TestKeepLast(t *testing.T) {
	dir := t.TempDir()
	train(t, points(t, 40, 20, shuffled()), module.Epochs(5),
		module.Checkpoint(filepath.Join(dir, "m"), module.KeepLast(2), module.WithStates()))
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"m-0004.params", "m-0004.states", "m-0005.params", "m-0005.states",
		"m-symbol.json"}
	if !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

// TestPadding checks that padded samples are neither scored nor predicted, whatever the batch.
func TestPadding(t *testing.T) {
	ctx := context.Background()
	mod := train(t, points(t, 200, 20, shuffled()), module.Epochs(2))
	whole, err := mod.Score(ctx, points(t, 90, 90, dataio.NDArrayConfig{}),
		metric.Composite(metric.Accuracy(), metric.CrossEntropy()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := mod.Predict(ctx, points(t, 90, 90, dataio.NDArrayConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	w, err := want[0].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{7, 40, 89} {
		it := points(t, 90, batch, dataio.NDArrayConfig{})
		s, err := mod.Score(ctx, it, metric.Composite(metric.Accuracy(), metric.CrossEntropy()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range s {
			if math.Abs(s[i].Value-whole[i].Value) > 1e-6 {
				t.Errorf("batches of %d: %v, want %v", batch, s, whole)
			}
		}
		got, err := mod.Predict(ctx, it)
		if err != nil {
			t.Fatal(err)
		}
		g, err := got[0].Float32s()
		if err != nil || !got[0].Shape().Equal(nd.Shape{90, 2}) {
			t.Fatalf("prediction of shape %v, %v, want (90, 2)", got[0].Shape(), err)
		}
		for i := range g {
			if math.Abs(float64(g[i]-w[i])) > 1e-6 {
				t.Fatalf("batches of %d: prediction %d is %v, want %v", batch, i, g[i], w[i])
			}
		}
	}
}

// TestSteps drives a module by hand, gradients of the data included.
func TestSteps(t *testing.T) {
	net := sym.LinearRegressionOutput(sym.FullyConnected(sym.Var("data"),
		sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc")), sym.RegressionParams{},
		sym.Name("lro"))
	mod := module.New(net, module.Fixed("fc_bias"))
	b := &dataio.Batch{Data: []*nd.Array{nd.FromSlice([]float32{1, 2}, 1, 2)},
		Label: []*nd.Array{nd.FromSlice([]float32{1}, 1, 1)}}
	if err := mod.Forward(b, true); err == nil {
		t.Error("Forward before Bind: no error")
	}
	data := []dataio.Desc{{Name: "data", Shape: nd.Shape{1, 2}}}
	label := []dataio.Desc{{Name: "lro_label", Shape: nd.Shape{1, 1}}}
	if err := mod.Bind(data, label, module.WithInputGrads()); err != nil {
		t.Fatal(err)
	}
	if err := mod.Forward(b, true); err == nil {
		t.Error("Forward before InitParams: no error")
	}
	if err := mod.SetParams(map[string]*nd.Array{"fc_weight": nd.FromSlice([]float32{3, 4}, 1, 2),
		"fc_bias": nd.FromSlice([]float32{0})}, nil); err != nil {
		t.Fatal(err)
	}
	if err := mod.Update(); err == nil {
		t.Error("Update before InitOptimizer: no error")
	}
	if err := errors.Join(mod.InitOptimizer(optimizer.SGD{LR: 0.1}), mod.ForwardBackward(b),
		mod.Update()); err != nil {
		t.Fatal(err)
	}
	// output 11, label 1: the gradient of the output is 10
	g, err := mod.InputGrads()[0].Float32s()
	if err != nil || !slices.Equal(g, []float32{30, 40}) {
		t.Errorf("gradient of the data %v, %v, want [30 40]", g, err)
	}
	v := values(t, mod)
	if !slices.Equal(v["fc_weight"], []float32{2, 2}) || v["fc_bias"][0] != 0 {
		t.Errorf("parameters %v, want a weight of [2 2] and a fixed bias", v)
	}
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	train(t, points(t, 200, 20, shuffled()), module.Speedometer(&out, 4),
		module.Validate(points(t, 20, 20, dataio.NDArrayConfig{})))
	want := regexp.MustCompile(`^Epoch\[0\] Batch \[0-4\]\tSpeed: [0-9.]+ samples/sec\taccuracy=0\.\d{6}
Epoch\[0\] Batch \[4-8\]\tSpeed: [0-9.]+ samples/sec\taccuracy=0\.\d{6}
Epoch\[0\] Train-accuracy=0\.\d{6}
Epoch\[0\] Time cost=\d+\.\d{3}
Epoch\[0\] Validation-accuracy=[01]\.\d{6}
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("lines %s", out.String())
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	mod := module.New(mlp())
	err := mod.Fit(ctx, points(t, 100, 20, shuffled()),
		module.OnBatch(func(b *module.BatchEnd) error {
			if b.Batch == 2 {
				cancel()
			}
			return nil
		}))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "epoch 0: batch 3") {
		t.Errorf("%v, want a cancellation before batch 3", err)
	}
}
