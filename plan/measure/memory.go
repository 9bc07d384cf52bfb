package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/plan"
)

// memoryBytes are the bytes of the keys of the jobs whose memory is measured. Every job has its own
// processes: memory that one size has left free would be used by the next. Segments of shared memory
// and buffers grow in steps, which come at other sizes with other keys: 4 MiB, where a step of these
// keys ends, would raise the predictions for all networks around it.
var memoryBytes = []int64{1 << 20, 2 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20}

// memoryJobs are the jobs whose memory is measured, with every size.
var memoryJobs = []struct {
	store   string
	workers int
}{{"dist_sync", 1}, {"dist_sync", 3}, {plan.StoreRing, 1}, {plan.StoreRing, 3}}

// memoryRepeats are the jobs of each size; the median counts, as in a check.
const memoryRepeats = 5

// memory measures the memory of the processes of jobs.
func (m *Measurer) memory(ctx context.Context, h *plan.Host) error {
	sizes := memoryBytes
	if m.Once {
		sizes = []int64{sizes[0], sizes[len(sizes)-1]}
	}
	for _, j := range memoryJobs {
		m.report("memory of %s with %d workers", j.store, j.workers)
		list, count := &h.RingMemory, 0
		if j.store != plan.StoreRing {
			list, count = &h.Memory, 1
		}
		for _, bytes := range sizes {
			p := plan.MemoryPoint{Workers: j.workers}
			var stores, servers []float64
			for range m.times(memoryRepeats) {
				lines, err := m.run(ctx, jobSpec{workers: j.workers, servers: count,
					way:  plan.WayShared,
					task: task{Kind: taskMemory, Store: j.store, Bytes: bytes}})
				if err != nil {
					return fmt.Errorf("%s, %d workers, keys of %d bytes: %w", j.store, j.workers,
						bytes, err)
				}
				f, err := mostMemory(lines)
				if err != nil {
					return err
				}
				p.Keys = float64(f.Keys)
				stores = append(stores, float64(f.Store))
				servers = append(servers, float64(f.Server))
			}
			p.Store, p.Server = median(stores), median(servers)
			*list = append(*list, p)
		}
	}
	return nil
}

// mostMemory returns the largest figures of the workers of a job.
func mostMemory(lines []json.RawMessage) (most memoryFigures, err error) {
	for _, line := range lines {
		var f memoryFigures
		if err := json.Unmarshal(line, &f); err != nil {
			return most, err
		}
		most.Keys = f.Keys
		most.Store = max(most.Store, f.Store)
		most.Server = max(most.Server, f.Server)
	}
	return most, nil
}

// memoryFigures are the results of a worker of such a job, in bytes.
type memoryFigures struct {
	Keys   int64 `json:"keys"`
	Store  int64 `json:"store"`  // peak memory that the store adds to this worker
	Server int64 `json:"server"` // peak memory of server 0; 0 without servers
}

// Rounds of a job whose memory is measured, beside the rounds with late workers. Several workers
// disturb each other in the first rounds; with one, messages that overlap are rare.
const (
	memoryRounds      = 5
	memoryRoundsAlone = 20
)

// keySizes shares bytes out among keys of many sizes, as the layers of networks have them: a quarter
// in one key, a half in six smaller ones, the rest in many small ones.
func keySizes(total int64) (sizes []int64) {
	for _, part := range []struct{ keys, share int64 }{{1, 4}, {2, 8}, {4, 16}, {8, 64}, {32, 256}} {
		for range part.keys {
			sizes = append(sizes, total/part.share)
		}
	}
	return sizes
}

// memory runs rounds with keys of many sizes and reads the memory afterwards.
func (p *process) memory(ctx context.Context) error {
	g, f := &keyGroup{}, memoryFigures{}
	for i, size := range keySizes(p.Bytes) {
		g.add(fmt.Sprint("key ", i), size)
		f.Keys += size
	}
	if err := nd.WaitAll(ctx); err != nil {
		return err
	}
	base, err := peakMemory(os.Getpid()) // with the arrays
	if err != nil {
		return err
	}
	kv, err := kvstore.Open(ctx, p.Store)
	if err != nil {
		return err
	}
	if err := g.begin(ctx, kv); err != nil {
		return err
	}
	rounds := memoryRounds
	if p.job.Workers() == 1 {
		rounds = memoryRoundsAlone
	}
	for range rounds {
		if err := g.round(ctx); err != nil {
			return err
		}
	}
	if err := p.late(ctx, g); err != nil {
		return err
	}
	worker, server, err := p.peaks()
	if err != nil {
		return err
	}
	f.Store, f.Server = worker-base, server
	if err := p.out.Encode(&f); err != nil {
		return err
	}
	return kv.Close()
}

// lateTime is the time by which one worker comes later than all others.
const lateTime = 150 * time.Millisecond

// late runs rounds in which each worker in turn lets the others wait. The memory of a store is
// largest then, and workers of real jobs do not end their steps together.
func (p *process) late(ctx context.Context, g *keyGroup) error {
	if p.job.Workers() > 1 {
		for rank := range p.job.Workers() {
			if p.job.Rank() == rank {
				time.Sleep(lateTime)
			}
			if err := g.round(ctx); err != nil {
				return err
			}
		}
	}
	return g.kv.Barrier(ctx)
}

// peaks reads the memory of this worker and of server 0.
func (p *process) peaks() (worker, server int64, err error) {
	if worker, err = peakMemory(os.Getpid()); err != nil {
		return 0, 0, err
	}
	pid, err := readPID(p.Dir, "server 0")
	if os.IsNotExist(err) {
		return worker, 0, nil
	}
	if err == nil {
		server, err = peakMemory(pid)
	}
	return worker, server, err
}
