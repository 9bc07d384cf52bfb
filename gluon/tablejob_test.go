package gluon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// factors is a factorization machine whose weights are row_sparse, or dense with such gradients.
type factors struct{ Weight, Factors *gluon.Param }

// newFactors returns a network of factors.
func newFactors(t *testing.T, features int, stored nd.Storage) *gluon.Net {
	param := func(units int) *gluon.Param {
		return gluon.NewParam(gluon.Spec{Shape: nd.Shape{features, units}, Storage: stored,
			GradStorage: nd.RowSparse, Init: initializer.Normal{Sigma: 0.1}})
	}
	net := gluon.New(&factors{param(1), param(16)})
	if err := net.Init(nil, gluon.Seed(5)); err != nil {
		t.Error(err)
	}
	return net
}

// Forward returns the square of the score of each sample, a row of a csr matrix.
func (f *factors) Forward(x *nd.Array) *nd.Array {
	w, v := f.Weight.Rows(x, x), f.Factors.Rows(x, x)
	dot := func(a, b *nd.Array) *nd.Array { return nd.Dot(a, b, nd.DotParams{}) }
	pairs := nd.Square(dot(x, v)).Sub(dot(nd.Square(x), nd.Square(v))).Sum(1)
	return nd.Square(dot(x, w).Sum(1).Add(pairs.MulScalar(0.5)))
}

// featureBatches are n batches of 4 samples with 3 of the features each, for each worker.
func featureBatches(workers, n, features int) [][]*nd.Array {
	r := rand.New(rand.NewPCG(3, 4))
	list := make([][]*nd.Array, workers)
	for i := range list {
		for range n {
			var values []float32
			var rows, columns []int
			for k := range 12 {
				values, rows = append(values, 1), append(rows, k/3)
				columns = append(columns, r.IntN(1+r.IntN(features)))
			}
			list[i] = append(list[i], nd.CSRFromCOO(values, rows, columns, nd.Shape{4, features}))
		}
	}
	return list
}

// tableTask is a network of which each parameter is row_sparse or dense with row_sparse gradients.
type tableTask struct {
	net     func(t *testing.T, stored nd.Storage) *gluon.Net
	batches [][]*nd.Array
	o       optimizer.SGD
}

// tableTasks are tasks for two workers.
func tableTasks() map[string]tableTask {
	words := func(t *testing.T, stored nd.Storage) *gluon.Net {
		net := gluon.New(&wordModel{&nn.Embedding{Rows: 60, Units: 4, SparseGrad: true,
			SparseWeight: stored == nd.RowSparse, WeightInit: initializer.Uniform{Scale: 0.3}}})
		if err := net.Init(nil, gluon.Seed(5)); err != nil {
			t.Error(err)
		}
		return net
	}
	tied := func(t *testing.T, stored nd.Storage) *gluon.Net {
		net := gluon.New(&tiedModel{&nn.Embedding{Rows: 60, Units: 4, SparseGrad: true,
			SparseWeight: stored == nd.RowSparse, WeightInit: initializer.Uniform{Scale: 0.3}}})
		if err := net.Init(nil, gluon.Seed(5)); err != nil {
			t.Error(err)
		}
		return net
	}
	twice := func(t *testing.T, stored nd.Storage) *gluon.Net {
		spec := gluon.Spec{Shape: nd.Shape{50, 2}, Storage: stored, GradStorage: nd.RowSparse,
			Init: initializer.Uniform{Scale: 0.3}}
		net := gluon.New(&twiceModel{gluon.NewParam(spec), featureBatches(1, 1, 50)[0][0]})
		if err := net.Init(nil); err != nil {
			t.Error(err)
		}
		return net
	}
	o := optimizer.SGD{LR: 0.01, Momentum: 0.9, WD: 0.01}
	return map[string]tableTask{
		"words": {words, wordBatches(2, 5), o},
		"tied":  {tied, wordBatches(2, 5), o},
		"twice": {twice, featureBatches(2, 5, 50), optimizer.SGD{LR: 0.01}},
		// The gradient of the factors of one process stores zeros in rows that a batch does not
		// have: they have no effect without momentum.
		"factors": {func(t *testing.T, stored nd.Storage) *gluon.Net {
			return newFactors(t, 50, stored)
		}, featureBatches(2, 5, 50), optimizer.SGD{LR: 0.01}},
	}
}

// tiedModel looks words and their neighbours up in one table.
type tiedModel struct{ Table *nn.Embedding }

func (m *tiedModel) Forward(x *nd.Array) *nd.Array {
	return nd.Square(m.Table.Forward(x).Mul(m.Table.Forward(x.AddScalar(1))).Sum(1)).Sum(1)
}

// twiceModel reads rows of a table for its data, and then other rows. The gradient of the square
// reads the rows again.
type twiceModel struct {
	Weight *gluon.Param
	other  *nd.Array
}

func (m *twiceModel) Forward(x *nd.Array) *nd.Array {
	score := func(a *nd.Array) *nd.Array {
		return nd.Dot(a, nd.Square(m.Weight.Rows(x, a)), nd.DotParams{})
	}
	return score(x).Mul(score(m.other)).Sum(1)
}

// contents reads all rows of the parameters of a network.
func contents(net *gluon.Net) (map[string][]float32, error) {
	out := map[string][]float32{}
	for name, p := range net.Params().All() {
		a := p.Data()
		if p.Storage == nd.RowSparse {
			var err error
			if a, err = p.RowSparseData(nd.Arange(0, float64(p.Shape[0]), 1)); err != nil {
				return nil, err
			}
		}
		v, err := a.ToStorage(nd.Dense).Float32s()
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// alone trains dense parameters that begin with the values of row_sparse ones, in one process that
// adds up the gradients of the workers in the order of their ranks.
func (task tableTask) alone(t *testing.T, workers int) map[string][]float32 {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	begin, err := contents(task.net(t, nd.RowSparse))
	must(err)
	net := task.net(t, nd.Dense)
	for name, p := range net.Params().All() {
		must(p.Set(nd.FromSlice(begin[name], p.Shape...)))
	}
	o := task.o
	o.Rescale = 1 / float64(4*workers)
	u, err := optimizer.NewUpdater(o, nil)
	must(err)
	for step := range task.batches[0] {
		sum := map[string]*nd.Array{}
		for rank := range workers {
			net.Forward(autograd.Train().Watch(task.batches[rank][step])).Backward()
			for name, p := range net.Params().All() {
				if sum[name] == nil {
					sum[name] = p.Grad().Copy()
				} else {
					sum[name] = sum[name].Add(p.Grad())
				}
			}
		}
		for i, name := range net.Params().Names() {
			must(u.Update(i, net.Params().Get(name).Data(), sum[name]))
		}
	}
	out, err := contents(net)
	must(err)
	return out
}

// train trains row_sparse parameters by a Trainer, and returns all rows before and after Close.
func (task tableTask) train(t *testing.T, rank, workers int, hybrid bool,
	opts ...gluon.TrainerOption) (before, after map[string][]float32, err error) {
	net := task.net(t, nd.RowSparse)
	if hybrid {
		net.Hybridize()
	}
	trainer, err := gluon.NewTrainer(net.Params(), task.o, opts...)
	if err != nil {
		return nil, nil, err
	}
	defer trainer.Close()
	for _, x := range task.batches[rank] {
		net.Forward(autograd.Train().Watch(x)).Backward()
		if err := trainer.Step(4 * workers); err != nil {
			return nil, nil, err
		}
	}
	if before, err = contents(net); err != nil {
		return nil, nil, err
	}
	if err := trainer.Close(); err != nil {
		return nil, nil, err
	}
	after, err = contents(net)
	return before, after, err
}

// compare reports parameters with other values than wanted.
func compare(t *testing.T, what string, got, want map[string][]float32) {
	t.Helper()
	for name, v := range want {
		if !slices.Equal(got[name], v) {
			t.Errorf("%s: %s has other values than one process", what, name)
		}
	}
}

// TestTableStores: row_sparse parameters train bit for bit like dense ones with the same values:
// without a store, in stores of one process, and with the rows on the servers of a job, of one or
// two workers, hybridized too.
func TestTableStores(t *testing.T) {
	for name, task := range tableTasks() {
		t.Run(name, func(t *testing.T) {
			want, both := task.alone(t, 1), task.alone(t, 2)
			kv, err := kvstore.Open(t.Context(), "local")
			if err != nil {
				t.Fatal(err)
			}
			defer kv.Close()
			// This key is key 0 of the store: the tables get other numbers than in a job.
			if err := kv.Init(t.Context(), "another", nd.Zeros(nd.Shape{1})); err != nil {
				t.Fatal(err)
			}
			for i, opts := range [][]gluon.TrainerOption{nil,
				{gluon.Store("local"), gluon.UpdateOnStore(true)},
				{gluon.StoreWith(kv), gluon.UpdateOnStore(true)}} {
				before, after, err := task.train(t, 0, 1, i == 1, opts...)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, fmt.Sprintf("store %d before Close", i), before, want)
				compare(t, fmt.Sprintf("store %d after Close", i), after, want)
			}
			for _, store := range []string{"dist_sync", "dist_async", "dist_ssp"} {
				for _, hybrid := range []bool{false, true} {
					workers := 2 // without a staleness dist_ssp has rounds, too
					if store == "dist_async" {
						workers = 1
					}
					c := cluster.Start(cluster.Config{Workers: workers, Servers: 1})
					err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
						before, after, err := task.train(t, rank, workers, hybrid,
							gluon.Store(store), gluon.InJob(ctx))
						expect := want
						if workers == 2 {
							expect = both
						}
						what := fmt.Sprintf("%s, worker %d, hybrid %v", store, rank, hybrid)
						if err == nil {
							compare(t, what+" before Close", before, expect)
							compare(t, what+" after Close", after, expect)
						}
						return err
					})
					if err := errors.Join(err, c.Wait()); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestTableBeforeStore: rows that have been trained before a trainer opens its store keep their
// values in the store, beside the rows that begin there.
func TestTableBeforeStore(t *testing.T) {
	task := tableTasks()["words"]
	task.o = optimizer.SGD{LR: 0.01}
	want := func() map[string][]float32 {
		both := task
		both.batches = [][]*nd.Array{slices.Concat(task.batches[0], task.batches[1])}
		return both.alone(t, 1)
	}()
	train := func(opts ...gluon.TrainerOption) error {
		net := task.net(t, nd.RowSparse)
		for i, batches := range task.batches {
			var now []gluon.TrainerOption
			if i == 1 {
				now = opts
			}
			trainer, err := gluon.NewTrainer(net.Params(), task.o, now...)
			if err != nil {
				return err
			}
			defer trainer.Close()
			for _, x := range batches {
				net.Forward(autograd.Train().Watch(x)).Backward()
				if err := trainer.Step(4); err != nil {
					return err
				}
			}
		}
		got, err := contents(net)
		compare(t, "rows in two stores", got, want)
		return err
	}
	if err := train(gluon.Store("local"), gluon.UpdateOnStore(true)); err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
	err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
		return train(gluon.Store("dist_sync"), gluon.InJob(ctx))
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
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

// TestTableLargerThanMemory trains tables of 2^31 rows of 16 floats, 2^37 bytes, without a store,
// with a store of one process, and in a job. No process holds more than the rows of its batches.
func TestTableLargerThanMemory(t *testing.T) {
	const features, steps = 1 << 31, 8
	batches := featureBatches(2, steps, features)
	before := resident(t)
	train := func(rank int, opts ...gluon.TrainerOption) (*gluon.Net, *gluon.Trainer, error) {
		net := newFactors(t, features, nd.RowSparse)
		trainer, err := gluon.NewTrainer(net.Params(), optimizer.AdaGrad{LR: 0.1}, opts...)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range batches[rank] {
			net.Forward(autograd.Train().Watch(x)).Backward()
			if err := trainer.Step(4); err != nil {
				return nil, trainer, err
			}
		}
		return net, trainer, nil
	}
	probe := nd.FromSlice([]int64{7, features - 1})
	var rows [][]float32
	var mu sync.Mutex
	read := func(net *gluon.Net) error {
		a, err := net.Params().Get("factors").RowSparseData(probe)
		if err != nil {
			return err
		}
		d, err := a.Data()
		if err != nil {
			return err
		}
		v, err := d.Float32s()
		mu.Lock()
		defer mu.Unlock()
		rows = append(rows, v)
		return err
	}
	for _, opts := range [][]gluon.TrainerOption{nil, {gluon.Store("local"),
		gluon.UpdateOnStore(true)}} {
		net, trainer, err := train(0, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(read(net), trainer.Close(), read(net)); err != nil {
			t.Fatal(err)
		}
		net.Forward(batches[0][0])
	}
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 1})
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		net, trainer, err := train(rank, gluon.Store("dist_sync"), gluon.InJob(ctx))
		if trainer != nil {
			defer trainer.Close()
		}
		if err != nil {
			return err
		}
		path := filepath.Join(t.TempDir(), "net.params")
		saving := net.Save(path)
		if err := errors.Join(read(net), net.Save(path, gluon.HeldRows())); err != nil {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := errors.Join(trainer.Close(), read(net), net.Save(path, gluon.HeldRows())); err != nil {
			return err
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("worker %d: %v, the rows of the servers differ from those after Close", rank, err)
		}
		for _, err := range []error{saving, net.Save(path)} {
			if err == nil || !strings.Contains(err.Error(), "gluon.HeldRows") {
				t.Errorf("worker %d: saving all rows: %v, want the way out", rank, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	for i, v := range rows {
		if !slices.Equal(v, rows[0]) || len(v) != 32 || v[0] == 0 || v[16] == v[0] {
			t.Errorf("read %d: untouched rows are %v, want %v", i, v, rows[0])
		}
	}
	if used := resident(t) - before; used > 500<<20 {
		t.Errorf("%d MiB, want less than 500 MiB", used>>20)
	}
}

// TestTableHybrid: a hybridized network that looks rows of a row_sparse table up is compiled, also
// where it looks them up twice, and returns the same bits as the network that runs line by line. The
// graph serves rows that have no memory when it is compiled.
func TestTableHybrid(t *testing.T) {
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	for name, make := range map[string]func() *gluon.Net{
		"once": func() *gluon.Net { return tableNet(t, true, nil) },
		"twice, without gradient": func() *gluon.Net {
			net := gluon.New(&tiedModel{&nn.Embedding{Rows: tableWords, Units: 4,
				SparseWeight: true}})
			if err := net.Init(nil); err != nil {
				t.Fatal(err)
			}
			net.Params().SetGradReq(nd.GradNull)
			return net
		},
	} {
		plain, compiled := make(), make()
		compiled.Hybridize(gluon.NoFusion())
		var trainers []*gluon.Trainer
		for _, net := range []*gluon.Net{plain, compiled} {
			trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.1})
			if err != nil {
				t.Fatal(err)
			}
			trainers = append(trainers, trainer)
		}
		for step := range 6 {
			x := nd.FromSlice([]float32{float32(step), float32(3 * step), 7}).Reshape(3, 1)
			var got [][]float32
			for i, net := range []*gluon.Net{plain, compiled} {
				y := net.Forward(autograd.Train().Watch(x))
				got = append(got, floats(t, y))
				if name == "once" {
					y.Square().Sum().Backward()
					if err := trainers[i].Step(3); err != nil {
						t.Fatal(err)
					}
				}
				got = append(got, floats(t, net.Forward(x.AddScalar(1))))
			}
			if !slices.Equal(got[0], got[2]) || !slices.Equal(got[1], got[3]) {
				t.Fatalf("%s: step %d: %v, want %v", name, step, got[2:], got[:2])
			}
		}
		a, err := contents(plain)
		if err != nil {
			t.Fatal(err)
		}
		b, err := contents(compiled)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, name, b, a)
		if gluon.Calls(compiled) == 0 {
			t.Errorf("%s: the network has not been compiled", name)
		}
	}
	if len(notices) != 0 {
		t.Errorf("notices %q, want none", notices)
	}
}
