package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestNetworkFaults trains over networks that misbehave in every way that they can, and wants the
// result of one process, bit for bit.
func TestNetworkFaults(t *testing.T) {
	const steps = 6
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9}
	want := oracle(t, 2, steps, o)
	for name, f := range map[string]mem.Faults{
		"loss":        {Loss: 0.02},
		"duplication": {Duplicate: 0.1},
		"reordering":  {Reorder: 0.1},
		"delay":       {MinDelay: time.Millisecond, MaxDelay: 3 * time.Millisecond},
		"everything":  {Loss: 0.01, Duplicate: 0.05, Reorder: 0.05, MaxDelay: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, SliceSize: 4096,
				Seed: 7})
			c.Network.SetFaults(f)
			work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
				return train(ctx, t, s, o, steps, true, want)
			})
		})
	}
}

// TestPartitionHeals cuts a worker off from a server in the middle of a training, first both ways,
// then one way.
func TestPartitionHeals(t *testing.T) {
	const steps = 6
	want := oracle(t, 2, steps, nil)
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, SliceSize: 4096})
	worker, server := wire.Node{Role: wire.Worker, Rank: 1}, wire.Node{Role: wire.Server}
	joined := make(chan struct{}, 2)
	go func() {
		<-joined
		c.Network.Partition([]wire.Node{worker}, []wire.Node{server})
		time.Sleep(300 * time.Millisecond) // how long it lasts decides nothing
		c.Network.Heal()
		c.Network.Cut(server, worker)
		time.Sleep(300 * time.Millisecond)
		c.Network.Heal()
	}()
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		joined <- struct{}{}
		if err := train(ctx, t, s, nil, steps, true, want); err != nil {
			return fmt.Errorf("worker %d: %w", s.Rank(), err)
		}
		return nil
	})
}

// TestAbandonedCallsEnd lets a worker give up its job while an operation waits for another worker:
// whoever waits for the operation is told at once, and not when its deadline has passed.
func TestAbandonedCallsEnd(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 2, Dead: time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	must(t, c.Work(ctx, func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil || rank == 1 {
			return err
		}
		if err := s.Init(ctx, "w", nd.Zeros(nd.Shape{5})); err != nil {
			return err
		}
		out := nd.Zeros(nd.Shape{5})
		if err := s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{5})},
			[]*nd.Array{out}); err != nil {
			return err
		}
		if _, err := c.Again(ctx, rank); err != nil {
			return err
		}
		if err := out.Wait(ctx); !errors.Is(err, ps.ErrClosed) {
			return fmt.Errorf("got %w, want %w", err, ps.ErrClosed)
		}
		return nil
	}))
	must(t, c.Wait())
}
