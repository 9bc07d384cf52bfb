//go:build linux

package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// TestAllreduceReadsSumsInPlace adds up a large key over shared memory until every worker has read
// sums of the others in place: all sums are those in the order of the ranks.
func TestAllreduceReadsSumsInPlace(t *testing.T) {
	const workers = 3
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	network := mem.NewNetwork(1)
	var inPlace [workers]atomic.Uint64 // sums that a worker has read in place
	config := func(n wire.Node) kvstore.JobConfig {
		return kvstore.JobConfig{Node: n, Scheduler: "mem:scheduler", ID: 1, Workers: workers,
			Open: func(c transport.Config) (transport.Endpoint, error) {
				handler := c.Handler
				c.Handler = func(from wire.Node, m *wire.Message) {
					if _, lent := m.Owner.(wire.Lent); lent {
						inPlace[n.Rank].Add(1)
					}
					handler(from, m)
				}
				return shm.Open(c, shm.Options{
					Base: func(c transport.Config) (transport.Endpoint, error) {
						return mem.Open(network, c)
					}})
			}}
	}
	parts := make([][]float32, workers)
	for rank := range parts {
		parts[rank] = contribution(rank, 0, 0, 2_400_000) // past the caches
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := kvstore.Serve(ctx, config(wire.Node{Role: wire.Scheduler})); err != nil &&
			ctx.Err() == nil {
			t.Error(err)
		}
	})
	for rank := range uint16(workers) {
		wg.Go(func() {
			job, err := kvstore.Join(ctx, config(wire.Node{Role: wire.Worker, Rank: rank}))
			if err != nil {
				t.Error(err)
				return
			}
			err = addInPlace(kvstore.WithJob(ctx, job), parts, &inPlace[rank])
			if err = errors.Join(err, job.Close(ctx)); err != nil {
				t.Errorf("worker %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
}

// addInPlace runs rounds until all workers have read sums in place, and checks the sums. In step n
// each worker contributes n times its part.
func addInPlace(ctx context.Context, parts [][]float32, inPlace *atomic.Uint64) error {
	s, err := kvstore.Open(ctx, "allreduce", kvstore.Timeout(time.Minute))
	if err != nil {
		return err
	}
	shape, mine, want := nd.Shape{len(parts[0])}, slices.Clone(parts[0]), slices.Clone(parts[0])
	grad, out := nd.Zeros(shape), nd.Zeros(shape)
	if err := s.Init(ctx, "w", grad); err != nil {
		return err
	}
	for step := range 100 {
		for i := range want {
			mine[i], want[i] = float32(step)*parts[s.Rank()][i], float32(step)*parts[0][i]
			for _, part := range parts[1:] {
				want[i] += float32(float32(step) * part[i]) // no fused product
			}
		}
		if err := nd.CopyFrom(grad, mine); err != nil {
			return err
		}
		if err := s.PushPull("w", 0, []*nd.Array{grad}, []*nd.Array{out}); err != nil {
			return err
		}
		got, err := out.Float32s()
		if err != nil {
			return err
		}
		if !sameBits(got, want) {
			return fmt.Errorf("step %d: the sum differs", step)
		}
		read, err := s.Agree(ctx, fmt.Sprint("read ", step), inPlace.Load())
		if err != nil {
			return err
		}
		if step >= 3 && !slices.Contains(read, 0) {
			return s.Close()
		}
	}
	return errors.New("a worker has read no sum in place")
}
