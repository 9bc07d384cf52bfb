package module_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gomx/device"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// The language of the test counts: after word n comes word n+1, and after the last the first.
const (
	words     = 8
	sentences = 8 // in a batch
)

// counting returns an iterator over sentences of three lengths.
func counting() *dataio.BucketSentences {
	var list [][]int
	for i := range 96 {
		s := make([]int, []int{4, 7, 12}[i%3])
		for k := range s {
			s[k] = (i + k) % words
		}
		list = append(list, s)
	}
	it, err := dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: list,
		BatchSize: sentences, Buckets: []int{4, 8, 12}, Invalid: -1, Seed: 3})
	if err != nil {
		panic(err)
	}
	return it
}

// lstm is a language model for sentences of a length.
func lstm(bucket any) (*sym.Symbol, error) {
	length, ok := bucket.(int)
	if !ok {
		return nil, fmt.Errorf("%v is not a length", bucket)
	}
	const hidden = 24
	swap := sym.TransposeParams{Axes: []int{1, 0, 2}}
	zero := func() *sym.Symbol {
		return sym.Zeros(sym.InitParams{Shape: []int{1, sentences,
			hidden}})
	}
	x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: words, OutputDim: 12},
		sym.Name("embed"))
	r := sym.RNN(sym.Transpose(x, swap), sym.RNNParams{StateSize: hidden, NumLayers: 1,
		Mode: "lstm"}, sym.Name("lstm"),
		sym.With("state", zero()), sym.With("state_cell", zero()),
		sym.With("parameters", sym.Var("lstm_parameters", sym.Init(`["uniform", {"scale": 0.1}]`))))
	o := sym.Reshape(sym.Transpose(r, swap), sym.ReshapeParams{Shape: []int{sentences * length,
		hidden}})
	o = sym.FullyConnected(o, sym.FullyConnectedParams{NumHidden: words}, sym.Name("decode"))
	label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
	return sym.SoftmaxOutput(o, sym.SoftmaxOutputParams{UseIgnore: true,
		IgnoreLabel: sym.Some(-1.0), Normalization: "valid"},
		sym.Name("softmax"), sym.With("label", label)), nil
}

func ExampleNewBucketing() {
	train := counting()
	mod, err := module.NewBucketing(lstm, train.DefaultBucket())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mod.Fit(context.Background(), train,
		module.Epochs(8),
		module.Optimize(optimizer.Adam{Common: optimizer.Common{Rescale: 1}, LR: 0.02}),
		module.Init(initializer.Uniform{Scale: 0.1}),
		module.Metric(metric.Perplexity(metric.IgnoreLabel(-1))))
	if err != nil {
		fmt.Println(err)
		return
	}
	score, err := mod.Score(context.Background(), train, metric.Perplexity(metric.IgnoreLabel(-1)))
	fmt.Println(mod.Buckets(), "buckets, perplexity below 1.2:", score[0].Value < 1.2, err)
	// Output: 3 buckets, perplexity below 1.2: true <nil>
}

// TestBucketsShareMemory runs batches of all buckets in any order and compares the memory with that
// of the largest alone.
func TestBucketsShareMemory(t *testing.T) {
	ctx := context.Background()
	on := device.Device{ID: 7} // which no other test uses
	it := counting()
	mod, err := module.NewBucketing(lstm, it.DefaultBucket(), module.On(on))
	if err != nil {
		t.Fatal(err)
	}
	if err := mod.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitParams(initializer.Uniform{Scale: 0.1}); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitOptimizer(optimizer.SGD{LR: 0.1,
		Common: optimizer.Common{Rescale: 1}}); err != nil {
		t.Fatal(err)
	}
	batches := map[any]*dataio.Batch{}
	it.Keep(it.Batches())
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		batches[b.Bucket] = b
	}
	train := func(bucket int) {
		t.Helper()
		if err := mod.ForwardBackward(batches[bucket]); err != nil {
			t.Fatal(err)
		}
		if err := mod.Update(); err != nil {
			t.Fatal(err)
		}
		if err := nd.WaitAll(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := mod.Outputs()[0].Shape()[0], bucket*sentences; got != want {
			t.Fatalf("bucket %d has outputs of %d rows, want %d", bucket, got, want)
		}
	}
	train(12)
	alone := device.Usage(on)
	if alone.Used[device.PurposeArena] == 0 {
		t.Fatalf("no planned memory on %v: %v", on, alone)
	}
	for _, bucket := range []int{4, 8, 12, 4, 12, 8, 4} {
		train(bucket)
	}
	together := device.Usage(on)
	if got, want := together.Used[device.PurposeArena],
		alone.Used[device.PurposeArena]; got != want {
		t.Errorf("three buckets have %d bytes of planned memory, the largest alone %d", got, want)
	}
	for _, name := range mod.ParamNames() {
		if mod.Grads()[name] == nil {
			t.Errorf("no gradient of %s", name)
		}
	}
	if mod.Buckets() != 3 {
		t.Errorf("%d buckets, want 3", mod.Buckets())
	}
	if err := mod.SwitchBucket(12, it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Error(err)
	}
	train(12)
	if n := device.Usage(on).Used[device.PurposeArray]; n > 2*alone.Used[device.PurposeArray] {
		t.Errorf("three buckets have %d bytes of arrays, the largest alone %d", n,
			alone.Used[device.PurposeArray])
	}
}

// TestBucketsEqualModules trains a bucketing module, and modules of one bucket each that hand their
// parameters on: every batch must leave the same parameters.
func TestBucketsEqualModules(t *testing.T) {
	it := counting()
	mod, err := module.NewBucketing(lstm, 12, module.Seed(4))
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(m *module.Module, data, label []dataio.Desc) {
		t.Helper()
		if err := m.Bind(data, label); err != nil {
			t.Fatal(err)
		}
		if err := m.InitParams(initializer.Uniform{Scale: 0.1}); err != nil {
			t.Fatal(err)
		}
		if err := m.InitOptimizer(optimizer.SGD{LR: 0.1,
			Common: optimizer.Common{Rescale: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	prepare(mod.Module, it.ProvideData(), it.ProvideLabel())
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		s, err := lstm(b.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		one := module.New(s)
		prepare(one, []dataio.Desc{{Name: "data", Shape: b.Data[0].Shape()}},
			[]dataio.Desc{{Name: "softmax_label", Shape: b.Label[0].Shape()}})
		if err := one.SetParams(mod.Params()); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*module.Module{one, mod.Module} {
			if err := m.ForwardBackward(b); err != nil {
				t.Fatal(err)
			}
			if err := m.Update(); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := mod.Params()
		want, _ := one.Params()
		for name := range want {
			a, err := got[name].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			b, err := want[name].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			for i := range b {
				if a[i] != b[i] {
					t.Fatalf("%s: got %v at %d, want %v", name, a[i], i, b[i])
				}
			}
		}
	}
}

// TestBucketsFail wants errors that name the bucket.
func TestBucketsFail(t *testing.T) {
	if _, err := module.NewBucketing(lstm, nil); err == nil ||
		!strings.Contains(err.Error(), "default bucket is nil") {
		t.Errorf("no default bucket: got %v", err)
	}
	if _, err := module.NewBucketing(lstm, "long"); err == nil ||
		!strings.Contains(err.Error(), "bucket long: long is not a length") {
		t.Errorf("a generator that fails: got %v", err)
	}
	gen := func(bucket any) (*sym.Symbol, error) {
		switch bucket {
		case 1:
			return line(), nil
		case 2:
			return sym.LinearRegressionOutput(sym.FullyConnected(sym.Var("data"),
				sym.FullyConnectedParams{NumHidden: 1}, sym.Name("other")),
				sym.RegressionParams{}, sym.Name("line")), nil
		case 3:
			return sym.LinearRegressionOutput(sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{},
				sym.Name("bn")).At(0), sym.RegressionParams{}, sym.Name("line")), nil
		case 4:
			return nil, nil
		}
		return nil, errors.New("no network")
	}
	mod, err := module.NewBucketing(gen, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := []*nd.Array{nd.Zeros(nd.Shape{5, 1})}
	if err := mod.SwitchBucket(2, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "not bound") {
		t.Errorf("before Bind: got %v", err)
	}
	if err := mod.Bind(onLine().ProvideData(), onLine().ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	if err := mod.InitParams(nil); err != nil {
		t.Fatal(err)
	}
	for bucket, want := range map[any]string{2: `bucket 2 has the parameter "other_weight", which the default bucket 1 has not`,
		3: `bucket 3 has the parameter "bn_gamma"`, 4: "bucket 4: no symbol",
		5: "bucket 5: no network"} {
		if err := mod.Forward(&dataio.Batch{Data: x, Label: x, Bucket: bucket}, true); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("bucket %v: got %v, want %s", bucket, err, want)
		}
	}
	if err := mod.Forward(&dataio.Batch{Data: x, Label: x}, true); err != nil {
		t.Errorf("after errors, a batch of the default bucket: %v", err)
	}
	if mod.DefaultBucket() != 1 || mod.Buckets() != 1 {
		t.Errorf("default bucket %v, %d buckets", mod.DefaultBucket(), mod.Buckets())
	}
}
