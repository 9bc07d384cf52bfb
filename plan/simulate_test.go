package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/compress"
	"gomx/plan"
)

// hand is a calibration whose numbers can be followed by hand: a worker takes 1 ms to send a slice
// of any size and 1 ms to receive one, a server 1 ms to take in a push, 2 ms for a round and 1 ms
// to send a value. Messages take 0.5 ms more.
func hand() *plan.Host {
	points := []plan.Point{{Workers: 1, Bytes: 1, Worker: 2e-3, Server: 4e-3},
		{Workers: 2, Bytes: 1, Worker: 2e-3, Server: 6e-3}}
	way := &plan.Way{Latency: 0.5e-3, Points: points,
		Rings: []plan.Point{{Workers: 2, Bytes: 1, Worker: 2e-3}}}
	return &plan.Host{Cores: 8, Copy: 1e10, Ways: map[string]*plan.Way{plan.WayShared: way,
		plan.WayTCP: way, plan.WayBulk: way, plan.WayCurve: way}}
}

// chain is a network of a forward and a backward segment for each key, 10 ms each. The backward
// part begins with the last key.
func chain(keys int, bytes int64) (*plan.Network, *plan.Compute) {
	n := &plan.Network{Batch: 10, Threads: 1, Forward: keys}
	for k := range keys {
		n.Keys = append(n.Keys, plan.Key{Name: fmt.Sprint("k", k), Bytes: bytes,
			DType: dtype.Float32, Uses: 2})
	}
	c := &plan.Compute{}
	for i := range 2 * keys {
		s := plan.Segment{Name: fmt.Sprint("s", i), Threads: 1, Keys: []int{min(i, 2*keys-1-i)}}
		if i > 0 {
			s.Needs = []int{i - 1}
		}
		n.Segments = append(n.Segments, s)
		c.Seconds = append(c.Seconds, 10e-3)
	}
	return n, c
}

func job(store string, workers, servers, cores int) plan.Job {
	return plan.Job{Store: store, Workers: workers, Servers: servers,
		Machines: plan.Machines{Count: 1, Cores: cores}}
}

// Cases that can be computed by hand; times are in milliseconds.
func TestSteps(t *testing.T) {
	without := hand()
	without.Ways = nil
	for _, c := range []struct {
		name string
		host *plan.Host
		keys int
		job  plan.Job
		want float64
	}{
		{"kernels alone", without, 1, job("dist_sync", 1, 1, 4), 20},
		{"four workers share two cores", without, 1, job("dist_sync", 4, 1, 2), 40},
		{"three workers share two cores", without, 1, job("dist_sync", 3, 1, 2), 30},
		// 20 of kernels; send 1, 0.5, take in 1, round 2, answer 1, 0.5, receive 1
		{"one key waits for its exchange", hand(), 1, job("dist_sync", 1, 1, 4), 27},
		// The exchange of the last key is hidden by the kernels that follow.
		{"the first key waits, the second is hidden", hand(), 2, job("dist_sync", 1, 1, 4), 47},
		// The second worker begins 1 after the first, for which the server takes 1 to send a value:
		// its push comes 1 later too, and its value 1 after the value of the first.
		{"two workers", hand(), 1, job("dist_sync", 2, 1, 4), 28},
		{"two workers without rounds", hand(), 1, job("dist_async", 2, 1, 4), 0},
		// send 1, 0.5, receive 1: both directions at the same time, on one thread of each worker
		{"allreduce of a small key", hand(), 1, job(plan.StoreRing, 2, 0, 4), 22.5},
		{"allreduce alone", hand(), 1, job(plan.StoreRing, 1, 0, 4), 20},
	} {
		n, w := chain(c.keys, 1024)
		p, err := plan.Predict(n, w, c.host, c.job, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := p.Step * 1e3; c.want > 0 && math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: a step takes %v ms, want %v", c.name, got, c.want)
		}
		if want := float64(10*c.job.Workers) / p.Step; math.Abs(p.Throughput/want-1) > 0.05 {
			t.Errorf("%s: %v samples/s, want about %v", c.name, p.Throughput, want)
		}
	}
}

// A link adds the time of the bytes and the latency in either direction.
func TestLink(t *testing.T) {
	n, w := chain(1, 1000)
	j := job("dist_sync", 1, 1, 4)
	j.Machines = plan.Machines{Count: 2, Cores: 4, Link: plan.Link{Bandwidth: 1e6, Latency: 2e-3}}
	p, err := plan.Predict(n, w, hand(), j, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 27 on one machine, and 1 for 1000 bytes and 2 of latency, twice.
	if got := p.Step * 1e3; math.Abs(got-33) > 1e-6 {
		t.Errorf("a step takes %v ms, want 33", got)
	}
}

// Kernels slow down when several threads compute.
func TestContention(t *testing.T) {
	n, w := chain(1, 1024)
	w.Speeds = []float64{1, 0.5}
	h := hand()
	h.Ways = nil
	p, err := plan.Predict(n, w, h, job("dist_sync", 2, 1, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Step * 1e3; math.Abs(got-40) > 1e-6 {
		t.Errorf("a step takes %v ms, want 40", got)
	}
}

// The limit is the part whose doubled speed helps most.
func TestLimits(t *testing.T) {
	slowServer := hand()
	for i := range slowServer.Ways[plan.WayShared].Points {
		slowServer.Ways[plan.WayShared].Points[i].Server *= 20
	}
	jitter := func(c *plan.Compute) { c.Jitter = 0.2 }
	far := job("dist_sync", 2, 1, 4)
	far.Machines.Count = 3
	far.Machines.Link = plan.Link{Bandwidth: 1e5}
	small := job("dist_sync", 1, 1, 4)
	small.Machines.Memory = 1
	free := hand()
	free.Ways = nil
	for _, c := range []struct {
		name   string
		host   *plan.Host
		bytes  int64
		job    plan.Job
		change func(*plan.Compute)
	}{
		{plan.LimitCompute, hand(), 64, job("dist_sync", 1, 1, 4), nil},
		{plan.LimitServer, slowServer, 64, job("dist_sync", 2, 1, 4), nil},
		{plan.LimitNetwork, hand(), 1 << 20, far, nil},
		{plan.LimitMemory, hand(), 64, small, func(c *plan.Compute) { c.Memory = 1 << 20 }},
		{plan.LimitCompute, free, 64, job("dist_sync", 4, 1, 8), jitter},
	} {
		n, w := chain(2, c.bytes)
		if c.change != nil {
			c.change(w)
		}
		p, err := plan.Predict(n, w, c.host, c.job, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Limit != c.name {
			t.Errorf("%v: limit %s with gains %v, want %s", c.job, p.Limit, p.Gains, c.name)
		}
	}
}

// drawn makes a random network, calibration and job.
func drawn(rng *rand.Rand) (*plan.Network, *plan.Compute, *plan.Host, plan.Job) {
	n, c := chain(1+rng.IntN(8), 1<<(6+rng.IntN(16)))
	for i := range c.Seconds {
		c.Seconds[i] *= rng.ExpFloat64()
	}
	for i := range n.Keys {
		n.Keys[i].Bytes = 4 * (1 + rng.Int64N(n.Keys[i].Bytes))
	}
	stores := plan.Stores()
	j := job(stores[rng.IntN(len(stores))], 1+rng.IntN(4), 1+rng.IntN(3), 1+rng.IntN(4))
	if j.Store == plan.StoreRing {
		j.Servers = 0
	}
	if j.Store == "dist_ssp" {
		j.Staleness = rng.IntN(4)
	}
	j.Machines.Count = 1 + rng.IntN(4)
	j.Machines.Link = plan.Link{Bandwidth: 1e6 * math.Exp(8*rng.Float64()),
		Latency: 1e-4 * rng.Float64()}
	return n, c, hand(), j
}

// A faster link, faster kernels and faster servers make no job slower. Schedules have anomalies: an
// earlier end of one task may bring another order of the others. They stay small.
func TestMoreIsNotSlower(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		n, c, h, j := drawn(rng)
		before, err := plan.Predict(n, c, h, j, 0)
		if err != nil {
			t.Fatal(err)
		}
		faster := j
		faster.Machines.Link.Bandwidth *= 1 + 9*rng.Float64()
		after, err := plan.Predict(n, c, h, faster, 0)
		if err != nil {
			t.Fatal(err)
		}
		if after.Throughput < 0.9*before.Throughput {
			t.Errorf("%v with %v: %v samples/s, with %v: %v", &j, j.Machines, before.Throughput,
				faster.Machines, after.Throughput)
		}
		for name, gain := range before.Gains {
			if name != plan.LimitStragglers && gain < -0.15 {
				t.Errorf("%v with %v: twice as fast %s gains %v", &j, j.Machines, name, gain)
			}
		}
	}
}

// Nothing is faster than the kernels of the slowest part and the time of all cores allow.
func TestBounds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		n, c, h, j := drawn(rng)
		p, err := plan.Predict(n, c, h, j, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Cores > 1+1e-9 {
			t.Errorf("%v: %v of the cores are in use", &j, p.Cores)
		}
		if most := float64(j.Workers*n.Batch) / c.Step(); p.Throughput > most*(1+1e-9) {
			t.Errorf("%v: %v samples/s, the kernels allow %v", &j, p.Throughput, most)
		}
		again, err := plan.Predict(n, c, h, j, 0)
		if err != nil || again.Throughput != p.Throughput {
			t.Errorf("%v: %v samples/s, then %v, %v", &j, p.Throughput, again.Throughput, err)
		}
	}
}

// More staleness is at least as fast, and dist_async is the end of it.
func TestStaleness(t *testing.T) {
	n, c := chain(3, 1<<16)
	c.Jitter = 0.2
	j := job("dist_ssp", 4, 1, 8)
	last := 0.0
	for _, s := range []int{0, 1, 3, 9} {
		j.Staleness = s
		p, err := plan.Predict(n, c, hand(), j, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Throughput < 0.97*last {
			t.Errorf("staleness %d: %v samples/s, less than %v before", s, p.Throughput, last)
		}
		last = p.Throughput
	}
}

// Compression makes pushes smaller, and states are not compressed.
func TestCompressedTraffic(t *testing.T) {
	n, _ := chain(2, 4096)
	n.Keys[1].State = true
	j := job("dist_sync", 3, 2, 4)
	j.Compression = compress.Method{Kind: compress.Half}
	worker, servers := plan.TrafficOf(n, j)
	if worker.Sent != 2048+4096 || worker.Received != 2*4096 {
		t.Errorf("a worker sends %d and receives %d bytes, want %d and %d", worker.Sent,
			worker.Received, 2048+4096, 2*4096)
	}
	var sent, received int64
	for _, s := range servers {
		sent, received = sent+s.Sent, received+s.Received
	}
	if sent != 3*worker.Received || received != 3*worker.Sent {
		t.Errorf("servers send %d and receive %d bytes, want those of 3 workers", sent, received)
	}
}

// Mistakes are errors that name what was found and what was wanted.
func TestJobErrors(t *testing.T) {
	good := job("dist_sync", 1, 1, 1)
	for _, change := range []func(*plan.Job){
		func(j *plan.Job) { j.Store = "dist_sink" },
		func(j *plan.Job) { j.Workers = 0 },
		func(j *plan.Job) { j.Servers = 0 },
		func(j *plan.Job) { j.Store = plan.StoreRing },
		func(j *plan.Job) { j.Staleness = 1 },
		func(j *plan.Job) { j.Machines.Cores = 0 },
		func(j *plan.Job) { j.Machines.Link.Latency = -1 },
		func(j *plan.Job) { j.Machines.Way = plan.WayShared },
		func(j *plan.Job) { j.Compression.Ratio = 2 },
	} {
		j := good
		change(&j)
		if err := j.Check(); err == nil {
			t.Errorf("%+v: no error", j)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	n, c := chain(2, 4)
	if _, err := plan.Predict(n, c, &plan.Host{}, job(plan.StoreRing, 2, 0, 1), 0); err == nil {
		t.Error("a store that was not measured: no error")
	}
	c.Seconds = c.Seconds[:1]
	if _, err := plan.Predict(n, c, hand(), good, 0); err == nil {
		t.Error("times of other segments: no error")
	}
}
