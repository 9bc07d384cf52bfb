package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// TestTheSchedulerIsGone kills the scheduler: workers, one of which only wants to leave, and
// servers end with an error that says so.
func TestTheSchedulerIsGone(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, Heartbeat: 50 *
		time.Millisecond, Dead: 300 * time.Millisecond, Patience: 2 * time.Second})
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := errors.Join(s.Init(ctx, "w", nd.Zeros(nd.Shape{5})),
			s.Barrier(ctx)); err != nil || rank == 1 {
			return err
		}
		c.Kill(wire.Node{Role: wire.Scheduler})
		for {
			out := nd.Zeros(nd.Shape{5})
			if err := s.Pull("w", 0, out); err != nil {
				return err
			}
			if err := out.Wait(ctx); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	for _, want := range []string{"worker 0: ", "worker 1: ", "pull", "cannot leave the job"} {
		if !errors.Is(err, kvstore.ErrNoScheduler) || !strings.Contains(err.Error(), want) {
			t.Errorf("workers: got %v, want %v and %q", err, kvstore.ErrNoScheduler, want)
		}
	}
	if err := c.Wait(); !errors.Is(err, kvstore.ErrNoScheduler) ||
		!strings.Contains(err.Error(), "server 0") || !strings.Contains(err.Error(), "server 1") {
		t.Errorf("servers: got %v, want %v of both", err, kvstore.ErrNoScheduler)
	}
}

// TestAShardIsLost replaces the only copy of some shards: all processes end with an error that
// names the shards.
func TestAShardIsLost(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Heartbeat: 50 * time.Millisecond,
		Dead: time.Second})
	server := wire.Node{Role: wire.Server}
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := s.Init(ctx, "w", nd.Zeros(nd.Shape{5})); err != nil {
			return err
		}
		c.Kill(server)
		c.Restart(server)
		for {
			if err := s.Barrier(ctx); err != nil { // needs no shard, and ends all the same
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	for name, err := range map[string]error{"worker": err, "scheduler and server": c.Wait()} {
		if !errors.Is(err, kvstore.ErrLost) || !strings.Contains(err.Error(), "numbers 0") {
			t.Errorf("%s: got %v, want %v with numbers", name, err, kvstore.ErrLost)
		}
	}
}

// TestTheViewIsWrittenAtLast takes the folder of the scheduler's view away for a moment: the job
// waits for it and goes on.
func TestTheViewIsWrittenAtLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Dir: dir})
	time.AfterFunc(1500*time.Millisecond, func() { must(t, os.Mkdir(dir, 0o700)) })
	must(t, c.Work(t.Context(), func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		return s.Init(ctx, "w", nd.Zeros(nd.Shape{5}))
	}), c.Wait())
}

// TestAnUnwritableManifest puts a folder in the manifest's place: the call for the snapshot fails,
// nothing of it stays, the job goes on, and the next snapshot is written.
func TestAnUnwritableManifest(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "snapshot-1", "manifest", "x"), 0o700))
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2, Snapshots: dir})
	must(t, c.Work(t.Context(), func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := s.Init(ctx, "w", nd.Zeros(nd.Shape{5})); err != nil {
			return err
		}
		snapshot := s.Snapshot
		if err := snapshot(ctx, 1); err == nil ||
			!strings.Contains(err.Error(), "could not write") {
			return fmt.Errorf("got %v, want an error about a part", err)
		}
		for range 100 {
			if parts, _ := filepath.Glob(filepath.Join(dir, "snapshot-1",
				"shard-*")); len(parts) == 0 {
				return snapshot(ctx, 2)
			}
			time.Sleep(20 * time.Millisecond)
		}
		return errors.New("parts of the failed snapshot stay")
	}), c.Wait())
	if last, _, err := kvstore.LatestSnapshot(dir); err != nil ||
		filepath.Base(last) != "snapshot-2" {
		t.Errorf("the latest snapshot is %q, %v, want snapshot-2", last, err)
	}
}

// TestInitIsQuick initializes 1000 keys of two copies one after the other: an answer that waits to
// be asked for again takes 75 ms.
func TestInitIsQuick(t *testing.T) {
	const keys = 1000
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2})
	must(t, c.Work(t.Context(), func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		began := time.Now()
		for i := range keys {
			if err := s.Init(ctx, fmt.Sprint("w", i), nd.Zeros(nd.Shape{10})); err != nil {
				return err
			}
		}
		took := time.Since(began)
		t.Logf("worker %d: %d keys in %v", rank, keys, took)
		if took > keys*75*time.Millisecond/4 && !race {
			return fmt.Errorf("%d keys take %v", keys, took)
		}
		return nil
	}), c.Wait())
}

// TestStoresSum wants stores to say whether they add up what the workers push.
func TestStoresSum(t *testing.T) {
	for name, want := range map[string]bool{"dist_sync": true, "dist_ssp": true,
		"dist_async": false} {
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
		work(t, c, name, func(_ context.Context, s *kvstore.KV) error {
			if s.Sums() != want {
				return fmt.Errorf("%s sums: %v, want %v", name, s.Sums(), want)
			}
			return nil
		})
	}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
	work(t, c, "dist_ssp", func(_ context.Context, s *kvstore.KV) error {
		if s.Sums() {
			return errors.New("dist_ssp with staleness 2 sums")
		}
		return nil
	}, kvstore.Staleness(2))
}

// TestASchedulerWithoutItsView kills the scheduler and starts another one that has no folder, and
// so no view of the job: it ends with an error that says so, instead of beginning anew, and the
// others with one that says that their scheduler is gone.
func TestASchedulerWithoutItsView(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Heartbeat: 50 * time.Millisecond,
		Dead: 300 * time.Millisecond, Patience: 2 * time.Second})
	scheduler := wire.Node{Role: wire.Scheduler}
	err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		if err := s.Init(ctx, "w", nd.Zeros(nd.Shape{5})); err != nil {
			return err
		}
		c.Kill(scheduler)
		c.Restart(scheduler)
		for {
			if err := s.Barrier(ctx); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	if !errors.Is(err, kvstore.ErrNoScheduler) {
		t.Errorf("worker: got %v, want %v", err, kvstore.ErrNoScheduler)
	}
	err = c.Wait()
	if !errors.Is(err, ps.ErrViewChanged) || !strings.Contains(err.Error(), "scheduler: ") ||
		!strings.Contains(err.Error(), "without the view") {
		t.Errorf("scheduler: got %v, want %v", err, ps.ErrViewChanged)
	}
	if !errors.Is(err, kvstore.ErrNoScheduler) || !strings.Contains(err.Error(), "server 0: ") {
		t.Errorf("server: got %v, want %v", err, kvstore.ErrNoScheduler)
	}
}
