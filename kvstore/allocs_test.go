package kvstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
)

// TestRoundsAllocateLittle counts what rounds of a running job allocate, in all processes together,
// which here are goroutines. What is allocated is the engine's, one completion per operation, and
// the network's, two for each message; stores and drivers add nothing.
func TestRoundsAllocateLittle(t *testing.T) {
	if race {
		t.Skip("pools keep nothing for certain under the race detector")
	}
	for replicas, messages := range map[int]int{1: 4, 2: 6} {
		t.Run(fmt.Sprint(replicas, " copies"), func(t *testing.T) {
			const workers, lost = 2, 4 // messages that are sent again now and then, and ticks
			got := allocsPerRound(t, cluster.Config{Workers: workers, Servers: 2,
				Replicas: replicas, Heartbeat: time.Minute, Dead: time.Hour})
			if want := float64(workers + 2*messages + lost); got > want {
				t.Errorf("%v allocations per round of %d workers, want at most %v", got, workers,
					want)
			}
		})
	}
}

// allocsPerRound returns what a round of all workers allocates once buffers are warm.
func allocsPerRound(t *testing.T, cfg cluster.Config) (got float64) {
	const runs = 200
	var start, end [runs + 1]sync.WaitGroup
	for i := range start {
		start[i].Add(1)
		end[i].Add(cfg.Workers)
	}
	ready, measured := make(chan struct{}, cfg.Workers), make(chan struct{})
	go func() {
		defer close(measured)
		for range cfg.Workers {
			<-ready
		}
		i := 0
		got = testing.AllocsPerRun(runs, func() {
			start[i].Done()
			end[i].Wait()
			i++
		})
	}()
	work(t, cluster.Start(cfg), "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		w, g := nd.Zeros(nd.Shape{50000}), nd.Ones(nd.Shape{50000})
		if err := s.Init(ctx, "w", w); err != nil {
			return err
		}
		grads, outs := []*nd.Array{g}, []*nd.Array{w}
		round := func() error {
			if err := s.PushPull("w", 0, grads, outs); err != nil {
				return err
			}
			return w.Wait(ctx)
		}
		for range 50 {
			if err := round(); err != nil {
				return err
			}
		}
		ready <- struct{}{}
		for i := range start {
			start[i].Wait()
			if err := round(); err != nil {
				return err
			}
			end[i].Done()
		}
		return nil
	})
	<-measured
	return got
}
