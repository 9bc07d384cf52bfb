package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"gomx/internal/cluster"
)

// TestJob trains with three workers, one of which is slow, asynchronously and in step.
func TestJob(t *testing.T) {
	for _, store := range []string{"dist_async", "dist_sync"} {
		t.Run(store, func(t *testing.T) {
			c := cluster.Start(cluster.Config{Workers: 3, Servers: 1})
			err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
				v, err := run(ctx, store, 20, time.Millisecond)
				if err == nil && v < 0.75 {
					t.Errorf("worker %d: accuracy %v, want at least 0.75", rank, v)
				}
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
