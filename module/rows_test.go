package module_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gomx/checkpoint"
	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// Sizes of the networks with tables.
const (
	tableRows  = 60
	tableWords = 3 // numbers of a sample
)

// wordNet looks words up in a dense table whose gradient is row_sparse.
func wordNet(units int) *sym.Symbol {
	x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: tableRows, OutputDim: units,
		SparseGrad: true}, sym.Name("words"))
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// wordData is an iterator over n samples of words.
func wordData(t *testing.T, n int) *dataio.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	x, y := make([]float32, n*tableWords), make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(1 + r.IntN(tableRows))) // small numbers are frequent
	}
	for i := range y {
		y[i] = float32(r.IntN(3))
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data: []*nd.Array{nd.FromSlice(x, n, tableWords)}, Label: []*nd.Array{nd.FromSlice(y)},
		BatchSize: 4, Shuffle: true, Seed: 3, LastBatch: dataio.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// factorNet is a factorization machine with weights and factors that are row_sparse.
func factorNet(features, rank int) *sym.Symbol {
	x := sym.Var("data", sym.StorageType(sym.StorageCSR))
	stored := sym.StorageType(sym.StorageRowSparse)
	w := sym.Var("weight", sym.Shape(features, 1), stored)
	v := sym.Var("factors", sym.Shape(features, rank), stored)
	dot := func(a, b *sym.Symbol) *sym.Symbol { return sym.Dot(a, b, sym.DotParams{}) }
	pairs := sym.ElemwiseSub(sym.Square(dot(x, v)), dot(sym.Square(x), sym.Square(v)))
	pairs = sym.Sum(pairs, sym.ReduceParams{Axis: []int{1}, KeepDims: true})
	y := sym.ElemwiseAdd(sym.BroadcastAdd(dot(x, w), sym.Var("bias", sym.Shape(1, 1))),
		sym.MulScalar(pairs, sym.ScalarParams{Scalar: 0.5}))
	return sym.LogisticRegressionOutput(y, sym.RegressionParams{},
		sym.With("label", sym.Var("label")))
}

// factorData is an iterator over n sparse samples.
func factorData(t *testing.T, n, features int) *dataio.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 10))
	var values []float32
	var rows, columns []int
	y := make([]float32, n)
	for i := range n {
		for range tableWords {
			k := r.IntN(1 + r.IntN(features))
			values, rows, columns = append(values, 1), append(rows, i), append(columns, k)
		}
		y[i] = float32(r.IntN(2))
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:       []*nd.Array{nd.CSRFromCOO(values, rows, columns, nd.Shape{n, features})},
		Label:      []*nd.Array{nd.FromSlice(y, n, 1)},
		LabelNames: []string{"label"}, BatchSize: 4, Shuffle: true, Seed: 3, LastBatch: dataio.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// linearNet is a linear model whose weights are row_sparse.
func linearNet(features, outputs int) *sym.Symbol {
	w := sym.Var("weight", sym.Shape(features, outputs), sym.StorageType(sym.StorageRowSparse))
	y := sym.Dot(sym.Var("data", sym.StorageType(sym.StorageCSR)), w, sym.DotParams{})
	return sym.LogisticRegressionOutput(sym.Sum(y, sym.ReduceParams{Axis: []int{1}, KeepDims: true}),
		sym.RegressionParams{}, sym.With("label", sym.Var("label")))
}

// rowTask is a network with data and an optimizer.
type rowTask struct {
	net  func() *sym.Symbol
	data func(t *testing.T) *dataio.Table
	o    optimizer.SGD
}

func rowTasks() map[string]rowTask {
	words := func(t *testing.T) *dataio.Table { return wordData(t, 53) }
	factors := func(t *testing.T) *dataio.Table { return factorData(t, 53, 50) }
	return map[string]rowTask{
		"dense table": {func() *sym.Symbol { return wordNet(4) }, words, storeOptimizer},
		"wide rows":   {func() *sym.Symbol { return wordNet(16384) }, words, storeOptimizer},
		"linear":      {func() *sym.Symbol { return linearNet(50, 16384) }, factors, storeOptimizer},
		// The gradient of the factors of one process stores zeros in the rows that the batch does
		// not have: they have no effect without momentum.
		"factors":      {func() *sym.Symbol { return factorNet(50, 3) }, factors, optimizer.SGD{LR: 0.1}},
		"wide factors": {func() *sym.Symbol { return factorNet(50, 16384) }, factors, optimizer.SGD{LR: 1e-3}},
	}
}

// alone trains in one process as the workers of a job do together: the row_sparse gradients of a
// round are added up in the order of ranks.
func alone(t *testing.T, task rowTask, workers, epochs int) map[string][]float32 {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var parts []*dataio.Table
	for rank := range workers {
		p := task.data(t)
		ok(p.Shard(rank, workers))
		parts = append(parts, p)
	}
	m := module.New(task.net(), module.Seed(5))
	ok(m.Bind(parts[0].ProvideData(), parts[0].ProvideLabel()))
	ok(m.InitParams(initializer.Uniform{Scale: 0.5}))
	o := task.o
	o.Rescale = 1 / float64(4*workers)
	ok(m.InitOptimizer(o))
	args, _ := m.Params()
	for range epochs {
		for _, p := range parts {
			ok(p.Reset())
		}
		for {
			sum := map[string]*nd.Array{}
			for _, p := range parts {
				b, err := p.Next(t.Context())
				if err != nil {
					continue
				}
				ok(m.ForwardBackward(b))
				for name, g := range m.Grads() {
					if sum[name] == nil {
						sum[name] = g.Copy()
					} else {
						sum[name] = sum[name].Add(g)
					}
				}
			}
			if len(sum) == 0 {
				break
			}
			for i, name := range m.ParamNames() {
				ok(m.Updater().Update(i, args[name], sum[name]))
			}
		}
	}
	return floats(t, args)
}

// TestRowsOnServers: three workers that pull the rows of their batches do bit for bit what one
// process does, with momentum and weight decay of the rows with gradients. The checkpoint has all
// rows.
func TestRowsOnServers(t *testing.T) {
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	for name, task := range rowTasks() {
		t.Run(name, func(t *testing.T) {
			want := alone(t, task, 3, 2)
			prefix := filepath.Join(t.TempDir(), "net")
			got := fitJob(t, 3, 2, func(rank int) (fitter, dataio.Iter) {
				return module.New(task.net(), module.Seed(uint64(5+rank))), task.data(t)
			}, module.Init(initializer.Uniform{Scale: 0.5}), module.Checkpoint(prefix),
				module.Optimize(task.o), module.Metric(unmeasured{}))
			compareParams(t, got, want)
			model, err := checkpoint.Load(prefix, 2)
			if err != nil {
				t.Fatal(err)
			}
			compareParams(t, []map[string][]float32{floats(t, model.Args)}, want)
		})
	}
	for _, n := range notices {
		if strings.Contains(n, "store") {
			t.Errorf("notice %q", n)
		}
	}
}

// TestRowStates: a job saves parameters and states of rows after an epoch, and another job goes on
// from them.
func TestRowStates(t *testing.T) {
	for _, name := range []string{"dense table", "linear"} {
		t.Run(name, func(t *testing.T) {
			task := rowTasks()[name]
			prefix := filepath.Join(t.TempDir(), "net")
			open := func(int) (fitter, dataio.Iter) {
				return module.New(task.net(), module.Seed(5)), task.data(t)
			}
			options := []module.FitOption{module.Init(initializer.Uniform{Scale: 0.5}),
				module.Optimize(task.o), module.Metric(unmeasured{})}
			fitJob(t, 2, 1, open, append(options, module.Checkpoint(prefix, module.WithStates()))...)
			got := fitJob(t, 2, 2, func(int) (fitter, dataio.Iter) {
				m, err := module.Load(prefix, 1)
				if err != nil {
					t.Error(err)
				}
				it := task.data(t)
				err = errors.Join(m.Bind(it.ProvideData(), it.ProvideLabel()), m.InitParams(nil),
					m.InitOptimizer(task.o), m.LoadStates(checkpoint.StatesPath(prefix, 1)))
				if err != nil {
					t.Error(err)
				}
				return m, it
			}, append(options, module.BeginEpoch(1))...)
			compareParams(t, got, alone(t, task, 2, 2))
		})
	}
}

// TestRowsAhead: a worker without rounds pulls rows ahead of the present batch's push, and does bit
// for bit what a process without a store does.
func TestRowsAhead(t *testing.T) {
	for _, store := range []module.FitOption{module.Store("dist_async"),
		module.Store("dist_ssp", kvstore.Staleness(2))} {
		for name, task := range rowTasks() {
			t.Run(name, func(t *testing.T) {
				want := alone(t, task, 1, 2)
				got := fitJob(t, 1, 2, func(int) (fitter, dataio.Iter) {
					return module.New(task.net(), module.Seed(5)), task.data(t)
				}, module.Init(initializer.Uniform{Scale: 0.5}), store,
					module.Optimize(task.o), module.Metric(unmeasured{}))
				compareParams(t, got, want)
			})
		}
	}
}

// TestRowsInOwnStore: the store of one process keeps rows of row_sparse weights, and makes the rows
// that training does not touch like a module without a store. An optimizer that changes all rows
// gets them all.
func TestRowsInOwnStore(t *testing.T) {
	for _, name := range []string{"linear", "factors", "all rows"} {
		t.Run(name, func(t *testing.T) {
			task := rowTasks()[name]
			if name == "all rows" {
				task = rowTasks()["linear"]
				task.o.NoLazyUpdate = true
			}
			kv, err := kvstore.Open(t.Context(), "local")
			if err != nil {
				t.Fatal(err)
			}
			defer kv.Close()
			m := module.New(task.net(), module.Seed(5))
			err = m.Fit(t.Context(), task.data(t), module.Epochs(2), module.StoreWith(kv),
				module.Init(initializer.Uniform{Scale: 0.5}), module.Optimize(task.o),
				module.Metric(unmeasured{}))
			if err != nil {
				t.Fatal(err)
			}
			args, _ := m.Params()
			compareParams(t, []map[string][]float32{floats(t, args)}, alone(t, task, 1, 2))
		})
	}
}

// TestLargeTableInOwnStore trains tables of 2^37 bytes with a store of one process, which holds the
// rows that gradients have touched.
func TestLargeTableInOwnStore(t *testing.T) {
	const features, samples = 1 << 31, 40
	before := resident(t)
	kv, err := kvstore.Open(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Close()
	m := module.New(factorNet(features, 16))
	err = m.Fit(t.Context(), factorData(t, samples, features), module.Epochs(2),
		module.StoreWith(kv), module.Init(initializer.Normal{Sigma: 0.1}),
		module.Optimize(optimizer.AdaGrad{LR: 0.1}), module.Metric(unmeasured{}))
	if err != nil {
		t.Fatal(err)
	}
	states, err := kv.OptimizerStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, s := range states {
		for _, a := range s.Arrays {
			if a.Storage() != nd.RowSparse {
				continue
			}
			tables++
			n, err := a.NNZ()
			if err != nil {
				t.Fatal(err)
			}
			if rows := n / a.Shape()[1:].Size(); rows < samples || rows > samples*tableWords {
				t.Errorf("states of %s have %d rows, want those of %d features", s.Key, rows,
					samples*tableWords)
			}
		}
	}
	if used := resident(t) - before; used > 500<<20 || tables != 2 {
		t.Errorf("%d MiB, %d tables with rows, want less than 500 MiB and 2", used>>20, tables)
	}
}

// resident returns the resident memory of this process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestTableLargerThanMemory trains a table of 2^37 bytes, of which neither workers nor servers hold
// more than the rows of their batches.
func TestTableLargerThanMemory(t *testing.T) {
	const features, rank = 1 << 31, 16
	before := resident(t)
	got := make([]float64, 2)
	var mu sync.Mutex
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2})
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		m := module.New(factorNet(features, 16))
		steps := 0
		err := m.Fit(ctx, factorData(t, 40, features), module.Epochs(2), module.Store("dist_sync"),
			module.Init(initializer.Normal{Sigma: 0.1}), module.Optimize(optimizer.AdaGrad{LR: 0.1}),
			module.Metric(unmeasured{}), module.OnBatch(func(*module.BatchEnd) error {
				steps++
				return nil
			}))
		if err != nil {
			return err
		}
		if err := m.Save(filepath.Join(t.TempDir(), "net"), 1); err == nil ||
			!strings.Contains(err.Error(), `"factors", "weight"`) &&
				!strings.Contains(err.Error(), `"weight", "factors"`) {
			return fmt.Errorf("saving a part of the rows: %v, want the names of the tables", err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[rank] = float64(steps)
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	if used := resident(t) - before; used > 500<<20 || !slices.Equal(got, []float64{10, 10}) {
		t.Errorf("%d MiB for %v steps, want less than 500 MiB for 10", used>>20, got)
	}
}

// TestLargeTableOfZeros: after a job a module has the rows that gradients have touched, of a table
// that is larger than the memory and begins with zeros, with the values of one process.
func TestLargeTableOfZeros(t *testing.T) {
	const features = 1 << 31
	task := func(ctx context.Context, opts ...module.FitOption) (ids []int64, v []float32, err error) {
		m := module.New(linearNet(features, 1))
		err = m.Fit(ctx, factorData(t, 40, features), append(opts, module.Epochs(2),
			module.Init(initializer.Zero{}), module.Metric(unmeasured{}),
			module.Optimize(optimizer.SGD{LR: 0.5, Momentum: 0.9}))...)
		if err != nil {
			return nil, nil, err
		}
		prefix := filepath.Join(t.TempDir(), "net")
		if err := m.Save(prefix, 1); err != nil {
			return nil, nil, err
		}
		saved, err := checkpoint.Load(prefix, 1)
		if err != nil {
			return nil, nil, err
		}
		w, err := saved.Args["weight"].Content()
		if err != nil {
			return nil, nil, err
		}
		return w.Indices, op.Slice[float32](w.Values()), nil
	}
	ids, want, err := task(t.Context())
	if err != nil || len(ids) == 0 {
		t.Fatal(len(ids), err)
	}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
	err = c.Work(t.Context(), func(ctx context.Context, _ int) error {
		rows, got, err := task(ctx, module.Store("dist_sync"))
		if err == nil && (!slices.Equal(rows, ids) || !slices.Equal(got, want)) {
			err = fmt.Errorf("%d rows of the job differ from %d of one process", len(rows), len(ids))
		}
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
}

// unmeasured is a metric without scores.
type unmeasured struct{}

func (unmeasured) Update(_, _ []*nd.Array) error { return nil }
func (unmeasured) Value() ([]string, []float64)  { return nil, nil }
func (unmeasured) Reset()                        {}

// TestRowIDs: a network reads all rows of a table, and the program says which ones matter. Without
// that a row_sparse table is refused, and a dense one is kept as a whole.
func TestRowIDs(t *testing.T) {
	net := func(stored sym.Storage) *sym.Symbol {
		w := sym.Var("weight", sym.Shape(50, 1), sym.StorageType(stored))
		y := sym.Dot(sym.Var("data", sym.StorageType(sym.StorageCSR)), w, sym.DotParams{})
		loss := sym.LogisticRegressionOutput(y, sym.RegressionParams{},
			sym.With("label", sym.Var("label")))
		return sym.Group(loss, sym.BlockGrad(sym.Sum(w, sym.ReduceParams{})))
	}
	data := func() *dataio.Table { return factorData(t, 24, 50) }
	fit := func(m *module.Module) error {
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
		err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
			return m.Fit(ctx, data(), module.Store("dist_sync"), module.Metric(unmeasured{}),
				module.Optimize(optimizer.SGD{LR: 0.5}), module.Init(initializer.Zero{}))
		})
		return errors.Join(err, c.Wait())
	}
	if err := fit(module.New(net(sym.StorageRowSparse))); err == nil ||
		!strings.Contains(err.Error(), "module.RowIDs") {
		t.Errorf("a row_sparse table that is read as a whole: %v, want the way out", err)
	}
	asked := 0
	m := module.New(net(sym.StorageRowSparse), module.RowIDs(
		func(b *dataio.Batch) (map[string]*nd.Array, error) {
			asked++
			columns, err := b.Data[0].Indices()
			return map[string]*nd.Array{"weight": nd.FromSlice(columns)}, err
		}))
	dense := module.New(net(sym.StorageDefault))
	if err := errors.Join(fit(m), fit(dense)); err != nil {
		t.Fatal(err)
	}
	a, _ := m.Params()
	b, _ := dense.Params()
	got, want := floats(t, a)["weight"], floats(t, b)["weight"]
	if !slices.Equal(got, want) || asked < 6 || math.Abs(float64(want[0])) == 0 {
		t.Errorf("asked %d times, weights %v, want %v", asked, got, want)
	}
}
