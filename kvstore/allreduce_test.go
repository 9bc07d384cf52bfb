package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// collectiveSizes are lengths of keys: small ones, and large ones with owners.
var collectiveSizes = []int{1, 7, 1000, 50_000, 300_001}

// contribution is a gradient of a worker in a step: numbers whose sum depends on their order.
func contribution(rank, key, step, n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(rank*1000+key), uint64(step)))
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(6)-3)))
	}
	return list
}

// trainRounds runs steps with an optimizer in a store and returns the values after each step.
func trainRounds(ctx context.Context, store string, o optimizer.Optimizer, steps int,
	between func(step int) error) (values [][]float32, err error) {
	s, err := kvstore.Open(ctx, store, kvstore.Timeout(30*time.Second))
	if err != nil {
		return nil, err
	}
	if o != nil && !optimizer.Elementwise(o) {
		if err := s.SetOptimizer(ctx, o); err != nil {
			return nil, err
		}
	}
	var out, grad []*nd.Array
	for k, n := range collectiveSizes {
		out, grad = append(out, nd.Zeros(nd.Shape{n})), append(grad, nd.Zeros(nd.Shape{n}))
		// the value of worker 0 counts
		v := nd.FromSlice(contribution(s.Rank(), k, 99, n))
		if err := s.Broadcast(ctx, fmt.Sprint("key ", k), v, out[k]); err != nil {
			return nil, err
		}
	}
	if o != nil {
		if err := s.SetOptimizer(ctx, o); err != nil {
			return nil, err
		}
	}
	for step := int(s.Resumed()); step < steps; step++ {
		for k := range slices.Backward(out) {
			if err := nd.CopyFrom(grad[k], contribution(s.Rank(), k, step,
				collectiveSizes[k])); err != nil {
				return nil, err
			}
			if err := s.PushPull(fmt.Sprint("key ", k), -k, []*nd.Array{grad[k]},
				[]*nd.Array{out[k]}); err != nil {
				return nil, err
			}
		}
		for k := range out {
			v, err := out[k].Float32s()
			if err != nil {
				return nil, fmt.Errorf("step %d, key %d: %w", step, k, err)
			}
			values = append(values, v)
		}
		if between != nil {
			if err := between(step); err != nil {
				return values, err
			}
		}
	}
	return values, s.Close()
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y)
	})
}

// runStore trains with every worker of a job and returns the values of each.
func runStore(t *testing.T, store string, workers int, o optimizer.Optimizer) [][][]float32 {
	t.Helper()
	cl := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Peers: store == "allreduce",
		SliceSize: 64 << 10})
	all := make([][][]float32, workers)
	if err := cl.Work(t.Context(), func(ctx context.Context, rank int) (err error) {
		all[rank], err = trainRounds(ctx, store, o, 5, nil)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", store, err)
	}
	if err := cl.Wait(); err != nil {
		t.Error(err)
	}
	return all
}

// TestAllreduceEqualsServers trains with both stores: the values of all workers after each step are
// the same bits.
func TestAllreduceEqualsServers(t *testing.T) {
	for _, o := range []optimizer.Optimizer{nil, optimizer.SGD{LR: 0.1, Momentum: 0.9},
		optimizer.Adam{LR: 0.01, Common: optimizer.Common{
			Schedule: optimizer.FactorScheduler{Step: 2, Factor: 0.5}}},
		optimizer.LAMB{LR: 0.01}} {
		name := "none"
		if o != nil {
			name = o.Name()
		}
		t.Run(name, func(t *testing.T) {
			want := runStore(t, "dist_sync", 3, o)
			got := runStore(t, "allreduce", 3, o)
			for rank := range got {
				for i := range got[rank] {
					if !sameBits(got[rank][i], want[0][i]) {
						t.Fatalf("worker %d, step %d, key %d: values differ", rank,
							i/len(collectiveSizes), i%len(collectiveSizes))
					}
				}
			}
		})
	}
}

// errStop ends a program as if its process had been killed.
var errStop = errors.New("stopped")

// TestAllreduceResumes replaces workers while they train, several times and two at once: all values
// that a program sees are the bits of the undisturbed run.
func TestAllreduceResumes(t *testing.T) {
	o := optimizer.Adam{LR: 0.01}
	want := runStore(t, "dist_sync", 3, o)[0]
	cl := cluster.Start(cluster.Config{Workers: 3, Peers: true, SliceSize: 64 << 10,
		Heartbeat: 50 * time.Millisecond, Dead: 300 * time.Millisecond})
	var mu sync.Mutex
	stops := map[int][]int{0: {1}, 1: {1, 3}, 2: {2}} // by rank: steps after which it is killed
	if err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		for {
			first := 0
			values, err := trainRounds(ctx, "allreduce", o, 5, func(step int) error {
				mu.Lock()
				defer mu.Unlock()
				if list := stops[rank]; len(list) > 0 && list[0] == step {
					stops[rank] = list[1:]
					return errStop
				}
				return nil
			})
			first = len(want) - len(values)
			if errors.Is(err, errStop) {
				first = -1 // its last steps follow
			} else if err != nil {
				return err
			}
			for i := range values {
				if first >= 0 && !sameBits(values[i], want[first+i]) {
					return fmt.Errorf("value %d differs", first+i)
				}
			}
			if err == nil {
				return nil
			}
			if ctx, err = cl.Again(ctx, rank); err != nil {
				return err
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := cl.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAllreduceKeys pushes and pulls in every way, and keys of several types.
func TestAllreduceKeys(t *testing.T) {
	cl := cluster.Start(cluster.Config{Workers: 2, Peers: true})
	if err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "allreduce", kvstore.Timeout(20*time.Second))
		if err != nil {
			return err
		}
		for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16,
			dtype.BFloat16, dtype.Int32, dtype.Uint8, dtype.Int64} {
			for _, n := range []int{1, 40_000} {
				key := fmt.Sprint(typ, n)
				if err := s.Init(ctx, key, nd.Full(3, nd.Shape{n}, nd.As(typ))); err != nil {
					return err
				}
				out := nd.Zeros(nd.Shape{n}, nd.As(typ))
				grad := nd.Full(float64(rank+1), nd.Shape{n}, nd.As(typ))
				check := func(what string, want float64) error {
					v := out.AsType(dtype.Float32)
					list, err := v.Float32s()
					if err != nil {
						return fmt.Errorf("%s, %s: %w", key, what, err)
					}
					for _, x := range list {
						if float64(x) != want {
							return fmt.Errorf("%s, %s: got %v, want %v", key, what, x, want)
						}
					}
					return nil
				}
				if err := errors.Join(s.Pull(key, 0, out), check("first value", 3)); err != nil {
					return err
				}
				if err := errors.Join(s.Push(key, 0, grad), s.Pull(key, 0, out),
					check("push, pull", 3)); err != nil {
					return err
				}
				grads := []*nd.Array{grad, nd.Full(1, nd.Shape{n}, nd.As(typ))}
				if err := errors.Join(s.PushPull(key, 0, grads, []*nd.Array{out}),
					check("two gradients", 5)); err != nil {
					return err
				}
				if err := errors.Join(s.Pull(key, 0, out), check("pull again", 5)); err != nil {
					return err
				}
				if err := errors.Join(s.PushPull(key, 0, []*nd.Array{out}, []*nd.Array{out}),
					check("in place", 10)); err != nil {
					return err
				}
			}
		}
		all, err := s.Agree(ctx, "numbers", uint64(rank+5))
		if err != nil || !slices.Equal(all, []uint64{5, 6}) {
			return fmt.Errorf("agreed on %v: %v, want 5 and 6", all, err)
		}
		return errors.Join(s.Barrier(ctx), s.Close())
	}); err != nil {
		t.Fatal(err)
	}
	if err := cl.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAllreduceErrors looks at misuse, and at a worker that never pushes.
func TestAllreduceErrors(t *testing.T) {
	cl := cluster.Start(cluster.Config{Workers: 2, Peers: true})
	if err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		if _, err := kvstore.Open(ctx, "dist_sync"); err == nil ||
			!strings.Contains(err.Error(), "no servers") {
			return fmt.Errorf("dist_sync without servers: %v", err)
		}
		s, err := kvstore.Open(ctx, "allreduce", kvstore.Timeout(time.Second))
		if err != nil {
			return err
		}
		if err := s.SetCompression(compress.Method{Kind: compress.TwoBit,
			Threshold: 1}); err == nil ||
			!strings.Contains(err.Error(), "allreduce") {
			return fmt.Errorf("compression: %v", err)
		}
		a := nd.Ones(nd.Shape{10})
		if err := s.Init(ctx, "a", a); err != nil {
			return err
		}
		if _, err := s.Table(ctx, "t", nd.Shape{2, 2}); err == nil {
			return errors.New("a table in allreduce")
		}
		if rank == 1 {
			time.Sleep(1500 * time.Millisecond)
			return nil
		}
		if err := s.PushPull("a", 0, []*nd.Array{a}, []*nd.Array{a}); err != nil {
			return err
		}
		err = a.Wait(ctx)
		if !errors.Is(err, ps.ErrTimeout) || !strings.Contains(err.Error(), "worker 1") {
			return fmt.Errorf("got %v, want a deadline that names worker 1", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := cl.Wait(); err != nil {
		t.Error(err)
	}
	cl = cluster.Start(cluster.Config{Workers: 1})
	if err := cl.Work(t.Context(), func(ctx context.Context, _ int) error {
		if _, err := kvstore.Open(ctx, "allreduce"); err == nil ||
			!strings.Contains(err.Error(), "servers") {
			return fmt.Errorf("allreduce with servers: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
