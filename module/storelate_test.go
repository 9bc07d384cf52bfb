package module_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/module"
)

// gated is an iterator that asks before it hands out a batch.
type gated struct {
	*dataio.Table
	before func(ctx context.Context, n int) error
	n      int
}

// Next implements dataio.Iter.
func (g *gated) Next(ctx context.Context) (*dataio.Batch, error) {
	b, err := g.Table.Next(ctx)
	if err == nil {
		err = g.before(ctx, g.n)
		g.n++
	}
	return b, err
}

// Skip implements dataio.Skipper: batches that are passed over count too.
func (g *gated) Skip(ctx context.Context, n int) error {
	for range n {
		if _, err := g.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when the channel is closed.
func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lateJob trains with three workers whose rounds close without the slowest. Worker 2 comes to the
// batch where it stops before anybody goes past it, and goes on when the others have ended or come
// to another batch, where they wait until it is there too. lateJob returns everybody's parameters,
// and how many batches everybody has trained on.
func lateJob(t *testing.T, epochs, stops, until int) (params []map[string][]float32,
	batches []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Backups: 1})
	params, batches = make([]map[string][]float32, 3), make([]int, 3)
	stopped, open, caughtUp := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var ahead sync.WaitGroup
	ahead.Add(2)
	go func() {
		ahead.Wait()
		close(open)
	}()
	late := func(ctx context.Context, n int) error {
		switch n {
		case stops:
			close(stopped)
			return wait(ctx, open)
		case until:
			close(caughtUp)
		}
		return nil
	}
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		data := &gated{Table: storeData(t, 53), before: late}
		if rank != 2 {
			reached := sync.OnceFunc(ahead.Done)
			defer reached()
			data.before = func(ctx context.Context, n int) error {
				switch n {
				case stops:
					return wait(ctx, stopped)
				case until:
					reached()
					return wait(ctx, caughtUp)
				}
				return nil
			}
		}
		m := module.New(storeNet(), module.Seed(uint64(5+rank)))
		err := m.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer), module.Store("dist_sync"),
			module.OnBatch(func(*module.BatchEnd) error {
				batches[rank]++
				return nil
			}))
		if err != nil {
			return err
		}
		args, _ := m.Params()
		params[rank] = floats(t, args)
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return params, batches
}

// TestALateWorkerLeavesRoundsOut lets one of three workers sleep until the others have ended: it
// trains on one batch, which comes too late for every round, finds out how far the others are, and
// ends with what they have: the result of two workers.
func TestALateWorkerLeavesRoundsOut(t *testing.T) {
	const epochs = 3
	parts := storeParts(t)
	want := oneProcess(t, module.New(storeNet(), module.Seed(5)), epochs, parts[:2])
	params, batches := lateJob(t, epochs, 0, math.MaxInt)
	if each := epochs * parts[0].(*dataio.Table).Batches(); !slices.Equal(batches,
		[]int{each, each, 1}) {
		t.Errorf("the workers have trained on %v batches, want %d, %d and 1", batches, each, each)
	}
	compareParams(t, params[1:], params[0])
	for name, w := range want {
		for i, v := range params[0][name] {
			if math.Abs(float64(v-w[i])) > 1e-5*(1+math.Abs(float64(w[i]))) {
				t.Fatalf("%s is %v at %d, want %v: that of the two workers that were not late",
					name, v, i, w[i])
			}
		}
	}
}

// TestALateWorkerCatchesUp lets one of three workers sleep in the middle of an epoch while the
// others go on: it leaves out what they have done, contributes again, and all end with the same.
func TestALateWorkerCatchesUp(t *testing.T) {
	const epochs, stops, until = 5, 2, 9
	params, batches := lateJob(t, epochs, stops, until)
	compareParams(t, params[1:], params[0])
	most := epochs * (53 / 3 / 4)
	// The batch after the pause comes late; those that the others have done meanwhile are left out.
	// Of the batches before the pause those after a late one may be left out too.
	most -= until - stops - 1
	if late := batches[2]; late > most || late < 3 {
		t.Errorf("the workers have trained on %v batches, want 3 to %d for the late one", batches,
			most)
	}
}
