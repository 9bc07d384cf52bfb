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

// wanted is an area under the ROC curve of small clicks. The wide part alone reaches 0.844.
const wanted = 0.847

// small are clicks of few features.
func small(t *testing.T) options {
	return options{LibSVMConfig: dataio.LibSVMConfig{TextConfig: dataio.TextConfig{BatchSize: 64,
		DataShape: nd.Shape{100}}}, fields: 10, units: 8, out: t.TempDir(), samples: 16_000,
		epochs: 3, lr: 0.05, store: "local"}
}

func TestClicks(t *testing.T) {
	if auc, err := run(t.Context(), small(t)); err != nil || auc < wanted {
		t.Errorf("AUC %v, %v, want at least %v", auc, err, wanted)
	}
}

// TestJob trains with three workers and two servers, in step and asynchronously. Each worker reads
// its part of one file.
func TestJob(t *testing.T) {
	for _, store := range []string{"dist_sync", "dist_async"} {
		t.Run(store, func(t *testing.T) {
			o := small(t)
			o.store = store
			o.Data, o.test = filepath.Join(o.out, "train"), filepath.Join(o.out, "test")
			clicks := data.Clicks{Features: 100, Fields: 10, Rank: 4, Seed: 1}
			_, err := clicks.Write(o.Data, 24_000, 0)
			if err == nil {
				_, err = clicks.Write(o.test, 4000, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
			err = c.Work(t.Context(), func(ctx context.Context, _ int) error {
				auc, err := run(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && auc < wanted {
					t.Errorf("AUC %v, want at least %v", auc, wanted)
				}
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
