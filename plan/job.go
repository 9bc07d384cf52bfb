package plan

import (
	"fmt"
	"slices"
	"strings"

	"gomx/kvstore"
	"gomx/kvstore/compress"
)

// StoreRing is the store of a job without servers, whose workers add up gradients themselves.
const StoreRing = "allreduce"

// Stores lists the stores that can be predicted.
func Stores() []string { return []string{"dist_sync", "dist_async", "dist_ssp", StoreRing} }

// Job is a configuration of a job.
type Job struct {
	Store       string
	Workers     int
	Servers     int // 0 for StoreRing
	Staleness   int // of dist_ssp, in clocks
	Compression compress.Method
	Slice       int64 // bytes of a slice; 0: the store's default
	Machines    Machines
}

// Machines are equal machines, one job's processes spread over them in turn.
type Machines struct {
	Count  int
	Cores  int   // of each machine
	Memory int64 // bytes of each machine; 0: no limit
	Link   Link
	// Way is the way between machines: WayTCP, WayBulk or WayCurve; empty: WayBulk.
	Way string
}

// Link is the network of every machine, in both directions at the same time.
type Link struct {
	Bandwidth float64 // bytes per second; 0: no limit
	Latency   float64 // seconds
}

// Check reports a configuration that no job can have.
func (j *Job) Check() error {
	m := &j.Machines
	switch {
	case !slices.Contains(Stores(), j.Store):
		return fmt.Errorf("plan: store %q, want one of %s", j.Store, strings.Join(Stores(), ", "))
	case j.Workers < 1:
		return fmt.Errorf("plan: %d workers, want at least 1", j.Workers)
	case j.Store == StoreRing && j.Servers != 0:
		return fmt.Errorf("plan: %d servers with %s, which has none", j.Servers, j.Store)
	case j.Store != StoreRing && j.Servers < 1:
		return fmt.Errorf("plan: %d servers with %s, want at least 1", j.Servers, j.Store)
	case j.Staleness < 0 || j.Staleness > 0 && j.Store != "dist_ssp":
		return fmt.Errorf("plan: staleness %d with %s, want 0, or more with dist_ssp", j.Staleness,
			j.Store)
	case m.Count < 1 || m.Cores < 1:
		return fmt.Errorf("plan: %d machines of %d cores, want at least one of each", m.Count,
			m.Cores)
	case m.Link.Bandwidth < 0 || m.Link.Latency < 0:
		return fmt.Errorf("plan: link of %g bytes/s and %g s, want no number below 0",
			m.Link.Bandwidth, m.Link.Latency)
	case m.Way != "" && (m.Way == WayShared || !slices.Contains(WayNames(), m.Way)):
		return fmt.Errorf("plan: way %q between machines, want %s, %s or %s", m.Way, WayTCP, WayBulk,
			WayCurve)
	}
	return j.Compression.Validate()
}

// Threads returns the number of threads for the kernels of a worker, as package launch sets it.
func (j *Job) Threads() int {
	return kvstore.KernelThreads(j.Machines.Cores, j.most(j.Workers), j.Servers)
}

// most returns the largest number of n processes that one machine has.
func (j *Job) most(n int) int { return (n + j.Machines.Count - 1) / j.Machines.Count }

// worker and server return the machine of a process. Servers begin at the last machine, so that
// machines without a worker are used first.
func (j *Job) worker(rank int) int { return rank % j.Machines.Count }
func (j *Job) server(rank int) int {
	return (j.Machines.Count - 1 - rank%j.Machines.Count) % j.Machines.Count
}

// slice returns the bytes of a slice.
func (j *Job) slice() uint64 {
	if j.Slice > 0 {
		return uint64(j.Slice)
	}
	return kvstore.DefaultSlice
}

// rounds reports whether a value changes by the sum of one push of every worker.
func (j *Job) rounds() bool {
	return j.Store == "dist_sync" || j.Store == "dist_ssp" && j.Staleness == 0
}

// way returns the name of the way between two machines.
func (j *Job) way(from, to int) string {
	switch {
	case from == to:
		return WayShared
	case j.Machines.Way == "":
		return WayBulk
	}
	return j.Machines.Way
}

// String describes the job in a few words.
func (j *Job) String() string {
	text := fmt.Sprintf("%s, %d workers", j.Store, j.Workers)
	if j.Workers == 1 {
		text = fmt.Sprintf("%s, 1 worker", j.Store)
	}
	if j.Servers > 0 {
		text += fmt.Sprintf(", %d servers", j.Servers)
	}
	if j.Staleness > 0 {
		text += fmt.Sprintf(", staleness %d", j.Staleness)
	}
	if j.Compression.Kind != compress.None {
		text += ", " + j.Compression.Kind.String()
	}
	return text
}
