package module_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/checkpoint"
	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// storeNet is a small network whose gradients are the same however samples are grouped.
func storeNet() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// storeData is an iterator over n samples in batches of 4, without what is left over.
func storeData(t *testing.T, n int) *dataio.Table { return samples(t, n, 4, dataio.Discard) }

// samples is an iterator over n samples.
func samples(t *testing.T, n, batch int, last dataio.LastBatch) *dataio.Table {
	t.Helper()
	x, y := make([]float32, n*5), make([]float32, n)
	for i := range x {
		x[i] = float32((i*7)%13)/6 - 1
	}
	for i := range y {
		y[i] = float32(i % 3)
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(x, n, 5)},
		Label:     []*nd.Array{nd.FromSlice(y)},
		BatchSize: batch, Shuffle: true, Seed: 3, LastBatch: last})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

var storeOptimizer = optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 1e-3}

// oneProcess trains as the workers of a job do together: it adds up the gradients of each round in
// the order of ranks. A worker without data adds nothing, nor does one to the gradient of a
// parameter that its network has not.
func oneProcess(t *testing.T, m *module.Module, epochs int,
	parts []dataio.Iter) map[string][]float32 {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(m.Bind(parts[0].ProvideData(), parts[0].ProvideLabel()))
	ok(m.InitParams(initializer.Xavier{}))
	o := storeOptimizer
	o.Rescale = 1 / float64(parts[0].BatchSize()*len(parts))
	ok(m.InitOptimizer(o))
	args, _ := m.Params()
	for range epochs {
		for _, p := range parts {
			ok(p.Reset())
		}
		for {
			sum, batches := map[string]*nd.Array{}, 0
			for name, a := range args {
				sum[name] = nd.Zeros(a.Shape())
			}
			for _, p := range parts {
				b, err := p.Next(t.Context())
				if err != nil {
					continue
				}
				batches++
				ok(m.ForwardBackward(b))
				for name, g := range m.Grads() {
					sum[name] = sum[name].Add(g)
				}
			}
			if batches == 0 {
				break
			}
			for i, name := range m.ParamNames() {
				ok(m.Updater().Update(i, args[name], sum[name]))
			}
		}
	}
	return floats(t, args)
}

func floats(t *testing.T, arrays map[string]*nd.Array) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for name, a := range arrays {
		v, err := a.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = v
	}
	return out
}

// fitter is a module, whatever its kind.
type fitter interface {
	Fit(ctx context.Context, train dataio.Iter, opts ...module.FitOption) error
	Params() (args, aux map[string]*nd.Array)
}

// tables returns a module and its data for every worker: all of them the same network.
func tables(data func(rank int) *dataio.Table) func(rank int) (fitter, dataio.Iter) {
	return func(rank int) (fitter, dataio.Iter) {
		// only worker 0's values count
		return module.New(storeNet(), module.Seed(uint64(5+rank))), data(rank)
	}
}

// fitJob trains as a job and returns the parameters of every worker.
func fitJob(t *testing.T, workers, epochs int, open func(rank int) (fitter, dataio.Iter),
	opts ...module.FitOption) []map[string][]float32 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
	var mu sync.Mutex
	out := make([]map[string][]float32, workers)
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		m, data := open(rank)
		all := slices.Concat([]module.FitOption{module.Epochs(epochs),
			module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer), module.Store("dist_sync")}, opts)
		if err := m.Fit(ctx, data, all...); err != nil {
			return err
		}
		args, _ := m.Params()
		mu.Lock()
		defer mu.Unlock()
		out[rank] = floats(t, args)
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return out
}

func compareParams(t *testing.T, got []map[string][]float32, want map[string][]float32) {
	t.Helper()
	for rank, params := range got {
		for name, w := range want {
			if !slices.Equal(params[name], w) {
				t.Errorf("worker %d: %s differs from that of one process", rank, name)
			}
		}
	}
}

// storeParts returns the parts of a data set that three workers have.
func storeParts(t *testing.T) (parts []dataio.Iter) {
	t.Helper()
	for rank := range 3 {
		p := storeData(t, 53)
		if err := p.Shard(rank, 3); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	return parts
}

// TestFitOnServers: three workers that share one data set do bit for bit what one process does that
// adds up their gradients.
func TestFitOnServers(t *testing.T) {
	parts := storeParts(t)
	want := oneProcess(t, module.New(storeNet(), module.Seed(5)), 3, parts)
	prefix := filepath.Join(t.TempDir(), "net")
	got := fitJob(t, 3, 3, tables(func(int) *dataio.Table { return storeData(t, 53) }),
		module.Checkpoint(prefix, module.WithStates()))
	compareParams(t, got, want)
	model, err := checkpoint.Load(prefix, 3)
	if err != nil {
		t.Fatal(err)
	}
	if saved := floats(t, model.Args); !slices.Equal(saved["fc1_weight"], want["fc1_weight"]) {
		t.Error("the checkpoint differs")
	}
	if states, err := checkpoint.LoadStates(checkpoint.StatesPath(prefix, 3)); err != nil ||
		len(states) != 4 {
		t.Errorf("%d states, %v, want 4", len(states), err)
	}
}

// TestFitWithUnequalData: workers that run out of data do not stop the others.
func TestFitWithUnequalData(t *testing.T) {
	open := func(rank int) *dataio.Table {
		it := storeData(t, 12+16*rank)
		if err := it.Shard(0, 1); err != nil { // it is this worker's share already
			t.Error(err)
		}
		return it
	}
	want := oneProcess(t, module.New(storeNet(), module.Seed(5)), 2, []dataio.Iter{open(0), open(1),
		open(2)})
	compareParams(t, fitJob(t, 3, 2, tables(open)), want)
}

func TestFitWithCompression(t *testing.T) {
	data := func(int) *dataio.Table { return storeData(t, 53) }
	got := fitJob(t, 2, 2, tables(data), module.Compress(compress.Method{Kind: compress.TwoBit,
		Threshold: 0.05}))
	compareParams(t, got[1:], got[0])
}

func TestFitWithOpenStore(t *testing.T) {
	kv, err := kvstore.Open(t.Context(), "device")
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Close()
	want := oneProcess(t, module.New(storeNet(), module.Seed(5)), 2,
		[]dataio.Iter{storeData(t, 53)})
	m := module.New(storeNet(), module.Seed(5))
	if err := m.Fit(t.Context(), storeData(t, 53), module.Epochs(2),
		module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer), module.StoreWith(kv)); err != nil {
		t.Fatal(err)
	}
	args, _ := m.Params()
	compareParams(t, []map[string][]float32{floats(t, args)}, want)
}

func TestStoreMistakes(t *testing.T) {
	m := module.New(storeNet())
	for _, name := range []string{"dist", "dist_sync"} {
		if err := m.Fit(t.Context(), storeData(t, 12), module.Store(name)); err == nil {
			t.Errorf("store %s without a job: no error", name)
		}
	}
	kv, err := kvstore.Open(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	if err := module.New(storeNet()).UseStore(t.Context(), kv); err == nil {
		t.Error("UseStore before InitParams: no error")
	}
	if err := kv.Close(); err != nil {
		t.Error(err)
	}
}

// TestSSPWithoutStalenessIsSync wants the parameters of dist_sync, bit for bit: the store sums,
// whatever its name.
func TestSSPWithoutStalenessIsSync(t *testing.T) {
	open := tables(func(int) *dataio.Table { return storeData(t, 53) })
	want := fitJob(t, 2, 2, open)
	compareParams(t, fitJob(t, 2, 2, open, module.Store("dist_ssp", kvstore.Staleness(0))), want[0])
}
