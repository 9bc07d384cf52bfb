package kvstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestNormsAreOfWholeKeys trains keys that are longer than a slice by optimizers that look at
// norms.
func TestNormsAreOfWholeKeys(t *testing.T) {
	for _, o := range []optimizer.Optimizer{optimizer.LAMB{LR: 0.01}, optimizer.LARS{LR: 0.1,
		Momentum: 0.9, Eta: nd.Some(0.1)}} {
		t.Run(o.Name(), func(t *testing.T) {
			const steps = 3
			want := oracle(t, 2, steps, o)
			c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, SliceSize: 4096})
			work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
				if err := s.SetOptimizer(ctx, o); err != nil {
					return err
				}
				return train(ctx, t, s, nil, steps, true, want)
			})
		})
	}
}

// TestNormsOfSlicesAreRefused sets such an optimizer when it is too late.
func TestNormsOfSlicesAreRefused(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, SliceSize: 4096})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		if err := s.Init(ctx, "big", nd.Ones(nd.Shape{5000})); err != nil {
			return err
		}
		if err := s.SetOptimizer(ctx, optimizer.LAMB{}); err == nil ||
			!strings.Contains(err.Error(), `"big"`) {
			return fmt.Errorf("got %v, want an error about key big", err)
		}
		return nil
	})
}
