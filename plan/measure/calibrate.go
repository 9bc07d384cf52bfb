package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"gomx/device"
	"gomx/dtype"
	"gomx/kvstore/compress"
	"gomx/plan"
	sym "gomx/symbol"
)

// Phases of the calibration of a way, with the sizes of small keys, of keys that fill a message,
// and of slices; the last phase has enough keys to exceed the caches.
var (
	phases = []phase{{Keys: 1, Bytes: 4 << 10, Rounds: 200, Single: true},
		{Keys: 24, Bytes: 4 << 10, Rounds: 60}, {Keys: 32, Bytes: 64 << 10, Rounds: 20},
		{Keys: 8, Bytes: 1 << 20, Rounds: 25}, {Keys: 24, Bytes: 1 << 20, Rounds: 8}}
	firstCounted = 1 // phases before it tell the latency alone
)

// calibrated are the jobs of the calibration.
var calibrated = []struct {
	way     string
	workers int
}{{plan.WayShared, 1}, {plan.WayShared, 3}, {plan.WayTCP, 1}, {plan.WayBulk, 1}, {plan.WayCurve, 1}}

// Host measures the messages of stores, copies, codes, and the memory of processes.
func (m *Measurer) Host(ctx context.Context, version string) (*plan.Host, error) {
	h := &plan.Host{Processor: device.Processor(), Cores: runtime.NumCPU(), Version: version,
		Ways: map[string]*plan.Way{}, Codecs: map[string]plan.Codec{}}
	for _, c := range calibrated {
		m.report("messages by %s with %d workers", c.way, c.workers)
		if err := m.way(ctx, h, c.way, c.workers); err != nil {
			return nil, fmt.Errorf("%s, %d workers: %w", c.way, c.workers, err)
		}
	}
	if err := m.rings(ctx, h); err != nil {
		return nil, err
	}
	if err := m.memory(ctx, h); err != nil {
		return nil, err
	}
	h.Copy = copyRate()
	if err := codecs(h); err != nil {
		return nil, err
	}
	return h, m.factors(ctx, h)
}

// way measures the messages between servers and workers on one way.
func (m *Measurer) way(ctx context.Context, h *plan.Host, name string, workers int) error {
	list, err := m.phases(ctx, jobSpec{workers: workers, servers: 1, way: name,
		task: task{Kind: taskStore, Store: "dist_sync", Phases: phases}})
	if err != nil {
		return err
	}
	w := h.Ways[name]
	if w == nil {
		w = &plan.Way{}
		h.Ways[name] = w
	}
	if workers == 1 {
		// A round of one small key is a message in either direction. Its processor time is taken
		// off, because the simulation adds it again.
		w.Latency = max(0, list[0].Wall-list[0].Workers-list[0].Servers) / 2
	}
	sizes := map[int64]bool{}
	for i, f := range list {
		if i < firstCounted {
			continue
		}
		p := plan.Point{Workers: workers, Bytes: float64(phases[i].Bytes),
			Worker: f.Workers / float64(workers), Server: f.Servers}
		if sizes[phases[i].Bytes] { // the later phase exceeds the caches
			w.Points[len(w.Points)-1] = p
			continue
		}
		sizes[phases[i].Bytes] = true
		w.Points = append(w.Points, p)
	}
	return nil
}

// Steps of the measurement of a network.
const (
	computeWarm    = 3
	computeSeconds = 1.0 // of the steps that are measured together
	computeLeast   = 8   // number of these steps, if they are long
	computeProfile = 8   // steps whose segments are timed
	computeRounds  = 3   // measurements; the fastest counts
)

// Compute compiles a network and measures its steps: alone, and on all cores at the same time.
func (m *Measurer) Compute(ctx context.Context, s *sym.Symbol, shapes map[string]dtype.Shape,
	threads int) (*plan.Network, *plan.Compute, error) {
	m.report("kernels of a network on %d threads", threads)
	n, err := plan.Describe(s, plan.Training{Shapes: shapes, Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	net, err := m.network(s, shapes)
	if err != nil {
		return nil, nil, err
	}
	t := task{Kind: taskCompute, Network: net, Threads: threads,
		Warm: computeWarm, Seconds: computeSeconds, Profile: computeProfile}
	alone, err := m.alone(ctx, t, 1, func(a, b []computeFigures) int {
		return cmp.Compare(a[0].Wall, b[0].Wall)
	})
	if err != nil {
		return nil, nil, err
	}
	f := &alone[0]
	c := &plan.Compute{Memory: f.Memory, Arrays: n.Arrays.Total(), Speeds: []float64{1}}
	scale(c, n, f, threads)
	c.Jitter = spread(f.Each)
	if cores := runtime.NumCPU() / threads; cores > 1 {
		t.Steps, t.Profile = f.Steps, 0
		all, err := m.alone(ctx, t, cores, func(a, b []computeFigures) int {
			return cmp.Compare(busy(a), busy(b))
		})
		if err != nil {
			return nil, nil, err
		}
		slowest := min(1, f.CPU/busy(all))
		c.Speeds = nil
		for i := range runtime.NumCPU() {
			share := float64(i) / float64(max(1, runtime.NumCPU()-1))
			c.Speeds = append(c.Speeds, 1+(slowest-1)*share)
		}
	}
	return n, c, nil
}

// busy returns the mean processor time of a step. It does not depend on other programs, which may
// take cores away.
func busy(list []computeFigures) (seconds float64) {
	for i := range list {
		seconds += list[i].CPU / float64(len(list))
	}
	return seconds
}

// scale takes over the times of the segments, scaled so that together they take as long as a step
// without a profile: the time between segments belongs to them. A step takes no longer than the
// processor time of its threads: the rest of the time other programs had the cores. Processor time
// beyond the time of the step belongs to the training loop, which runs beside the kernels.
func scale(c *plan.Compute, n *plan.Network, f *computeFigures, threads int) {
	sum := 0.0
	for i := range n.Segments {
		s := quantile(f.Segment[n.Segments[i].Name], 0.25)
		c.Seconds = append(c.Seconds, s)
		sum += s
	}
	step := f.Wall
	if threads == 1 {
		step = min(f.Wall, f.CPU)
		c.Host = max(0, f.CPU-f.Wall)
	}
	if sum == 0 {
		c.Seconds[len(c.Seconds)-1], sum = step, step
	}
	for i := range c.Seconds {
		c.Seconds[i] *= step / sum
	}
}

// spread returns the standard deviation of times relative to their median. Half of the distance
// between the sixth parts from either end is a standard deviation without outliers.
func spread(list []float64) float64 {
	if len(list) < 4 {
		return 0
	}
	middle := median(list)
	low, high := quantile(list, 1.0/6), quantile(list, 5.0/6)
	return min(0.2, (high-low)/2/middle)
}

// copyRate measures copies of memory that exceed the caches, in bytes per second.
func copyRate() float64 {
	const size = 64 << 20
	from, to := make([]byte, size), make([]byte, size)
	best := 0.0
	for range 4 {
		start := time.Now()
		copy(to, from)
		best = max(best, size/time.Since(start).Seconds())
	}
	return best
}

// codecs measures the codes of compressed gradients.
func codecs(h *plan.Host) error {
	const size = 1 << 18
	rng := rand.New(rand.NewPCG(1, 1))
	grad, residual, sum := make([]float32, size), make([]float32, size), make([]float32, size)
	for i := range grad {
		grad[i] = rng.Float32() - 0.5
	}
	for _, kind := range []compress.Kind{compress.TwoBit, compress.OneBit, compress.TopK,
		compress.Half} {
		m := compress.Method{Kind: kind}
		var code []byte
		var c plan.Codec
		for i := range 3 {
			start := time.Now()
			var err error
			if code, err = m.Append(code[:0], grad, residual); err != nil {
				return err
			}
			encode := time.Since(start).Seconds() / size
			start = time.Now()
			if err := compress.Add(sum, kind, code); err != nil {
				return err
			}
			add := time.Since(start).Seconds() / size
			if i == 0 || encode < c.Encode {
				c.Encode = encode
			}
			if i == 0 || add < c.Add {
				c.Add = add
			}
		}
		h.Codecs[kind.String()] = c
	}
	return nil
}
