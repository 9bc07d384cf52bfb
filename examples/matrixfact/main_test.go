package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"gomx/examples/data"
	"gomx/internal/cluster"
)

// wanted is the error that the factors of small ratings allow: their noise is 0.1, and the ratings
// themselves have a standard deviation of about 1.
const wanted = 0.2

// small are ratings of few users and items.
func small() options {
	return options{Ratings: data.Ratings{Users: 120, Items: 80, Rank: 4, Noise: 0.1, Seed: 1},
		ratings: 4800, batch: 80, epochs: 15, lr: 0.05, store: "local"}
}

func TestRatings(t *testing.T) {
	if rmse, err := run(t.Context(), small()); err != nil || rmse > wanted {
		t.Errorf("error %v, %v, want at most %v", rmse, err, wanted)
	}
}

// TestJob trains with three workers and two servers, with several bounds of the staleness. All
// workers end with the same tables.
func TestJob(t *testing.T) {
	for _, staleness := range []int{0, 3} {
		t.Run(fmt.Sprint("staleness ", staleness), func(t *testing.T) {
			o := small()
			o.store, o.staleness = "dist_ssp", staleness
			var mu sync.Mutex
			var found []float64
			c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
			err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
				rmse, err := run(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				found = append(found, rmse)
				return err
			})
			if err := errors.Join(err, c.Wait()); err != nil {
				t.Fatal(err)
			}
			for _, rmse := range found {
				if math.Abs(rmse-found[0]) > 1e-5 || rmse > wanted {
					t.Errorf("errors %v, want the same in all workers, at most %v", found, wanted)
				}
			}
		})
	}
}
