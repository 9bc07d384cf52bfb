package kvstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestSlicesHaveALimit wants a job with slices that no message holds to be refused before it
// starts.
func TestSlicesHaveALimit(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1})
	cfg := c.Worker(0)
	for _, size := range []int{-1, 3, 64<<20 + 1} {
		cfg.SliceSize = size
		if _, err := kvstore.Join(t.Context(), cfg); err == nil ||
			!strings.Contains(err.Error(), "slices of") {
			t.Errorf("slices of %d bytes: got %v", size, err)
		}
	}
	must(t, c.Work(t.Context(), func(context.Context, int) error { return nil }), c.Wait())
}

// TestServersHaveAMemory wants a key that is too large for the servers to be refused by name, and
// the keys before it to go on.
func TestServersHaveAMemory(t *testing.T) {
	t.Parallel()
	const each = 2 + 2 // values of a key, and rounds ahead of the one worker
	c := cluster.Start(cluster.Config{Workers: 1, Memory: each * 4 * 1500})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, c.Work(ctx, func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := s.Init(ctx, "small", nd.Ones(nd.Shape{1000})); err != nil {
			return err
		}
		if err := s.Init(ctx, "large", nd.Ones(nd.Shape{1000})); !errors.Is(err, ps.ErrRejected) ||
			!strings.Contains(err.Error(), "large") {
			t.Errorf("a key too many: got %v, want %v", err, ps.ErrRejected)
		}
		w := nd.Zeros(nd.Shape{1000})
		if err := s.PushPull("small", 0, []*nd.Array{nd.Full(3, nd.Shape{1000})},
			[]*nd.Array{w}); err != nil {
			return err
		}
		if got, err := w.At(999).Item(); err != nil || got != 3 {
			t.Errorf("got %v, %v, want 3", got, err)
		}
		return s.Close()
	}), c.Wait())
}

// TestLargeWholeKeysAreRebuilt replaces a server that holds a key which is never sliced: with what
// the optimizer keeps it is longer than 64 MiB, and the second copy is made nevertheless.
func TestLargeWholeKeysAreRebuilt(t *testing.T) {
	if race {
		t.Skip("takes a minute under the race detector")
	}
	t.Parallel()
	const n = 5 << 20 // floats
	h := newHealth()
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2, Replicas: 2, Heartbeat: 50 *
		time.Millisecond, Dead: 10 * time.Second, Announce: h.announce})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, c.Work(ctx, func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := errors.Join(s.SetOptimizer(ctx, optimizer.LAMB{LR: 0.1}),
			s.Init(ctx, "w", nd.Ones(nd.Shape{n}))); err != nil {
			return err
		}
		w := nd.Zeros(nd.Shape{n})
		for range 2 {
			if err := s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{n})},
				[]*nd.Array{w}); err != nil {
				return err
			}
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
		addr, server := <-h.addr, wire.Node{Role: wire.Server}
		before, err := h.whole(ctx, addr, server, 0)
		if err != nil {
			return err
		}
		c.Kill(server)
		c.Restart(server)
		_, err = h.whole(ctx, addr, server, before)
		return errors.Join(err, s.Close())
	}))
	must(t, c.Wait())
}

// TestKernelThreads shares cores: all servers together count as a worker.
func TestKernelThreads(t *testing.T) {
	for _, c := range []struct{ cores, workers, servers, want int }{
		{2, 1, 0, 2}, {2, 1, 1, 1}, {2, 3, 1, 1}, {16, 3, 2, 4}, {16, 4, 0, 4}, {8, 1, 5, 4},
	} {
		if got := kvstore.KernelThreads(c.cores, c.workers, c.servers); got != c.want {
			t.Errorf("%d cores, %d workers, %d servers: %d threads, want %d", c.cores, c.workers,
				c.servers, got, c.want)
		}
	}
}
