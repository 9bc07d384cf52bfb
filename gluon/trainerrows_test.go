package gluon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// wordModel looks words up in a table and sums their numbers up.
type wordModel struct{ Table *nn.Embedding }

func (m *wordModel) Forward(x *nd.Array) *nd.Array {
	return nd.Square(m.Table.Forward(x).Sum(1)).Sum(1)
}

// wordBatches are lists of words for each worker.
func wordBatches(workers, n int) [][]*nd.Array {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([][]*nd.Array, workers)
	for i := range list {
		for range n {
			ids := make([]float32, 8*3)
			for k := range ids {
				ids[k] = float32(r.IntN(1 + r.IntN(60)))
			}
			list[i] = append(list[i], nd.FromSlice(ids, 8, 3))
		}
	}
	return list
}

// wordNet returns a network with a table of ones, units wide.
func wordNet(t *testing.T, units int) *gluon.Net {
	net := gluon.New(&wordModel{&nn.Embedding{Rows: 60, Units: units, SparseGrad: true,
		WeightInit: initializer.Constant{Value: 0.25}}})
	if err := net.Init(nil); err != nil {
		t.Error(err)
	}
	return net
}

// TestTrainerRows: servers keep a table by rows, and two workers with the rows of their batches do
// bit for bit what one process does that adds their gradients up, hybridized too. Reading the table
// shows all its rows.
func TestTrainerRows(t *testing.T) {
	const steps, units = 5, 4
	batches := wordBatches(2, steps)
	o := optimizer.SGD{LR: 0.01, Momentum: 0.9, WD: 0.01}
	want := func() []float32 {
		net := wordNet(t, units)
		o := o
		o.Rescale = 1. / 16
		u, err := optimizer.NewUpdater(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for step := range steps {
			var sum *nd.Array
			for rank := range batches {
				net.Forward(autograd.Train().Watch(batches[rank][step])).Backward()
				g := net.Params().Get("table.weight")
				if sum == nil {
					sum = g.Grad().Copy()
				} else {
					sum = sum.Add(g.Grad())
				}
			}
			if err := u.Update(0, net.Params().Get("table.weight").Data(), sum); err != nil {
				t.Fatal(err)
			}
		}
		v, err := net.Params().Get("table.weight").Data().Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}()
	for _, hybrid := range []bool{false, true} {
		got := make([][]float32, 2)
		var mu sync.Mutex
		c := cluster.Start(cluster.Config{Workers: 2, Servers: 2})
		err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
			net := wordNet(t, units)
			if hybrid {
				net.Hybridize()
			}
			trainer, err := gluon.NewTrainer(net.Params(), o, gluon.Store("dist_sync"),
				gluon.InJob(ctx))
			if err != nil {
				return err
			}
			defer trainer.Close()
			var before []float32
			for step, x := range batches[rank] {
				net.Forward(autograd.Train().Watch(x)).Backward()
				if err := trainer.Step(16); err != nil {
					return err
				}
				if step == steps-1 {
					if before, err = net.Params().Get("table.weight").Data().Float32s(); err != nil {
						return err
					}
				}
			}
			if err := trainer.Close(); err != nil {
				return err
			}
			after, err := net.Params().Get("table.weight").Data().Float32s()
			if err == nil && !slices.Equal(before, after) {
				t.Error("Close changes values")
			}
			mu.Lock()
			defer mu.Unlock()
			got[rank] = after
			return err
		})
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
		for rank := range got {
			if !slices.Equal(got[rank], want) {
				t.Errorf("hybrid %v: worker %d has other values than one process", hybrid, rank)
			}
		}
	}
}

// TestTrainerPrefetch: a worker without rounds pulls rows of the next batch ahead, and gets the same
// values as a process without a store.
func TestTrainerPrefetch(t *testing.T) {
	const steps, units = 6, 16384
	batches := wordBatches(1, steps)[0]
	train := func(ctx context.Context, sparse bool, opts ...gluon.TrainerOption) ([]float32, error) {
		net := wordNet(t, units)
		if sparse {
			net = gluon.New(&wordModel{&nn.Embedding{Rows: 60, Units: units, SparseWeight: true,
				WeightInit: initializer.Constant{Value: 0.25}}})
			if err := net.Init(nil); err != nil {
				return nil, err
			}
		}
		trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 1e-3, Momentum: 0.9}, opts...)
		if err != nil {
			return nil, err
		}
		defer trainer.Close()
		table := net.Params().Get("table.weight")
		for step, x := range batches {
			net.Forward(autograd.Train().Watch(x)).Backward()
			if step+1 < steps {
				if err := table.Prefetch(batches[step+1]); err != nil {
					return nil, err
				}
			}
			if err := trainer.Step(8); err != nil {
				return nil, err
			}
		}
		values, err := contents(net)
		return values["table.weight"], err
	}
	want, err := train(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, sparse := range []bool{false, true} {
		var got []float32
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
		err = c.Work(t.Context(), func(ctx context.Context, _ int) (err error) {
			got, err = train(ctx, sparse, gluon.Store("dist_ssp", kvstore.Staleness(1)),
				gluon.InJob(ctx))
			return err
		})
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("row_sparse %v: a worker has other values than a process without a store",
				sparse)
		}
	}
}

// TestTrainerStatesBeforeRows: the optimizer's states can be saved and loaded before the first step,
// when the network has not shown yet that it reads a table by rows. Servers keep the table by rows
// all the same.
func TestTrainerStatesBeforeRows(t *testing.T) {
	batches := wordBatches(2, 3)
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 1})
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		net := wordNet(t, 4)
		trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.01, Momentum: 0.9},
			gluon.Store("dist_sync"), gluon.InJob(ctx))
		if err != nil {
			return err
		}
		defer trainer.Close()
		path := filepath.Join(t.TempDir(), "states")
		if err := trainer.SaveStates(path); err != nil {
			return err
		}
		if err := trainer.LoadStates(path); err != nil {
			return err
		}
		for _, x := range batches[rank] {
			net.Forward(autograd.Train().Watch(x)).Backward()
			if err := trainer.Step(16); err != nil {
				return err
			}
		}
		if err := trainer.SaveStates(path); err != nil {
			return err
		}
		s, err := checkpoint.LoadStates(path)
		if err != nil {
			return err
		}
		for _, st := range s {
			list, err := st.State.Arrays()
			if err != nil {
				return err
			}
			if len(list) != 1 || list[0].Storage() != nd.RowSparse {
				return fmt.Errorf("states of parameter %d are %v, want one row_sparse array", st.Index, list)
			}
		}
		if len(s) != 1 {
			return fmt.Errorf("%d states, want that of the table", len(s))
		}
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
}
