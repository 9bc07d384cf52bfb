package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// work runs f as every worker of a job, with a store, and waits for the end of the job.
func work(t *testing.T, c *cluster.Cluster, name string, f func(ctx context.Context,
	s *kvstore.KV) error, opts ...kvstore.Option) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := c.Work(ctx, func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, name, opts...)
		if err != nil {
			return err
		}
		return errors.Join(f(ctx, s), s.Close())
	})
	must(t, err)
	must(t, c.Wait())
}

// gradient is what a worker pushes at a step.
func gradient(n int, key string, rank, step int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(rank*1000+step), uint64(len(key))))
	g := make([]float32, n)
	for i := range g {
		g[i] = float32(rng.NormFloat64())
	}
	return g
}

var sizes = map[string]int{"small": 5, "big_weight": 5000}

// oracle adds up the gradients in the order of ranks, and lets an optimizer work on them.
func oracle(t *testing.T, workers, steps int, o optimizer.Optimizer) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for key, n := range sizes {
		w := nd.Ones(nd.Shape{n})
		var u *optimizer.Updater
		if o != nil {
			var err error
			u, err = optimizer.NewUpdater(o, nil)
			must(t, err)
		}
		for step := range steps {
			sum := gradient(n, key, 0, step)
			for r := 1; r < workers; r++ {
				for i, g := range gradient(n, key, r, step) {
					sum[i] += g
				}
			}
			if u == nil {
				must(t, nd.CopyFrom(w, sum))
			} else {
				must(t, u.Update(0, w, nd.FromSlice(sum)))
			}
		}
		out[key] = values(t, w)
	}
	return out
}

func TestDistSync(t *testing.T) {
	for _, o := range []optimizer.Optimizer{nil, optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01},
		optimizer.Adam{LR: 0.05}} {
		name := "sum"
		if o != nil {
			name = o.Name()
		}
		for _, replicas := range []int{1, 2} {
			for _, fused := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, replicas, fused), func(t *testing.T) {
					const steps = 5
					want := oracle(t, 3, steps, o)
					c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: replicas,
						SliceSize: 4096})
					work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
						return train(ctx, t, s, o, steps, fused, want)
					})
				})
			}
		}
	}
}

// train pushes gradients and compares what comes back at the end. Workers push in different orders.
func train(ctx context.Context, t *testing.T, s *kvstore.KV, o optimizer.Optimizer, steps int,
	fused bool, want map[string][]float32) error {
	keys := []string{"small", "big_weight"}
	out := map[string]*nd.Array{}
	for _, key := range keys {
		out[key] = nd.Zeros(nd.Shape{sizes[key]})
		if err := s.Broadcast(ctx, key, nd.Ones(nd.Shape{sizes[key]}), out[key]); err != nil {
			return err
		}
	}
	if o != nil {
		if err := s.SetOptimizer(ctx, o); err != nil {
			return err
		}
	}
	if s.Rank()%2 == 1 {
		slices.Reverse(keys)
	}
	for step := range steps {
		for _, key := range keys {
			g := nd.FromSlice(gradient(sizes[key], key, s.Rank(), step))
			var err error
			if fused {
				err = s.PushPull(key, step, []*nd.Array{g}, []*nd.Array{out[key]})
			} else if err = s.Push(key, 0, g); err == nil {
				err = s.Pull(key, 0, out[key])
			}
			if err != nil {
				return err
			}
		}
	}
	for _, key := range keys {
		got, err := out[key].Float32s()
		if err != nil {
			return err
		}
		if !slices.Equal(got, want[key]) {
			return fmt.Errorf("%s differs from one process", key)
		}
	}
	return nil
}

// TestAsync: every push is applied once, whoever makes it and whenever.
func TestAsync(t *testing.T) {
	for _, name := range []string{"dist_async", "dist_ssp"} {
		const steps, workers, n = 20, 3, 3000
		c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2,
			SliceSize: 4096})
		work(t, c, name, func(ctx context.Context, s *kvstore.KV) error {
			out := nd.Zeros(nd.Shape{n})
			if err := s.Broadcast(ctx, "w", nd.Zeros(nd.Shape{n}), out); err != nil {
				return err
			}
			if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 1}); err != nil {
				return err
			}
			for range steps {
				if err := s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{n})},
					[]*nd.Array{out}); err != nil {
					return err
				}
			}
			if err := s.Barrier(ctx); err != nil {
				return err
			}
			if err := s.Pull("w", 0, out); err != nil {
				return err
			}
			v, err := out.Float32s()
			if err != nil {
				return err
			}
			if v[0] != -steps*workers || v[n-1] != -steps*workers {
				return fmt.Errorf("%s: %v and %v after %d pushes of 1", name, v[0], v[n-1],
					steps*workers)
			}
			return nil
		}, kvstore.Staleness(2))
	}
}

func TestDistCompression(t *testing.T) {
	const n, steps = 2500, 4
	for _, m := range []compress.Method{{Kind: compress.TwoBit, Threshold: 0.3},
		{Kind: compress.OneBit}, {Kind: compress.TopK, Ratio: 0.05}, {Kind: compress.Half}} {
		c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, SliceSize: 4096})
		work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			out := nd.Zeros(nd.Shape{n})
			if err := errors.Join(s.SetCompression(m), s.Broadcast(ctx, "w", nd.Zeros(nd.Shape{n}),
				out)); err != nil {
				return err
			}
			var residual [2][n]float32
			for step := range steps {
				if err := s.PushPull("w", 0,
					[]*nd.Array{nd.FromSlice(gradient(n, "w", s.Rank(), step))},
					[]*nd.Array{out}); err != nil {
					return err
				}
				want := make([]float32, n)
				for r := range 2 {
					g := gradient(n, "w", r, step)
					for i, parts := uint16(0), wire.Slices(4*n, 4096); i < parts; i++ {
						lo, hi := wire.Range(4*n, i, parts)
						code, err := m.Append(nil, g[lo/4:hi/4], residual[r][lo/4:hi/4])
						if err == nil {
							err = compress.Add(want[lo/4:hi/4], m.Kind, code)
						}
						if err != nil {
							return err
						}
					}
				}
				got, err := out.Float32s()
				if err != nil {
					return err
				}
				if !slices.Equal(got, want) {
					return fmt.Errorf("%v: step %d differs", m.Kind, step)
				}
			}
			return nil
		})
	}
}

// TestTable lets workers add to rows; after a clock and a barrier everybody sees everything.
func TestTable(t *testing.T) {
	const workers, steps = 3, 5
	body := func(ctx context.Context, s *kvstore.KV) error {
		table, err := s.Table(ctx, "rows", nd.Shape{1000, 4})
		if err != nil {
			return err
		}
		for step := range steps {
			if err := table.BatchInc([]int{7, 999}, []float32{1, 2, 3, 4, float32(s.Rank()), 0, 0,
				0}); err != nil {
				return err
			}
			own, err := table.Get(ctx, 7)
			if err != nil {
				return err
			}
			if own[0] < float32(step+1) {
				return fmt.Errorf("row 7 is %v, lacks own writes of step %d", own, step)
			}
			if err := s.Clock(ctx); err != nil {
				return err
			}
		}
		if err := s.Barrier(ctx); err != nil {
			return err
		}
		for range 5 { // the cache may be as old as the staleness allows: further clocks refresh it
			if err := s.Clock(ctx); err != nil {
				return err
			}
		}
		got, err := table.BatchGet(ctx, []int{7, 999, 3})
		if err != nil {
			return err
		}
		n := float32(steps * s.NumWorkers())
		rank := float32(0)
		for r := range s.NumWorkers() {
			rank += float32(steps * r)
		}
		if want := []float32{n, 2 * n, 3 * n, 4 * n, rank, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(got,
			want) {
			return fmt.Errorf("rows are %v, want %v", got, want)
		}
		return nil
	}
	c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2, SliceSize: 4096})
	work(t, c, "dist_ssp", body, kvstore.Staleness(1))
	must(t, body(t.Context(), open(t, "local")))
}

// TestTableStaleness reads a row in every step: the kind of the store says what a worker sees of the
// others.
func TestTableStaleness(t *testing.T) {
	const workers, steps = 3, 12
	for _, tt := range []struct {
		store string
		bound int // clocks that others may be behind, at least steps if there is no bound
	}{{"dist_sync", 0}, {"dist_ssp", 0}, {"dist_ssp", 2}, {"dist_async", steps}} {
		t.Run(fmt.Sprint(tt.store, " ", tt.bound), func(t *testing.T) {
			c := cluster.Start(cluster.Config{Workers: workers, Servers: 2})
			work(t, c, tt.store, func(ctx context.Context, s *kvstore.KV) error {
				table, err := s.Table(ctx, "rows", nd.Shape{10, workers})
				if err != nil {
					return err
				}
				for step := range steps {
					row, err := table.Get(ctx, 3)
					if err != nil {
						return err
					}
					for r, v := range row {
						least, most := float32(step-tt.bound), float32(min(step+tt.bound+1, steps))
						if r == s.Rank() {
							least, most = float32(step), float32(step)
						}
						if v < least || v > most {
							return fmt.Errorf("in step %d worker %d sees %v of worker %d, want %v to "+
								"%v", step, s.Rank(), v, r, least, most)
						}
					}
					err = errors.Join(table.IncCell(3, s.Rank(), 1), s.Clock(ctx))
					if err != nil {
						return err
					}
				}
				if err := s.Barrier(ctx); err != nil || tt.bound < steps && tt.bound > 0 {
					return err
				}
				row, err := table.Get(ctx, 3)
				if want := []float32{steps, steps, steps}; err == nil && !slices.Equal(row, want) {
					err = fmt.Errorf("after all steps worker %d sees %v, want %v", s.Rank(), row,
						want)
				}
				return err
			}, kvstore.Staleness(tt.bound))
		})
	}
}

// TestStatesOnServers saves states of one job and continues with them in another.
func TestStatesOnServers(t *testing.T) {
	const steps = 4
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9}
	want := oracle(t, 2, 2*steps, o)
	n := sizes["big_weight"]
	var states []kvstore.State
	value := nd.Ones(nd.Shape{n})
	for half := range 2 {
		c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, SliceSize: 4096,
			Seed: uint64(half)})
		work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			out := nd.Zeros(nd.Shape{n})
			if err := errors.Join(s.Broadcast(ctx, "big_weight", value, out),
				s.SetOptimizer(ctx, o)); err != nil {
				return err
			}
			if half == 1 {
				if err := s.SetOptimizerStates(ctx, states); err != nil {
					return err
				}
			}
			for step := range steps {
				g := nd.FromSlice(gradient(n, "big_weight", s.Rank(), half*steps+step))
				if err := s.PushPull("big_weight", 0, []*nd.Array{g},
					[]*nd.Array{out}); err != nil {
					return err
				}
			}
			list, err := s.OptimizerStates(ctx)
			if err == nil {
				err = errors.Join(out.Wait(ctx), s.Barrier(ctx))
			}
			if err == nil && s.Rank() == 0 {
				states, value = list, out
			}
			return err
		})
	}
	if got := values(t, value); !slices.Equal(got, want["big_weight"]) {
		t.Error("the second job does not continue where the first ended")
	}
}

// TestAgree: everybody learns everybody's number, optimizer or not.
func TestAgree(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		for i, name := range []string{"first", "second"} {
			got, err := s.Agree(ctx, name, uint64(10*i+s.Rank()+1))
			if err != nil {
				return err
			}
			if want := []uint64{uint64(10*i + 1), uint64(10*i + 2),
				uint64(10*i + 3)}; !slices.Equal(got, want) {
				return fmt.Errorf("%s: %v, want %v", name, got, want)
			}
			if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 1}); err != nil {
				return err
			}
		}
		return nil
	})
}
