package bench

import (
	"context"
	"fmt"
	"time"

	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

// best returns the least seconds per call of step in five repetitions of n calls. wait waits for
// the operations that the calls started.
func best(ctx context.Context, n int, step func(), wait func(context.Context) error) (float64,
	error) {
	loop := func(n int) error {
		for range n {
			step()
		}
		return wait(ctx)
	}
	if err := loop(max(1, n/10)); err != nil {
		return 0, err
	}
	least := 0.0
	for range 5 {
		start := time.Now()
		if err := loop(n); err != nil {
			return 0, err
		}
		if t := time.Since(start).Seconds() / float64(n); least == 0 || t < least {
			least = t
		}
	}
	return least, nil
}

// rate makes a workload of n calls of step, where work is the work of a call in the given unit.
func rate(name, unit string, n int, work float64, step func()) Workload {
	return Workload{Name: name, Unit: unit, Run: func(ctx context.Context) (float64, error) {
		s, err := best(ctx, n, step, nd.WaitAll)
		return work / s, err
	}}
}

// small is the number of calls of an operator on four numbers.
const small = 20000

// each makes a workload that measures microseconds per call.
func each(name string, step func()) Workload {
	return Workload{Name: name, Unit: "us/op", Run: func(ctx context.Context) (float64, error) {
		s, err := best(ctx, small, step, nd.WaitAll)
		return s * 1e6, err
	}}
}

// queued is imperative.dependent on an engine without inline path: every operation goes through the
// queues.
func queued() Workload {
	run := func(ctx context.Context) (float64, error) {
		e, err := engine.New(engine.Config{NoInline: true})
		if err != nil {
			return 0, err
		}
		defer e.Close()
		x := nd.Ones(nd.Shape{4}, nd.Using(e))
		defer x.Close()
		s, err := best(ctx, small, func() { x.AddScalarInPlace(1) }, e.WaitAll)
		return s * 1e6, err
	}
	return Workload{Name: "imperative.dependent.queue", Line: "imperative.dependent", Unit: "us/op",
		Run: run}
}

// into returns a step that computes an operator into an existing array.
func into(o *op.Op, out *nd.Array, in ...*nd.Array) func() {
	outs := []*nd.Array{out}
	return func() {
		if _, err := nd.Invoke(o, nil, in, outs); err != nil {
			panic(err)
		}
	}
}

// imperative ports peers/imperative.py: the costs of single operators.
func imperative() ([]Workload, error) {
	x := nd.Ones(nd.Shape{4})
	xs := make([]*nd.Array, 16)
	for i := range xs {
		xs[i] = nd.Ones(nd.Shape{4})
	}
	next := 0
	a, b, c := nd.Ones(nd.Shape{side, side}), nd.Ones(nd.Shape{side, side}),
		nd.Ones(nd.Shape{side, side})
	list := []Workload{
		each("imperative.dependent", func() { x.AddScalarInPlace(1) }),
		queued(),
		each("imperative.independent", func() { xs[next%len(xs)].AddScalarInPlace(1); next++ }),
		rate("imperative.add", "GB/s", 10, 12*side*side/1e9, into(prim.ElemwiseAdd.Op, c, a, b)),
		rate("imperative.exp", "Gelem/s", 10, side*side/1e9, into(prim.Exp.Op, c, a)),
	}
	return append(list, dots(256, 1024, 2048)...), nil
}

// gemm measures matrix products of more sizes; the peers measure those in imperative.py.
func gemm() ([]Workload, error) { return dots(256, 1024, 2048), nil }

func dots(sizes ...int) []Workload {
	var list []Workload
	for _, m := range sizes {
		a, b, c := nd.Ones(nd.Shape{m, m}), nd.Ones(nd.Shape{m, m}), nd.Ones(nd.Shape{m, m})
		n := 20
		if m >= 2000 {
			n = 5
		}
		f := float64(m)
		list = append(list, rate(fmt.Sprintf("imperative.dot%d", m), "GFLOP/s", n, 2*f*f*f/1e9,
			into(prim.Dot.Op, c, a, b)))
	}
	return list
}
