package module_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	"gomx/op"
	"gomx/op/loop"
	sym "gomx/symbol"
)

// counter is an operator that passes data on and counts the batches it was trained on in an
// auxiliary state of integers.
var counter = op.Declare[op.NoParams]("_test_counter")

func init() {
	counter.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Mutates: []int{1}},
		Inputs: func(op.NoParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "batches", Role: op.Aux, Init: `["zero", {}]`}}
		},
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			if err := op.Require("batches", &in[1], dtype.Shape{1}); err != nil {
				return err
			}
			return op.Same("output", &in[0], &out[0])
		},
		InferType: func(_ op.NoParams, in, out []dtype.Type) error {
			in[0], in[1], out[0] = dtype.Float32, dtype.Int32, dtype.Float32
			return nil
		},
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry { return []op.Entry{g.Head(0), {}} },
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			if c.Train {
				n := loop.Floats(c.In[1])
				n[0]++
				loop.Store(c.In[1], 0, n)
			}
			return nil
		},
	})
}

// countNet is a network with such a state.
func countNet() *sym.Symbol {
	x := sym.ApplyWith(counter, op.NoParams{}, []sym.Option{sym.Name("count")}, sym.Var("data"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// TestCountsOfAJob wants a state that counts to have the count of all workers' batches, also with a
// worker that has taken the place of one which died in the middle.
func TestCountsOfAJob(t *testing.T) {
	const workers, epochs = 3, 3
	data := storeData(t, 53)
	if err := data.Shard(0, workers); err != nil {
		t.Fatal(err)
	}
	each := epochs * data.Batches()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
			var mu sync.Mutex
			counts := make([]float32, workers)
			err := c.Work(ctx, func(ctx context.Context, rank int) error {
				if rank == 1 && dies {
					if _, err := count(ctx, storeData(t, 53), epochs, lifetime); !errors.Is(err,
						errDies) {
						return fmt.Errorf("got %w, want a death", err)
					}
					var err error
					if ctx, err = c.Again(ctx, rank); err != nil {
						return err
					}
				}
				n, err := count(ctx, storeData(t, 53), epochs, -1)
				mu.Lock()
				defer mu.Unlock()
				counts[rank] = n
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
			for rank, n := range counts {
				if n != float32(workers*each) {
					t.Errorf("worker %d counts %v batches, want those of all: %d", rank, n,
						workers*each)
				}
			}
		})
	}
}

// count trains as a worker, to the end or until it dies after so many batches, and returns the
// count.
func count(ctx context.Context, data dataio.Iter, epochs, dies int) (float32, error) {
	kv, err := kvstore.Open(ctx, "dist_sync")
	if err != nil {
		return 0, err
	}
	m := module.New(countNet(), module.Seed(uint64(5+kv.Rank())))
	n := 0
	err = m.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer), module.StoreWith(kv),
		module.OnBatch(func(*module.BatchEnd) error {
			if n++; n == dies {
				return errDies
			}
			return nil
		}))
	if err != nil {
		return 0, err
	}
	_, aux := m.Params()
	v, err := aux["count_batches"].AsType(dtype.Float32).Float32s()
	if err != nil {
		return 0, err
	}
	return v[0], kv.Close()
}
