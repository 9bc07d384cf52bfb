package kvstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/optimizer"
)

// health waits for what the scheduler of a job says of its shards.
type health struct{ addr chan string }

func newHealth() *health { return &health{make(chan string, 16)} }

// announce takes in where the scheduler serves its page.
func (h *health) announce(n wire.Node, addr string) {
	if n.Role == wire.Scheduler {
		h.addr <- addr
	}
}

// whole waits until every shard has two copies, every server leads as many as any other, and the
// process in a place is a later one than that of an incarnation. It returns the incarnation of that
// process.
func (h *health) whole(ctx context.Context, addr string, n wire.Node, before uint32) (uint32,
	error) {
	for ctx.Err() == nil {
		st, err := kvstore.ReadStatus(ctx, addr)
		for _, m := range st.Members {
			if err == nil && m.Node == n.String() && m.Alive && m.Incarnation > before &&
				balanced(&st) {
				return m.Incarnation, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond): // the next look
		}
	}
	return 0, ctx.Err()
}

func balanced(st *kvstore.Status) bool {
	led := map[int]int{}
	for _, sh := range st.Shards {
		if !sh.InSync || sh.Swapped || sh.Lost {
			return false
		}
		led[sh.Primary]++
	}
	for _, n := range led {
		if n*len(led) != len(st.Shards) {
			return false
		}
	}
	return len(led) == 2
}

// TestServersAndSchedulerDie replaces processes while rounds go on: the result is that of an
// undisturbed run, and at the end each server leads as many shards as at the beginning.
func TestServersAndSchedulerDie(t *testing.T) {
	const steps = 60
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01}
	want := oracle(t, 3, steps, o)
	h := newHealth()
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, SliceSize: 4096,
		Dir:       t.TempDir(),
		Heartbeat: 30 * time.Millisecond, Dead: 300 * time.Millisecond, Announce: h.announce})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- disturb(ctx, c, h) }()
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		err = train(ctx, t, s, o, steps, true, want)
		if rank == 0 { // the others wait for it in Close
			err = errors.Join(err, <-over)
		}
		return errors.Join(err, s.Barrier(ctx), s.Close())
	})
	must(t, err)
	must(t, c.Wait())
}

// disturb replaces a server, the scheduler and the other server, each when all shards have their
// copies.
func disturb(ctx context.Context, c *cluster.Cluster, h *health) error {
	addr := <-h.addr
	for rank := range uint16(2) {
		server, scheduler := wire.Node{Role: wire.Server, Rank: 1 - rank},
			wire.Node{Role: wire.Scheduler}
		old, err := h.whole(ctx, addr, server, 0)
		if err != nil {
			return err
		}
		c.Kill(server)
		c.Restart(server)
		if rank == 0 {
			c.Kill(scheduler)
			c.Restart(scheduler)
			addr = <-h.addr
		}
		if _, err := h.whole(ctx, addr, server, old); err != nil {
			return err
		}
	}
	return nil
}
