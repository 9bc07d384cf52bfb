package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gomx/internal/cluster"
)

// TestJob trains with three workers: at the end all have the same weights.
func TestJob(t *testing.T) {
	var mu sync.Mutex
	found := map[float64]bool{}
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
	err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
		v, err := run(ctx, 2, 100)
		mu.Lock()
		defer mu.Unlock()
		found[v] = true
		return err
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	for v := range found {
		if t.Log(v); v < 0.75 || len(found) > 1 {
			t.Errorf("accuracies %v, want one, at least 0.75", found)
		}
	}
}
