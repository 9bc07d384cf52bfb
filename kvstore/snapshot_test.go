package kvstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// trainFrom runs the steps that are left of a training, with a snapshot after some of them, and
// returns the values.
func trainFrom(ctx context.Context, s *kvstore.KV, o optimizer.Optimizer, steps int,
	after ...int) (map[string][]float32, error) {
	out := map[string]*nd.Array{}
	keys := []string{"small", "big_weight"}
	for _, key := range keys {
		out[key] = nd.Zeros(nd.Shape{sizes[key]})
		if err := s.Broadcast(ctx, key, nd.Ones(nd.Shape{sizes[key]}), out[key]); err != nil {
			return nil, err
		}
	}
	if err := s.SetOptimizer(ctx, o); err != nil {
		return nil, err
	}
	for step := range steps {
		if step >= int(s.Resumed()) {
			for _, key := range keys {
				g := nd.FromSlice(gradient(sizes[key], key, s.Rank(), step))
				if err := s.PushPull(key, 0, []*nd.Array{g}, []*nd.Array{out[key]}); err != nil {
					return nil, err
				}
			}
		}
		if slices.Contains(after, step+1) {
			if err := s.Snapshot(ctx, uint64(step+1)); err != nil {
				return nil, err
			}
		}
	}
	got := map[string][]float32{}
	for _, key := range keys {
		v, err := out[key].Float32s()
		if err != nil {
			return nil, err
		}
		got[key] = v
	}
	return got, nil
}

// TestSnapshotContinues writes snapshots in the middle of a training, and wants a job that
// continues from one to end as the whole.
func TestSnapshotContinues(t *testing.T) {
	const steps = 9
	o := optimizer.Adam{LR: 0.05}
	want := oracle(t, 3, steps, o)
	dir := t.TempDir()
	run := func(c cluster.Config, steps int, after ...int) {
		t.Helper()
		c.Workers, c.Servers, c.Replicas, c.SliceSize, c.Snapshots = 3, 2, 2, 4096, dir
		work(t, cluster.Start(c), "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			got, err := trainFrom(ctx, s, o, steps, after...)
			if err != nil || steps < 9 {
				return err
			}
			for key := range want {
				if !slices.Equal(got[key], want[key]) {
					return fmt.Errorf("%s differs from one process", key)
				}
			}
			return nil
		})
	}
	run(cluster.Config{}, 6, 2, 4, 5)
	last, _, err := kvstore.LatestSnapshot(dir)
	must(t, err)
	if filepath.Base(last) != "snapshot-5" {
		t.Fatalf("the latest snapshot is %q, want snapshot-5", last)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) != 2 {
		t.Errorf("%v are left, want the last two", list)
	}
	run(cluster.Config{Restore: last, Seed: 1}, steps)

	// A damaged snapshot is passed over, and refused when it is named.
	parts, err := filepath.Glob(filepath.Join(last, "shard-0-*"))
	must(t, err)
	b, err := os.ReadFile(parts[0])
	must(t, err)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(parts[0], b, 0o600))
	before, skipped, err := kvstore.LatestSnapshot(dir)
	must(t, err)
	if filepath.Base(before) != "snapshot-4" || len(skipped) != 1 ||
		!strings.Contains(skipped[0].Error(), last) {
		t.Fatalf("the latest whole snapshot is %q, skipped are %v, want snapshot-4 and an error "+
			"that names %s", before, skipped, last)
	}
	c := cluster.Start(cluster.Config{Restore: last, Seed: 2})
	c.Kill(wire.Node{Role: wire.Scheduler}) // servers that start would wait for it
	if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a server that is to start from a damaged snapshot: got %v, want an error "+
			"about its checksum", err)
	}
	run(cluster.Config{Restore: before, Seed: 3}, steps)
}

// TestSnapshotWithoutFolder wants an error that says what is missing, at once.
func TestSnapshotWithoutFolder(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		if err := s.Init(ctx, "w", nd.Ones(nd.Shape{4})); err != nil {
			return err
		}
		if err := s.Snapshot(ctx, 1); !errors.Is(err, ps.ErrRejected) {
			return fmt.Errorf("got %v, want %v", err, ps.ErrRejected)
		}
		return nil
	})
}

// TestDamagedSnapshots wants an error that names the snapshots when none is whole, and no error
// when there is none.
func TestDamagedSnapshots(t *testing.T) {
	dir := t.TempDir()
	if got, skipped, err := kvstore.LatestSnapshot(dir); got != "" || skipped != nil || err != nil {
		t.Errorf("an empty folder: got %q, %v, %v", got, skipped, err)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "snapshot-9"), 0o700)) // never completed
	if got, skipped, err := kvstore.LatestSnapshot(dir); got != "" || skipped != nil || err != nil {
		t.Errorf("a snapshot without a manifest: got %q, %v, %v", got, skipped, err)
	}
	for _, n := range []string{"snapshot-3", "snapshot-4"} {
		must(t, os.MkdirAll(filepath.Join(dir, n), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, n, "manifest"), []byte("not a manifest"), 0o600))
	}
	got, _, err := kvstore.LatestSnapshot(dir)
	if err == nil || !strings.Contains(err.Error(), "snapshot-3") ||
		!strings.Contains(err.Error(), "snapshot-4") {
		t.Errorf("two damaged ones: got %q, %v, want an error that names both", got, err)
	}
}

// TestRestoreFits wants a snapshot to be taken over by jobs with other numbers of workers and
// servers, and snapshots that were never completed not to count among those that are kept.
func TestRestoreFits(t *testing.T) {
	dir := t.TempDir()
	// of a server that died while it wrote
	must(t, os.MkdirAll(filepath.Join(dir, "snapshot-3"), 0o700))
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 3, Snapshots: dir})
	var values []float32
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		got, err := trainFrom(ctx, s, optimizer.SGD{LR: 0.1}, 6, 2, 4, 6)
		if s.Rank() == 0 {
			values = got["small"]
		}
		return err
	})
	list, _ := filepath.Glob(filepath.Join(dir, "*"))
	want := []string{filepath.Join(dir, "snapshot-4"), filepath.Join(dir, "snapshot-6")}
	if !slices.Equal(list, want) {
		t.Errorf("%v are left, want %v", list, want)
	}
	last, _, err := kvstore.LatestSnapshot(dir)
	must(t, err)
	for i, n := range [][2]int{{2, 3}, {3, 3}, {1, 2}, {4, 1}} {
		c := cluster.Start(cluster.Config{Workers: n[0], Servers: n[1], Restore: last,
			Seed: uint64(i + 2)})
		first := make([][]float32, n[0])
		work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			got, err := trainFrom(ctx, s, optimizer.SGD{LR: 0.1}, 6)
			if s.Resumed() != 6 || err != nil {
				return fmt.Errorf("resumed after %d steps, want 6 (%w)", s.Resumed(), err)
			}
			first[s.Rank()] = got["small"]
			// The job goes on with one push of every worker for a round.
			_, err = oneMore(ctx, s)
			return err
		})
		for r := range first {
			if !slices.Equal(first[r], values) {
				t.Errorf("%d workers and %d servers: worker %d has other values than the snapshot",
					n[0], n[1], r)
			}
		}
	}
}

// TestAgreeAfterRestore lets jobs with other numbers of workers agree on numbers, as Fit does, when
// they have continued from a snapshot. Keys that the program makes later have their values.
func TestAgreeAfterRestore(t *testing.T) {
	dir := t.TempDir()
	play := func(c cluster.Config, first uint64, save bool) {
		t.Helper()
		work(t, cluster.Start(c), "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			out := nd.Zeros(nd.Shape{3})
			err := errors.Join(s.Broadcast(ctx, "before", nd.Ones(nd.Shape{3}), out),
				s.SetOptimizer(ctx, optimizer.SGD{LR: 0.5}))
			if err != nil {
				return err
			}
			all, err := s.Agree(ctx, "batches", first+uint64(s.Rank()))
			if err != nil {
				return err
			}
			for r, n := range all {
				if n != first+uint64(r) || len(all) != c.Workers {
					return fmt.Errorf("%d workers have agreed on %v", c.Workers, all)
				}
			}
			if err := s.Broadcast(ctx, "behind", nd.Full(float64(first), nd.Shape{3}),
				out); err != nil {
				return err
			}
			want := float32(3) // 10, and 7 less by the step of the first job
			if save {
				want = 10
			}
			if v, err := out.Float32s(); err != nil || v[0] != want {
				return fmt.Errorf("the key behind has the values %v, %w; want %v", v, err, want)
			}
			if !save {
				return nil
			}
			g := nd.Full(7, nd.Shape{3}) // of two workers, at a rate of 0.5
			return errors.Join(s.PushPull("before", 0, []*nd.Array{g}, []*nd.Array{out}),
				s.PushPull("behind", 0, []*nd.Array{g}, []*nd.Array{out}), s.Snapshot(ctx, 1))
		})
	}
	play(cluster.Config{Workers: 2, Servers: 2, Snapshots: dir}, 10, true)
	last, _, err := kvstore.LatestSnapshot(dir)
	must(t, err)
	for i, workers := range []int{3, 1} {
		play(cluster.Config{Workers: workers, Servers: 2, Restore: last, Seed: uint64(i + 2)},
			uint64(20+i), false)
	}
}

// oneMore makes one more round of the keys of trainFrom.
func oneMore(ctx context.Context, s *kvstore.KV) ([]float32, error) {
	g := nd.Ones(nd.Shape{sizes["small"]})
	if err := s.PushPull("small", 0, []*nd.Array{g}, []*nd.Array{g}); err != nil {
		return nil, err
	}
	return g.Float32s()
}

// TestRestoreKnowsItsParts puts another part of the same shard, clock and size in the place of a
// part that a manifest names.
func TestRestoreKnowsItsParts(t *testing.T) {
	dir := t.TempDir()
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 1, Snapshots: dir})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		_, err := trainFrom(ctx, s, optimizer.SGD{LR: 0.1}, 2, 2)
		return err
	})
	last, _, err := kvstore.LatestSnapshot(dir)
	must(t, err)
	cfg := kvstore.JobConfig{Workers: 2, Servers: 1, Restore: last}
	must(t, cfg.CheckRestore())
	parts, err := filepath.Glob(filepath.Join(last, "shard-*"))
	if err != nil || len(parts) != 1 {
		t.Fatalf("parts %v, %v", parts, err)
	}
	b, err := os.ReadFile(parts[0])
	must(t, err)
	b = b[:len(b)-4]
	b[len(b)-1] ^= 1 // of the last value
	b = binary.LittleEndian.AppendUint32(b, wire.Checksum(b))
	if _, err := server.CheckSnapshot(wire.SourceOf(b)); err != nil {
		t.Fatalf("the other part is not whole: %v", err)
	}
	must(t, os.WriteFile(parts[0], b, 0o600))
	if err := cfg.CheckRestore(); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("another part in place of the named one: got %v, want an error about its checksum",
			err)
	}
}
