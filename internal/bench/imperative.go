package bench

import (
	"context"
	"fmt"
	"time"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

// best returns the least seconds per call of step over five repetitions of n calls.
func best(ctx context.Context, n int, step func()) (float64, error) {
	loop := func(n int) error {
		for range n {
			step()
		}
		return nd.WaitAll(ctx)
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

// rate makes a workload that does work units per call.
func rate(name, unit string, n int, work float64, step func()) Workload {
	return Workload{Name: name, Unit: unit, Run: func(ctx context.Context) (float64, error) {
		s, err := best(ctx, n, step)
		return work / s, err
	}}
}

// into returns a step that computes an operator into an array that exists.
func into(o *op.Op, out *nd.Array, in ...*nd.Array) func() {
	outs := []*nd.Array{out}
	return func() {
		if _, err := nd.Invoke(o, nil, in, outs); err != nil {
			panic(err)
		}
	}
}

// imperative ports peers/imperative.py: costs of single operators.
func imperative() ([]Workload, error) {
	x := nd.Ones(nd.Shape{4})
	xs := make([]*nd.Array, 16)
	for i := range xs {
		xs[i] = nd.Ones(nd.Shape{4})
	}
	next := 0
	const side = 4096
	a, b, c := nd.Ones(nd.Shape{side, side}), nd.Ones(nd.Shape{side, side}), nd.Ones(nd.Shape{side, side})
	list := []Workload{
		{"imperative.dependent", "us/op", func(ctx context.Context) (float64, error) {
			s, err := best(ctx, 20000, func() { x.AddScalarInPlace(1) })
			return s * 1e6, err
		}},
		{"imperative.independent", "us/op", func(ctx context.Context) (float64, error) {
			s, err := best(ctx, 20000, func() { xs[next%len(xs)].AddScalarInPlace(1); next++ })
			return s * 1e6, err
		}},
		rate("imperative.add", "GB/s", 10, 12*side*side/1e9, into(prim.ElemwiseAdd.Op, c, a, b)),
		rate("imperative.exp", "Gelem/s", 10, side*side/1e9, into(prim.Exp.Op, c, a)),
	}
	return append(list, dots(256, 1024, 2048)...), nil
}

// gemm measures products over more sizes; peers have those of imperative.py.
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
		list = append(list, rate(fmt.Sprintf("imperative.dot%d", m), "GFLOP/s", n, 2*f*f*f/1e9, into(prim.Dot.Op, c, a, b)))
	}
	return list
}
