package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// counting is a program of dist_async: step i of worker r pushes 1 to element steps·r + i of every
// key, so that the result shows how often each push counts.
type counting struct {
	s     *kvstore.KV
	steps int
	n     int
	outs  map[string]*nd.Array
}

// begin opens the store of a job and makes the keys.
func (x *counting) begin(ctx context.Context) (err error) {
	if x.s, err = kvstore.Open(ctx, "dist_async"); err != nil {
		return err
	}
	for _, key := range []string{"a", "b", "c"} {
		x.outs[key] = nd.Zeros(nd.Shape{x.n})
		if err := x.s.Broadcast(ctx, key, nd.Zeros(nd.Shape{x.n}), x.outs[key]); err != nil {
			return err
		}
	}
	return x.s.SetOptimizer(ctx, optimizer.SGD{LR: 1})
}

// step pushes to all keys and waits for nothing.
func (x *counting) step(i int) error {
	g := make([]float32, x.n)
	g[x.steps*x.s.Rank()+i] = 1
	for key, out := range x.outs {
		if err := x.s.PushPull(key, 0, []*nd.Array{nd.FromSlice(g)}, []*nd.Array{out}); err != nil {
			return err
		}
	}
	return nil
}

// check wants every push of all workers to count once.
func (x *counting) check(ctx context.Context) error {
	for _, out := range x.outs {
		if err := out.Wait(ctx); err != nil {
			return err
		}
	}
	if err := x.s.Barrier(ctx); err != nil {
		return err
	}
	for key, out := range x.outs {
		if err := x.s.Pull(key, 0, out); err != nil {
			return err
		}
		v, err := out.Float32s()
		if err != nil {
			return err
		}
		for i := range v {
			if v[i] != -1 {
				return fmt.Errorf("push %d of worker %d to key %s counts %v times", i%x.steps,
					i/x.steps, key, -v[i])
			}
		}
	}
	return nil
}

// TestAsyncCountsOnceAfterARestart replaces a worker of dist_async at some step, with pushes under
// way: its successor goes on behind the last step that all keys have, and every push counts exactly
// once.
func TestAsyncCountsOnceAfterARestart(t *testing.T) {
	const steps, workers = 20, 2
	for _, died := range []int{0, 1, 7, 19} {
		last := died // worker 1 alone uses it
		c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2, Heartbeat: 50 *
			time.Millisecond, Dead: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := c.Work(ctx, func(ctx context.Context, rank int) error {
			x := &counting{steps: steps, n: steps * workers, outs: map[string]*nd.Array{}}
			if err := x.begin(ctx); err != nil {
				return err
			}
			for i := 0; i < steps; i++ {
				if err := x.step(i); err != nil {
					return err
				}
				if rank != 1 || i != last {
					continue
				}
				again, err := c.Again(ctx, rank)
				if err != nil {
					return err
				}
				last = -1
				if err := x.begin(again); err != nil {
					return err
				}
				i = int(x.s.Resumed()) - 1
			}
			return errors.Join(x.check(ctx), x.s.Close())
		})
		cancel()
		must(t, err)
		must(t, c.Wait())
	}
}
