package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"gomx/engine"
)

// engineOps is the number of operations of one repetition, as in peers/engine.c.
const engineOps = 200000

// pattern is a stream of operations on 64 variables: push pushes operation number i.
type pattern struct {
	name string
	push func(e *engine.Engine, t *engine.Task, v []*engine.Var, i int)
}

// patterns returns the patterns of peers/engine.c.
func patterns() []pattern {
	rng := rand.New(rand.NewPCG(1, 1))
	pick := make([][4]byte, engineOps)
	for i := range pick {
		pick[i] = [4]byte{byte(rng.IntN(32)), byte(32 + rng.IntN(16)), byte(48 + rng.IntN(8)),
			byte(56 + rng.IntN(8))}
	}
	update := func(v *engine.Var) engine.Use { return engine.Use{Var: v, Access: engine.Update} }
	return []pattern{
		{"chain", func(e *engine.Engine, t *engine.Task, v []*engine.Var, _ int) {
			e.PushUses(t, update(v[0]))
		}},
		{"independent64", func(e *engine.Engine, t *engine.Task, v []*engine.Var, i int) {
			e.PushUses(t, update(v[i%len(v)]))
		}},
		{"read3write1", func(e *engine.Engine, t *engine.Task, v []*engine.Var, i int) {
			p := &pick[i]
			e.PushUses(t, engine.Use{Var: v[p[0]]}, engine.Use{Var: v[p[1]]},
				engine.Use{Var: v[p[2]]}, update(v[p[3]]))
		}},
	}
}

// scheduling ports peers/engine.c: the cost per operation of the engine's queues, with one worker
// and with two, for operations that only increment a counter. The inline path is off: the pushing
// goroutine never runs an operation itself.
func scheduling() ([]Workload, error) {
	var list []Workload
	for workers := 1; workers <= 2; workers++ {
		for _, p := range patterns() {
			w := Workload{Name: "engine." + p.name, Unit: "ns/op",
				Run: func(ctx context.Context) (float64, error) { return p.cost(ctx, workers) }}
			if workers > 1 {
				w.Line, w.Name = w.Name, fmt.Sprintf("%s.workers%d", w.Name, workers)
			}
			list = append(list, w)
		}
	}
	return list, nil
}

// cost returns the nanoseconds per operation in the best of three repetitions.
func (p *pattern) cost(ctx context.Context, workers int) (float64, error) {
	e, err := engine.New(engine.Config{Workers: workers, NoInline: true})
	if err != nil {
		return 0, err
	}
	defer e.Close()
	v := make([]*engine.Var, 64)
	for i := range v {
		v[i] = e.NewVar("v")
	}
	var ran atomic.Int64
	task := engine.Task{Name: "x", Fn: count, Arg: &ran, Cheap: true}
	const repetitions = 3
	least := 0.0
	for range repetitions {
		start := time.Now()
		for i := range engineOps {
			p.push(e, &task, v, i)
		}
		if err := e.WaitAll(ctx); err != nil {
			return 0, err
		}
		if ns := float64(time.Since(start).Nanoseconds()) / engineOps; least == 0 || ns < least {
			least = ns
		}
	}
	if got := ran.Load(); got != repetitions*engineOps {
		return 0, fmt.Errorf("%d operations ran, want %d", got, repetitions*engineOps)
	}
	return least, nil
}

// count is the body of every operation.
func count(r *engine.Run) error {
	r.Arg.(*atomic.Int64).Add(1)
	return nil
}
