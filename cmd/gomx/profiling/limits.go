package profiling

import (
	"context"
	"time"

	nd "gomx/ndarray"
)

// Limits are the greatest speeds of a processor: the roof of a roofline.
type Limits struct {
	GFLOPs float64 `json:"gflops_per_second"`
	GBytes float64 `json:"gbytes_per_second"`
}

// best returns the time in seconds that the runs of an operator take at best: for its FLOPs or for
// its bytes, whichever takes longer.
func (l *Limits) best(r *Row) float64 {
	t := 0.0
	if l.GFLOPs > 0 {
		t = float64(r.FLOPs) / l.GFLOPs / 1e9
	}
	if l.GBytes > 0 {
		t = max(t, float64(r.Bytes)/l.GBytes/1e9)
	}
	return t
}

// measure measures the limits that are not given: by a product of large matrices in float32, and by
// a sum of arrays that fit into no cache.
func (l *Limits) measure() {
	if l.GFLOPs == 0 {
		const n = 1024
		a := nd.Ones(nd.Shape{n, n})
		product := func() *nd.Array { return nd.Dot(a, a, nd.DotParams{}) }
		l.GFLOPs = 2 * n * n * n / fastest(product) / 1e9
	}
	if l.GBytes == 0 {
		const n = 16 << 20
		a, b := nd.Ones(nd.Shape{n}), nd.Ones(nd.Shape{n})
		l.GBytes = 3 * 4 * n / fastest(func() *nd.Array { return a.Add(b) }) / 1e9
	}
}

// fastest returns the least time in seconds of several runs.
func fastest(run func() *nd.Array) float64 {
	const rounds = 8
	least := 0.0
	for i := range rounds {
		start := time.Now()
		out := run()
		err := out.Wait(context.Background())
		took := time.Since(start).Seconds()
		out.Close()
		if err == nil && (i == 1 || i > 1 && took < least) {
			least = took // the first run prepares kernels
		}
	}
	return max(least, 1e-9)
}
