package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"gomx/examples/data"
	"gomx/internal/cluster"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

// small are clicks of few features: the true probabilities have a loss of 0.43. A model without
// factors has one of 0.49.
func small(t *testing.T) options {
	return options{LibSVMConfig: dataio.LibSVMConfig{TextConfig: dataio.TextConfig{BatchSize: 64,
		DataShape: nd.Shape{100}}}, rank: 4, out: t.TempDir(), samples: 16_000, epochs: 3, lr: 0.1,
		store: "local"}
}

func TestClicks(t *testing.T) {
	if loss, err := run(t.Context(), small(t)); err != nil || loss > 0.475 {
		t.Errorf("loss %v, %v, want at most 0.475", loss, err)
	}
}

// TestJob trains with two workers and two servers, asynchronously and in step. Each worker reads
// its part of one file.
func TestJob(t *testing.T) {
	for _, store := range []string{"dist_async", "dist_sync"} {
		t.Run(store, func(t *testing.T) {
			o := small(t)
			o.store = store
			o.Data, o.test = filepath.Join(o.out, "train"), filepath.Join(o.out, "test")
			clicks := data.Clicks{Features: 100, Fields: 10, Rank: 4, Seed: 1}
			_, err := clicks.Write(o.Data, 16_000, 0)
			if err == nil {
				_, err = clicks.Write(o.test, 4000, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			c := cluster.Start(cluster.Config{Workers: 2, Servers: 2})
			err = c.Work(t.Context(), func(ctx context.Context, _ int) error {
				loss, err := run(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && loss > 0.475 {
					t.Errorf("loss %v, want at most 0.475", loss)
				}
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
