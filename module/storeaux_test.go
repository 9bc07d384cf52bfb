package module_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// auxNet is a network with a batch norm, whose moving averages are auxiliary states.
func auxNet() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("fc1"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// auxOracle trains the workers' batches in one process: parameters by the sums of gradients, each
// auxiliary state by the mean of what the batches make of it.
func auxOracle(t *testing.T, epochs int, parts []*dataio.Table) (args, aux map[string][]float32) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m := module.New(auxNet(), module.Seed(5))
	ok(m.Bind(parts[0].ProvideData(), parts[0].ProvideLabel()))
	ok(m.InitParams(initializer.Xavier{}))
	o := storeOptimizer
	o.Rescale = 1 / float64(4*len(parts))
	ok(m.InitOptimizer(o))
	params, states := m.Params()
	for range epochs {
		for _, p := range parts {
			ok(p.Reset())
		}
		for range parts[0].Batches() {
			before, change, sum := map[string]*nd.Array{}, map[string]*nd.Array{},
				map[string]*nd.Array{}
			for name, a := range states {
				before[name] = a.Copy()
			}
			add := func(to map[string]*nd.Array, name string, a *nd.Array) {
				if to[name] == nil {
					to[name] = a.Copy()
				} else {
					to[name].AddInPlace(a)
				}
			}
			for _, p := range parts {
				for name, a := range states {
					before[name].CopyInto(a)
				}
				b, err := p.Next(t.Context())
				ok(err)
				ok(m.ForwardBackward(b))
				for name, g := range m.Grads() {
					add(sum, name, g)
				}
				for name, a := range states {
					add(change, name, a.Sub(before[name]).MulScalar(1/float64(len(parts))))
				}
			}
			for name, a := range states {
				before[name].Add(change[name]).CopyInto(a)
			}
			for i, name := range m.ParamNames() {
				ok(m.Updater().Update(i, params[name], sum[name]))
			}
		}
	}
	return floats(t, params), floats(t, states)
}

// auxLife is one life of a worker.
type auxLife struct {
	args, aux map[string][]float32 // at its end
	begins    map[string][]float32 // auxiliary states when its first batch has ended
}

// lifetime is how many batches the worker that dies has trained on: it is in the second epoch then.
const lifetime = 7

var errDies = errors.New("dies")

// live trains as a worker, to the end, or until it dies after so many batches.
func live(ctx context.Context, t *testing.T, epochs, batches int) (life auxLife, err error) {
	t.Helper()
	kv, err := kvstore.Open(ctx, "dist_sync")
	if err != nil {
		return life, err
	}
	m := module.New(auxNet(), module.Seed(uint64(5+kv.Rank())))
	n := 0
	err = m.Fit(ctx, storeData(t, 53), module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer),
		module.StoreWith(kv), module.OnBatch(func(*module.BatchEnd) error {
			if n++; n == 1 {
				_, aux := m.Params()
				life.begins = floats(t, aux)
			}
			if n == batches {
				return errDies
			}
			return nil
		}))
	if err != nil {
		return life, err
	}
	args, aux := m.Params()
	life.args, life.aux = floats(t, args), floats(t, aux)
	return life, kv.Close()
}

// TestAuxStatesOfRestartedWorker lets a worker die in the middle of an epoch: who takes its place
// finds the job's moving averages, not those of an untrained network, and the job ends as if
// nothing had happened, bit for bit.
func TestAuxStatesOfRestartedWorker(t *testing.T) {
	const workers, epochs = 3, 3
	var parts []*dataio.Table
	for rank := range workers {
		p := storeData(t, 53)
		if err := p.Shard(rank, workers); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	args, aux := auxOracle(t, epochs, parts)
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			lives := auxJob(t, workers, epochs, dies)
			for rank, l := range lives {
				compareParams(t, []map[string][]float32{l.args}, args)
				for name, want := range aux {
					if !slices.Equal(l.aux[name], want) {
						t.Errorf("worker %d: %s is %v, want %v", rank, name, l.aux[name], want)
					}
				}
			}
			if !dies {
				return
			}
			// One batch moves an average by a tenth of the way from where an untrained network has
			// it.
			if v := lives[1].begins["bn_moving_var"]; slices.Max(v) > 0.95 {
				t.Errorf("after the first batch of the second life the moving variances are %v: "+
					"they have begun anew", v)
			}
		})
	}
}

// auxJob runs a job whose worker 1 dies once, and returns the last lives.
func auxJob(t *testing.T, workers, epochs int, dies bool) []auxLife {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2, Heartbeat: 50 *
		time.Millisecond, Dead: time.Second})
	var mu sync.Mutex
	lives := make([]auxLife, workers)
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		if rank == 1 && dies {
			if _, err := live(ctx, t, epochs, lifetime); !errors.Is(err, errDies) {
				return fmt.Errorf("got %w, want a death", err)
			}
			var err error
			if ctx, err = c.Again(ctx, rank); err != nil {
				return err
			}
		}
		l, err := live(ctx, t, epochs, -1)
		mu.Lock()
		defer mu.Unlock()
		lives[rank] = l
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return lives
}
