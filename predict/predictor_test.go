package predict_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/predict"
	sym "gomx/symbol"
)

// residual is a small network with everything whose parameters inference keeps in another form.
func residual() *sym.Symbol {
	unit := func(x *sym.Symbol, name string) *sym.Symbol {
		c := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 32}, sym.Name(name))
		b := sym.BatchNorm(c, sym.BatchNormParams{Eps: sym.Some(1e-3)}, sym.Name(name+"_bn"))
		return sym.Activation(b, sym.ActivationParams{ActType: "relu"}, sym.Name(name+"_relu"))
	}
	x := unit(sym.Var("data"), "conv0")
	x = sym.ElemwiseAdd(x, unit(x, "conv1"))
	x = sym.Pooling(x, sym.PoolingParams{PoolType: "avg", GlobalPool: true, Kernel: []int{1, 1}})
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// saved writes a checkpoint of s with random parameters and loads it again.
func saved(t testing.TB, s *sym.Symbol, data dtype.Shape) *checkpoint.Model {
	t.Helper()
	args, _, aux, err := s.InferShape(map[string]dtype.Shape{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	m := &checkpoint.Model{Symbol: s, Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	for i, name := range s.Arguments() {
		if name != "data" && !strings.HasSuffix(name, "label") {
			m.Args[name] = nd.Uniform(-0.3, 0.3, args[i], nd.Seed(uint64(i)))
		}
	}
	for i, name := range s.AuxStates() {
		m.Aux[name] = nd.Uniform(0.5, 1, aux[i], nd.Seed(uint64(i)))
	}
	prefix := filepath.Join(t.TempDir(), "net")
	if err := m.Save(prefix, 3); err != nil {
		t.Fatal(err)
	}
	loaded, err := checkpoint.Load(prefix, 3)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestPredictorFromManyGoroutines(t *testing.T) {
	ctx := context.Background()
	model := saved(t, residual(), dtype.Shape{1, 16, 9, 9})
	p, err := predict.New(model, predict.Input("data", 1, 16, 9, 9), predict.InFlight(4))
	if err != nil {
		t.Fatal(err)
	}
	images, want := make([]*nd.Array, 6), make([][]float32, 6)
	for i := range images {
		// two batch sizes
		images[i] = nd.Uniform(-1, 1, nd.Shape{1 + i%2, 16, 9, 9}, nd.Seed(uint64(100+i)))
		want[i] = compute(t, p, images[i])
		if i > 1 && slices.Equal(want[i], want[i-2]) {
			t.Fatal("the output does not depend on the input")
		}
	}
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 12 {
				k := (g + i) % len(images)
				probs, err := p.Predict(ctx, images[k])
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := probs.Float32s(); err != nil || !slices.Equal(got, want[k]) {
					t.Errorf("goroutine %d, image %d: got %v %v, want %v", g, k, got, err, want[k])
				}
				probs.Close()
			}
		})
	}
	wg.Wait()
	p.Close()
	p.Close()
	if _, err := p.Predict(ctx, images[0]); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v from a closed predictor, want an error", err)
	}
}

func compute(t *testing.T, p *predict.Predictor, in *nd.Array) []float32 {
	t.Helper()
	probs, err := p.Predict(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	v, err := probs.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPredictorFollowsParameters checks that kept forms of parameters are made anew.
func TestPredictorFollowsParameters(t *testing.T) {
	model := saved(t, residual(), dtype.Shape{1, 16, 9, 9})
	other := saved(t, residual(), dtype.Shape{1, 16, 9, 9})
	other.Args["conv1_weight"] = nd.Uniform(-0.5, 0.5, other.Args["conv1_weight"].Shape(),
		nd.Seed(77))
	image := nd.Uniform(-1, 1, nd.Shape{1, 16, 9, 9}, nd.Seed(5))
	fresh := func(m *checkpoint.Model) []float32 {
		p, err := predict.New(m, predict.Input("data", 1, 16, 9, 9))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		return compute(t, p, image)
	}
	before, after := fresh(model), fresh(other)
	p, err := predict.New(model, predict.Input("data", 1, 16, 9, 9))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := compute(t, p, image); !slices.Equal(got, before) {
		t.Errorf("got %v, want %v", got, before)
	}
	if err := p.SetParams(map[string]*nd.Array{"conv1_weight": other.Args["conv1_weight"]},
		nil); err != nil {
		t.Fatal(err)
	}
	if got := compute(t, p, image); !slices.Equal(got, after) {
		t.Errorf("after SetParams: got %v, want %v", got, after)
	}
}

// TestPredictorMemory checks that Close gives the planned memory back.
func TestPredictorMemory(t *testing.T) {
	model := saved(t, residual(), dtype.Shape{1, 16, 9, 9})
	image := nd.Zeros(nd.Shape{1, 16, 9, 9})
	use := func() int64 { return device.Usage(device.CPU()).Used[device.PurposeArena] }
	before := use()
	p, err := predict.New(model, predict.Input("data", 1, 16, 9, 9), predict.InFlight(3))
	if err != nil {
		t.Fatal(err)
	}
	compute(t, p, image)
	one := use() - before
	p.Close()
	if after := use(); one <= 0 || after != before {
		t.Errorf("arenas take %d bytes during a run and %d after Close, want some and none", one,
			after-before)
	}
}

func TestPredictorErrors(t *testing.T) {
	model := saved(t, residual(), dtype.Shape{1, 16, 9, 9})
	data := predict.Input("data", 1, 16, 9, 9)
	for _, c := range []struct {
		name string
		make func() (*predict.Predictor, error)
		want string
	}{
		{"no input", func() (*predict.Predictor, error) { return predict.New(model) }, "no Input"},
		{"unknown input", func() (*predict.Predictor, error) {
			return predict.New(model, data, predict.Input("x", 1))
		}, `input "x"`},
		{"missing parameter", func() (*predict.Predictor, error) {
			m := *model
			m.Args = map[string]*nd.Array{}
			return predict.New(&m, data)
		}, `"conv0_weight"`},
		{"shape", func() (*predict.Predictor, error) {
			return predict.New(model, predict.Input("data", 1, 3, 9, 9))
		}, "conv0"},
	} {
		if _, err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	p, err := predict.New(model, data, predict.InFlight(1))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx := context.Background()
	if _, err := p.Predict(ctx); err == nil || !strings.Contains(err.Error(), "want 1") {
		t.Errorf("no array: got %v", err)
	}
	if _, err := p.Predict(ctx, nd.Zeros(nd.Shape{1, 5, 9, 9})); err == nil ||
		!strings.Contains(err.Error(), "conv0_weight") {
		t.Errorf("other channels: got %v, want an error that names the parameter", err)
	}
	if err := p.SetParams(map[string]*nd.Array{"data": nd.Zeros(nd.Shape{1})}, nil); err == nil ||
		!strings.Contains(err.Error(), `"data"`) {
		t.Errorf("SetParams of an input: got %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	for range 3 {
		if _, err := p.Predict(canceled, nd.Zeros(nd.Shape{1, 16, 9, 9})); !errors.Is(err,
			context.Canceled) {
			t.Errorf("a context that has ended: got %v", err)
		}
	}
	if got := compute(t, p, nd.Zeros(nd.Shape{1, 16, 9, 9})); len(got) != 10 {
		t.Errorf("after canceled calls: got %d values, want 10", len(got))
	}
}

func ExampleNew() {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("fc"))
	// or checkpoint.Load("resnet-50", 0)
	model := &checkpoint.Model{Symbol: sym.Softmax(net, sym.SoftmaxParams{}),
		Args: map[string]*nd.Array{"fc_weight": nd.FromSlice([]float32{1, 0, 0, 1}, 2, 2),
			"fc_bias": nd.Zeros(nd.Shape{2})}}
	p, err := predict.New(model, predict.Input("data", 1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	// any number of goroutines at once
	probs, err := p.Predict(context.Background(), nd.FromSlice([]float32{3, 3}, 1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, _ := probs.Float32s()
	fmt.Println(v)
	// Output: [0.5 0.5]
}
