package kvstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// The folders testdata/release-COMMIT have files that earlier releases wrote: a snapshot of a job of
// two workers and two servers after three steps, the view of its scheduler, and a message. This
// release reads the snapshots of the former one, and names the version of what it does not read.
const (
	former = "testdata/release-c91b512/"
	older  = "testdata/release-d465f65/"
)

// TestSnapshotOfTheFormerRelease continues a job from the snapshot. Its next step has the result of
// a job that makes all four steps itself.
func TestSnapshotOfTheFormerRelease(t *testing.T) {
	run := func(c cluster.Config) (values []float32) {
		t.Helper()
		c.Workers, c.Servers, c.Replicas = 2, 2, 2
		work(t, cluster.Start(c), "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			out := nd.Zeros(nd.Shape{5})
			err := errors.Join(s.Broadcast(ctx, "w", nd.Ones(nd.Shape{5}), out),
				s.SetOptimizer(ctx, optimizer.SGD{LR: 0.5, Momentum: 0.5}))
			for range 4 - int(s.Resumed()) {
				g := nd.FromSlice([]float32{1, 2, 3, 4, float32(s.Rank())})
				err = errors.Join(err, s.PushPull("w", 0, []*nd.Array{g}, []*nd.Array{out}))
			}
			if err != nil {
				return err
			}
			got, err := out.Float32s()
			if s.Rank() == 0 {
				values = got
			}
			return err
		})
		return values
	}
	want, got := run(cluster.Config{}), run(cluster.Config{Restore: former + "snapshot-3"})
	if !slices.Equal(got, want) {
		t.Errorf("the job continues with %v, want %v", got, want)
	}
}

// TestSnapshotOfAnOlderRelease wants an error that names the version.
func TestSnapshotOfAnOlderRelease(t *testing.T) {
	dir, _, err := kvstore.LatestSnapshot(older)
	if err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("the snapshot is %q, %v; want an error that names version 1", dir, err)
	}
}

// TestViewsOfEarlierReleases lets a scheduler lead a job whose view an earlier release has written.
func TestViewsOfEarlierReleases(t *testing.T) {
	for _, release := range []string{former, older} {
		b, err := os.ReadFile(release + "view")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "view-1")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		lead, err := view.Folder(dir, 1).Campaign(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lead.Load(t.Context()); err == nil || !strings.Contains(err.Error(),
			"version 1,") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: the view is loaded with the error %v, want one that names the file and "+
				"version 1", release, err)
		}
		if err := lead.Resign(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestMessagesOfEarlierReleases decodes messages.
func TestMessagesOfEarlierReleases(t *testing.T) {
	for _, release := range []string{former, older} {
		b, err := os.ReadFile(release + "message")
		if err != nil {
			t.Fatal(err)
		}
		var m wire.Message
		err = wire.Decode(b[:wire.HeaderSize], b[wire.HeaderSize:], &m)
		if !errors.Is(err, wire.ErrVersion) || !strings.Contains(err.Error(), "version") {
			t.Errorf("%s: the message decodes with the error %v, want one about its version",
				release, err)
		}
	}
}
