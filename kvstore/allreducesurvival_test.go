package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// survivors is a job under test whose workers die for good.
type survivors struct {
	opt   optimizer.Optimizer
	steps int
	mu    sync.Mutex
	die   map[int]int   // by rank: step in which the worker dies
	group map[int][]int // by step: ranks whose gradients count
}

var survivorSizes = []int{3, 1000, 30_000}

func survivorGrad(rank, key, step int) *nd.Array {
	return nd.FromSlice(contribution(rank, key, step, survivorSizes[key]))
}

// run trains as a worker and returns the values at the end.
func (x *survivors) run(ctx context.Context) ([][]float32, error) {
	kv, err := kvstore.Open(ctx, "allreduce", kvstore.Timeout(60*time.Second))
	if err != nil {
		return nil, err
	}
	s, err := kvstore.Need[kvstore.Survivor](kv, "test")
	if err != nil {
		return nil, err
	}
	out := make([]*nd.Array, len(survivorSizes))
	for k, n := range survivorSizes {
		out[k] = nd.Zeros(nd.Shape{n})
		if err := kv.Init(ctx, fmt.Sprint(k), nd.FromSlice(contribution(7, k, 99, n))); err != nil {
			return nil, err
		}
	}
	if err := kv.SetOptimizer(ctx, x.opt); err != nil {
		return nil, err
	}
	step := int(kv.Resumed())
	for step < x.steps || s.Settle(ctx) != nil {
		if err := x.step(ctx, kv, step, out); err == nil {
			step++
			continue
		} else if !errors.Is(err, kvstore.ErrRegrouped) {
			return nil, fmt.Errorf("step %d: %w", step, err)
		}
		g, err := s.Recover(ctx, func(uint64) ([]byte, error) { return []byte("here"), nil })
		if err != nil {
			return nil, err
		}
		step = int(g.Round)
		for k := range out {
			if err := kv.Pull(fmt.Sprint(k), 0, out[k]); err != nil {
				return nil, err
			}
		}
	}
	var values [][]float32
	for _, a := range out {
		v, err := a.Float32s()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, kv.Close()
}

func (x *survivors) step(ctx context.Context, kv *kvstore.KV, step int, out []*nd.Array) error {
	g := kv.Group()
	for k := range out {
		x.mu.Lock()
		dies := k == 1 && x.die[kv.Rank()] == step+1
		x.mu.Unlock()
		if dies {
			return errStop
		}
		if err := kv.PushPull(fmt.Sprint(k), -k, []*nd.Array{survivorGrad(kv.Rank(), k, step)},
			out[k:k+1]); err != nil {
			return err
		}
	}
	for _, a := range out {
		if err := a.Wait(ctx); err != nil {
			return err
		}
	}
	x.mu.Lock()
	x.group[step] = g.Ranks // the last worker to say so has the round that counts
	x.mu.Unlock()
	return nil
}

// replay makes the values by the recorded groups in one process.
func (x *survivors) replay(t *testing.T, began int) [][]float32 {
	var values [][]float32
	for k, n := range survivorSizes {
		u, err := optimizer.NewUpdater(x.opt, nil)
		must(t, err)
		w := nd.FromSlice(contribution(7, k, 99, n))
		for step := range x.steps {
			ranks := x.group[step]
			sum := survivorGrad(ranks[0], k, step)
			for _, r := range ranks[1:] {
				sum.AddInPlace(survivorGrad(r, k, step))
			}
			if len(ranks) != began {
				sum.MulScalarInPlace(float64(began) / float64(len(ranks)))
			}
			must(t, u.Update(k, w, sum))
		}
		v, err := w.Float32s()
		must(t, err)
		values = append(values, v)
	}
	return values
}

// TestSurvivors lets workers die for good, and others come in their places: the values at the end
// are, bit for bit, those that one process makes from the gradients of the workers that were there.
func TestSurvivors(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i, o := range []optimizer.Optimizer{optimizer.Adam{LR: 0.01},
		optimizer.SGD{LR: 0.1, Momentum: 0.9}} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		x := &survivors{opt: o, steps: 12, group: map[int][]int{},
			die: map[int]int{1: 1 + r.IntN(10), 3: 1 + r.IntN(10)}}
		back := i == 1
		t.Run(o.Name(), func(t *testing.T) {
			t.Logf("seed %d: dies %v, comes back %v", seed, x.die, back)
			cl := cluster.Start(cluster.Config{Workers: 4, Peers: true, Policy: ps.Shrink,
				SliceSize: 16 << 10, Heartbeat: 50 * time.Millisecond, Dead: 400 * time.Millisecond})
			var mu sync.Mutex
			all := map[int][][]float32{}
			if err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
				values, err := x.run(ctx)
				for errors.Is(err, errStop) {
					x.mu.Lock()
					delete(x.die, rank)
					x.mu.Unlock()
					if !back {
						return kvstore.JobOf(ctx).Abandon()
					}
					if ctx, err = cl.Again(ctx, rank); err == nil {
						values, err = x.run(ctx)
					}
					if errors.Is(err, ps.ErrOver) {
						return nil
					}
				}
				mu.Lock()
				defer mu.Unlock()
				all[rank] = values
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := cl.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("groups by step: %v", x.group)
			want := x.replay(t, 4)
			for _, rank := range slices.Sorted(maps.Keys(all)) {
				for k := range want {
					if !sameBits(all[rank][k], want[k]) {
						t.Errorf("worker %d: key %d differs", rank, k)
					}
				}
			}
			if len(all) < 2 {
				t.Errorf("%d workers have ended, want at least 2", len(all))
			}
		})
	}
}
