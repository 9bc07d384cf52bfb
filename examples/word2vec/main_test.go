package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gomx/examples/data"
	"gomx/internal/cluster"
)

// wanted is the share of words that are nearest to a word of their class; by chance that is 0.1.
const wanted = 0.95

// small is a short text of few words.
func small() options {
	return options{Words: data.Words{Classes: 10, PerClass: 12, Seed: 1}, sentences: 2000, window: 1,
		units: 12, negatives: 5, batch: 128, epochs: 2, lr: 0.02, store: "local"}
}

func TestClasses(t *testing.T) {
	if share, err := run(t.Context(), small()); err != nil || share < wanted {
		t.Errorf("share %v, %v, want at least %v", share, err, wanted)
	}
}

// TestJob trains with three workers and two servers, in step and asynchronously.
func TestJob(t *testing.T) {
	for _, store := range []string{"dist_sync", "dist_async"} {
		t.Run(store, func(t *testing.T) {
			o := small()
			o.store = store
			var mu sync.Mutex
			c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
			err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
				share, err := run(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && share < wanted {
					t.Errorf("share %v, want at least %v", share, wanted)
				}
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
