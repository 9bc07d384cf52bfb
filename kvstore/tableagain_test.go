package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
)

// TestTableAgain lets a worker die: its successor begins behind the steps that Resumed counts, and
// all workers end with the same rows.
func TestTableAgain(t *testing.T) {
	const workers, steps, dies = 3, 30, 17
	for _, staleness := range []int{0, 3} {
		t.Run(fmt.Sprint("staleness ", staleness), func(t *testing.T) {
			c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
			again := false
			var body func(ctx context.Context, rank int) error
			body = func(ctx context.Context, rank int) error {
				s, err := kvstore.Open(ctx, "dist_ssp", kvstore.Staleness(staleness))
				if err != nil {
					return err
				}
				table, err := s.Table(ctx, "rows", nd.Shape{10, workers})
				if err != nil {
					return err
				}
				for step := int(s.Resumed()); step < steps; step++ {
					rows := []int{3, step % 10}
					if _, err := table.BatchGet(ctx, rows); err != nil {
						return err
					}
					err := errors.Join(table.IncCell(3, rank, 1), table.IncCell(step%10, rank, 1))
					if err != nil {
						return err
					}
					if rank == 0 && step == dies && !again {
						again = true
						if ctx, err = c.Again(ctx, rank); err != nil {
							return err
						}
						return body(ctx, rank)
					}
					if err := s.Clock(ctx); err != nil {
						return err
					}
				}
				for range staleness {
					if err := s.Clock(ctx); err != nil {
						return err
					}
				}
				all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
				got, err := table.BatchGet(ctx, all)
				var want []float32
				for row := range all {
					for range workers {
						n := float32(steps / 10)
						if row == 3 {
							n += steps
						}
						want = append(want, n)
					}
				}
				if err == nil && !slices.Equal(got, want) {
					err = fmt.Errorf("worker %d ends with %v, want %v", rank, got, want)
				}
				return errors.Join(err, s.Close())
			}
			if err := errors.Join(c.Work(t.Context(), body), c.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
