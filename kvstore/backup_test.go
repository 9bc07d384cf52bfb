package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// sumOf adds up the gradients of workers in the order of their ranks.
func sumOf(n, step int, ranks ...int) []float32 {
	sum := gradient(n, "w", ranks[0], step)
	for _, r := range ranks[1:] {
		for i, g := range gradient(n, "w", r, step) {
			sum[i] += g
		}
	}
	return sum
}

// exchange makes a step of a worker and returns the value after it.
func exchange(s *kvstore.KV, n, step int) ([]float32, error) {
	out := nd.Zeros(nd.Shape{n})
	if err := s.PushPull("w", 0, []*nd.Array{nd.FromSlice(gradient(n, "w", s.Rank(), step))},
		[]*nd.Array{out}); err != nil {
		return nil, err
	}
	return out.Float32s()
}

// TestBackupWorkers lets one of three workers sleep while the others make rounds, and then go on
// with them: rounds never wait for it, and every value is the sum over two workers or all three, in
// the order of ranks.
func TestBackupWorkers(t *testing.T) {
	const n, asleep, steps = 3000, 20, 30
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Backups: 1,
		SliceSize: 1 << 20})
	// workers 0 and 1 are through with the steps that the other sleeps through
	var ahead sync.WaitGroup
	ahead.Add(2)
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		// all have joined
		if err := errors.Join(s.Init(ctx, "w", nd.Zeros(nd.Shape{n})), s.Barrier(ctx)); err != nil {
			return err
		}
		step, late := 0, false
		if s.Rank() == 2 {
			ahead.Wait()
			v, err := exchange(s, n, 0)
			if err != nil {
				return err
			}
			if !among(v, asleep-1, steps) {
				return fmt.Errorf("the late worker sees %v, want what the others have come to",
					v[0])
			}
			skipped := s.Skip()
			if skipped < asleep-1 {
				return fmt.Errorf("the late worker skips %d rounds, want at least %d", skipped,
					asleep-1)
			}
			step, late = 1+int(skipped), true
		}
		for ; step < steps; step++ {
			v, err := exchange(s, n, step)
			if err != nil {
				return err
			}
			switch {
			case !late && step < asleep:
				if want := sumOf(n, step, 0, 1); !slices.Equal(v, want) {
					return fmt.Errorf("step %d: %v, want the sum of workers 0 and 1, %v", step,
						v[0], want[0])
				}
			case !among(v, step, steps):
				return fmt.Errorf("step %d: %v is no sum of two or three workers", step, v[0])
			}
			if step == asleep-1 {
				ahead.Done()
			}
		}
		return nil
	})
}

// among reports whether a value is the sum of two or three workers' gradients of one step from lo
// on.
func among(v []float32, lo, hi int) bool {
	for step := lo; step < hi; step++ {
		for _, ranks := range [][]int{{0, 1}, {0, 2}, {1, 2}, {0, 1, 2}} {
			if slices.Equal(v, sumOf(len(v), step, ranks...)) {
				return true
			}
		}
	}
	return false
}

// TestBackupWorkersLeave lets workers make different numbers of steps: none waits for one that has
// left, not even the last.
func TestBackupWorkersLeave(t *testing.T) {
	const n = 1000
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Backups: 1, SliceSize: 1 << 20})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		if err := errors.Join(s.Init(ctx, "w", nd.Zeros(nd.Shape{n})),
			s.SetOptimizer(ctx, optimizer.SGD{LR: 0.5})); err != nil {
			return err
		}
		for step := range []int{5, 12, 30}[s.Rank()] {
			if _, err := exchange(s, n, step); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestBackupsThatMakeNoSense wants at least one worker to be waited for.
func TestBackupsThatMakeNoSense(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 2})
	cfg := c.Worker(0)
	for _, backups := range []int{-1, 2} {
		cfg.Backups = backups
		if _, err := kvstore.Join(t.Context(), cfg); err == nil {
			t.Errorf("a job of 2 workers with rounds that close without %d: no error", backups)
		}
	}
	must(t, c.Work(t.Context(), func(context.Context, int) error { return nil }), c.Wait())
}
