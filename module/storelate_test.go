package module_test

import (
	"context"
	"errors"
	"fmt"
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

// gated is an iterator that waits before one of its batches.
type gated struct {
	*dataio.Table
	at   int
	open <-chan struct{}
	n    int
}

// Next implements dataio.Iter.
func (g *gated) Next(ctx context.Context) (*dataio.Batch, error) {
	if g.n == g.at {
		select {
		case <-g.open:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g.n++
	return g.Table.Next(ctx)
}

// lateJob trains with three workers whose rounds close without the slowest. Worker 2 stops before a batch until the others have ended,
// or have done so many batches. It returns everybody's parameters, and how many batches everybody has trained on.
func lateJob(t *testing.T, epochs, stops, until int) (params []map[string][]float32, batches []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2, Backups: 1})
	params, batches = make([]map[string][]float32, 3), make([]int, 3)
	open := make(chan struct{})
	var ahead sync.WaitGroup
	ahead.Add(2)
	go func() {
		ahead.Wait()
		close(open)
	}()
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		reached := sync.OnceFunc(ahead.Done)
		var data dataio.Iter = storeData(t, 53)
		if rank == 2 {
			data = &gated{Table: data.(*dataio.Table), at: stops, open: open}
		} else {
			defer reached()
		}
		m := module.New(storeNet(), module.Seed(uint64(5+rank)))
		err := m.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}), module.Optimize(storeOptimizer), module.Store("dist_sync"),
			module.OnBatch(func(*module.BatchEnd) error {
				if batches[rank]++; rank < 2 && batches[rank] == until {
					reached()
				}
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

// TestALateWorkerLeavesRoundsOut lets one of three workers sleep until the others have ended: it trains on one batch, which comes too
// late for every round, finds out how far the others are, and ends with what they have: the result of two workers.
func TestALateWorkerLeavesRoundsOut(t *testing.T) {
	const epochs = 3
	var parts []dataio.Iter
	for rank := range 3 {
		p := storeData(t, 53)
		if err := p.Shard(rank, 3); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	want := oneProcess(t, module.New(storeNet(), module.Seed(5)), epochs, parts[:2])
	params, batches := lateJob(t, epochs, 0, math.MaxInt)
	if each := epochs * parts[0].(*dataio.Table).Batches(); !slices.Equal(batches, []int{each, each, 1}) {
		t.Errorf("the workers have trained on %v batches, want %d, %d and 1", batches, each, each)
	}
	compareParams(t, params[1:], params[0])
	for name, w := range want {
		for i, v := range params[0][name] {
			if math.Abs(float64(v-w[i])) > 1e-5*(1+math.Abs(float64(w[i]))) {
				t.Fatalf("%s is %v at %d, want %v: that of the two workers that were not late", name, v, i, w[i])
			}
		}
	}
}

// TestALateWorkerCatchesUp lets one of three workers sleep in the middle of an epoch while the others go on: it leaves out what they have
// done, contributes again, and all end with the same.
func TestALateWorkerCatchesUp(t *testing.T) {
	const epochs, stops, until = 5, 2, 9
	params, batches := lateJob(t, epochs, stops, until)
	compareParams(t, params[1:], params[0])
	most := epochs * (53 / 3 / 4)
	// The batch after the pause comes late; those that the others have done meanwhile are left out.
	if late := batches[2]; late > most-(until-stops-2) || late < stops+1 {
		t.Errorf("the late worker has trained on %d of %d batches, want at most %d: %v", late, most, most-(until-stops-2), fmt.Sprint(batches))
	}
}
