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

// small are few clicks of few features: the true probabilities have a loss of 0.45, the best
// constant one of 0.69.
func small(t *testing.T) options {
	return options{LibSVMConfig: dataio.LibSVMConfig{TextConfig: dataio.TextConfig{BatchSize: 64,
		DataShape: nd.Shape{400}}}, out: t.TempDir(), samples: 8000, epochs: 2, lr: 0.1,
		store: "local"}
}

func TestClicks(t *testing.T) {
	if loss, err := run(t.Context(), small(t)); err != nil || loss > 0.5 {
		t.Errorf("loss %v, %v, want at most 0.5", loss, err)
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
			clicks := data.Clicks{Features: 400, Fields: 20, Seed: 1}
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
				if err == nil && loss > 0.5 {
					t.Errorf("loss %v, want at most 0.5", loss)
				}
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
