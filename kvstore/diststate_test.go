package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// savedRows is the values and the optimizer's states of a job.
type savedRows struct {
	values []*nd.Array // of the keys t and u
	states []kvstore.State
}

var savedKeys = []string{"t", "u"}

// pushSteps pushes the rows of some steps to the keys.
func pushSteps(s *kvstore.KV, from, to int) error {
	for step := from; step < to; step++ {
		for _, key := range savedKeys {
			if err := s.Push(key, 0, rowGradient(s.Rank(), step)); err != nil {
				return err
			}
		}
	}
	return nil
}

// save pulls all rows of the keys, and asks for the states.
func save(ctx context.Context, s *kvstore.KV) (r savedRows, err error) {
	for _, key := range savedKeys {
		a := nd.ZerosOf(nd.RowSparse, nd.Shape{tableRows, tableWidth})
		if err := s.Pull(key, 0, a); err != nil {
			return r, err
		}
		r.values = append(r.values, a)
	}
	r.states, err = s.OptimizerStates(ctx)
	return r, err
}

// TestStatesOfRows saves values and states of sparse keys, and continues in a fresh job of other
// servers with the bits of the job that goes on.
func TestStatesOfRows(t *testing.T) {
	const half, steps, workers = 5, 10, 2
	for _, o := range []optimizer.Optimizer{optimizer.SGD{LR: 0.1, Momentum: 0.9},
		optimizer.AdaGrad{LR: 0.1}, optimizer.Adam{LR: 0.05}, optimizer.SGD{LR: 0.1}} {
		saved := make([]savedRows, workers)
		var want [workers]savedRows
		c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
		work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: nd.Shape{tableRows, tableWidth},
				DType: dtype.Float32, Init: rows.Init{Kind: rows.KindNormal, Scale: 0.1, Seed: 3}})
			err = errors.Join(err, s.Init(ctx, "u", nd.RowSparseFromSlices([]float32{1, 2, 3}, []int{7},
				nd.Shape{tableRows, tableWidth})), s.SetOptimizer(ctx, o))
			if err != nil {
				return err
			}
			before, err := s.OptimizerStates(ctx)
			if err != nil || len(before) != 2 || len(before[0].Arrays)+len(before[1].Arrays) != 0 {
				return fmt.Errorf("states %v, %v before the first push", before, err)
			}
			if err := errors.Join(s.Barrier(ctx), pushSteps(s, 0, half)); err != nil {
				return err
			}
			if saved[s.Rank()], err = save(ctx, s); err != nil {
				return err
			}
			if err := errors.Join(s.Barrier(ctx), pushSteps(s, half, steps)); err != nil {
				return err
			}
			want[s.Rank()], err = save(ctx, s)
			return err
		})
		if adam, ok := o.(optimizer.Adam); ok {
			adam.BeginUpdate = half
			o = adam
		}
		for r := range saved {
			saved[r].states = throughFile(t, saved[r].states)
		}
		c = cluster.Start(cluster.Config{Workers: workers, Servers: 3})
		work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			from := saved[s.Rank()]
			for i, key := range savedKeys {
				if err := s.Init(ctx, key, from.values[i]); err != nil {
					return err
				}
			}
			err := errors.Join(s.SetOptimizer(ctx, o), s.SetOptimizerStates(ctx, from.states))
			if err != nil {
				return err
			}
			if err := pushSteps(s, half, steps); err != nil {
				return err
			}
			got, err := save(ctx, s)
			if err != nil {
				return err
			}
			for i := range savedKeys {
				if err := alike(got.values[i], want[s.Rank()].values[i]); err != nil {
					return fmt.Errorf("%s: %w", savedKeys[i], err)
				}
				list := want[s.Rank()].states[i].Arrays
				if len(list) != len(got.states[i].Arrays) {
					return fmt.Errorf("%d states, want %d", len(got.states[i].Arrays), len(list))
				}
				for j, a := range list {
					if err := alike(got.states[i].Arrays[j], a); err != nil {
						return fmt.Errorf("state %d of %s: %w", j, savedKeys[i], err)
					}
				}
			}
			return nil
		})
	}
}

// throughFile writes states to a file in MXNet's layout, and reads them.
func throughFile(t *testing.T, states []kvstore.State) (out []kvstore.State) {
	t.Helper()
	var list []checkpoint.IndexedState
	for i, st := range states {
		state, err := checkpoint.StateOf(st.Arrays...)
		must(t, err)
		list = append(list, checkpoint.IndexedState{Index: i, State: state})
	}
	path := filepath.Join(t.TempDir(), "table.states")
	must(t, checkpoint.SaveStates(path, list))
	list, err := checkpoint.LoadStates(path)
	must(t, err)
	for _, st := range list {
		arrays, err := st.State.Arrays()
		must(t, err)
		for _, a := range arrays {
			if a.Storage() != nd.RowSparse {
				t.Errorf("a state of rows is %v in the file", a.Storage())
			}
		}
		out = append(out, kvstore.State{Key: states[st.Index].Key, Arrays: arrays})
	}
	return out
}

// alike compares two arrays; rows that are not stored are zeros.
func alike(a, b *nd.Array) error {
	x, err := a.ToStorage(nd.Dense).Float32s()
	if err != nil {
		return err
	}
	y, err := b.ToStorage(nd.Dense).Float32s()
	if err != nil {
		return err
	}
	if !slices.Equal(x, y) {
		return fmt.Errorf("%v, want %v", x, y)
	}
	return nil
}

// TestStatesThatDoNotFitRows wants errors that name the key.
func TestStatesThatDoNotFitRows(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		shape := nd.Shape{10, 2}
		err := errors.Join(s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32}),
			s.SetOptimizer(ctx, optimizer.SGD{Momentum: 0.9}))
		if err != nil {
			return err
		}
		for want, arrays := range map[string][]*nd.Array{
			`"t": 2 arrays, the optimizer wants 1`: {nd.Zeros(shape), nd.Zeros(shape)},
			`"t": array 0 does not fit`:            {nd.ZerosOf(nd.RowSparse, nd.Shape{11, 2})},
		} {
			err := s.SetOptimizerStates(ctx, []kvstore.State{{Key: "t", Arrays: arrays}})
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %v, want %q in it", err, want)
			}
		}
		// Dense states give their rows that are not zero.
		m := nd.Zeros(shape)
		if err := nd.CopyFrom(m, []float32{6: 3, 7: 4, 19: 0}); err != nil {
			return err
		}
		err = s.SetOptimizerStates(ctx, []kvstore.State{{Key: "t", Arrays: []*nd.Array{m}}})
		if err != nil {
			return err
		}
		list, err := s.OptimizerStates(ctx)
		if err != nil || len(list[0].Arrays) != 1 {
			return fmt.Errorf("states %v, %v", list, err)
		}
		return alike(list[0].Arrays[0], nd.RowSparseFromSlices([]float32{3, 4}, []int{3}, shape))
	})
}
