package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// phase is a number of keys of one size, which workers push and pull together, round after round.
type phase struct {
	Keys   int   `json:"keys"`
	Bytes  int64 `json:"bytes"`
	Rounds int   `json:"rounds"`
	// Single lets every key wait for the one before: the time of a round is then a latency.
	Single bool `json:"single,omitempty"`
}

// phaseFigures are the results of a phase. Times are for one key in one round.
type phaseFigures struct {
	Wall    float64 `json:"wall"`
	Workers float64 `json:"workers"` // processor seconds of all workers
	Servers float64 `json:"servers"` // of all servers
	Worker  int64   `json:"worker"`  // peak memory that the store adds to this worker
	Server  int64   `json:"server"`  // peak memory of server 0
	Keys    int64   `json:"keys"`    // bytes of all keys so far
}

// phasesOf reads the output of the workers. Worker 0 tells the times of all; the memory is that of
// the worker that needs most.
func phasesOf(lines []json.RawMessage) (list []phaseFigures, err error) {
	for rank, line := range lines {
		var own []phaseFigures
		if err := json.Unmarshal(line, &own); err != nil {
			return nil, err
		}
		if rank == 0 {
			list = own
		}
		if len(own) != len(list) {
			return nil, fmt.Errorf("measure: worker %d has figures of %d phases, want %d", rank,
				len(own), len(list))
		}
		for i := range own {
			list[i].Worker = max(list[i].Worker, own[i].Worker)
			list[i].Server = max(list[i].Server, own[i].Server)
		}
	}
	return list, nil
}

// storeRun measures the messages of a store.
type storeRun struct {
	*process
	kv     *kvstore.KV
	base   int64 // memory of the process without a store
	arrays int64
	keys   int64
	pids   [2][]int // of workers and of servers
}

// Roles of processes in storeRun.pids.
const (
	roleWorker = iota
	roleServer
)

// store runs the phases of a task.
func (p *process) store(ctx context.Context) (err error) {
	r := &storeRun{process: p}
	if r.base, err = peakMemory(os.Getpid()); err != nil {
		return err
	}
	if r.kv, err = kvstore.Open(ctx, p.Store); err != nil {
		return err
	}
	var list []phaseFigures
	for i := range p.Phases {
		f, err := r.phase(ctx, i)
		if err != nil {
			return fmt.Errorf("measure: phase %d: %w", i, err)
		}
		list = append(list, f)
	}
	if err := p.out.Encode(list); err != nil {
		return err
	}
	return r.kv.Close()
}

// findProcesses reads the ids of the processes of the job, which the parent has written.
func (r *storeRun) findProcesses() error {
	if r.pids[roleWorker] != nil {
		return nil
	}
	for i := range r.job.Workers() {
		pid, err := readPID(r.Dir, fmt.Sprint("worker ", i))
		if err != nil {
			return err
		}
		r.pids[roleWorker] = append(r.pids[roleWorker], pid)
	}
	for i := 0; ; i++ {
		pid, err := readPID(r.Dir, fmt.Sprint("server ", i))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		r.pids[roleServer] = append(r.pids[roleServer], pid)
	}
}

// phase makes the keys of a phase and measures their rounds.
func (r *storeRun) phase(ctx context.Context, number int) (f phaseFigures, err error) {
	ph := r.Phases[number]
	var grads, outs []*nd.Array
	name := func(i int) string { return fmt.Sprintf("phase%d-%d", number, i) }
	for i := range ph.Keys {
		shape := nd.Shape{int(ph.Bytes / 4)}
		g, o := nd.Full(1e-3, shape), nd.Zeros(shape)
		if err := r.kv.Init(ctx, name(i), o); err != nil {
			return f, err
		}
		grads, outs = append(grads, g), append(outs, o)
		r.arrays += 2 * ph.Bytes
		r.keys += ph.Bytes
	}
	if err := r.kv.SetOptimizer(ctx, optimizer.SGD{LR: 1e-3}); err != nil {
		return f, err
	}
	round := func() error {
		for i := ph.Keys - 1; i >= 0; i-- {
			if err := r.kv.PushPull(name(i), -i, grads[i:i+1], outs[i:i+1]); err != nil {
				return err
			}
			if ph.Single {
				if err := outs[i].Wait(ctx); err != nil {
					return err
				}
			}
		}
		return nd.WaitAll(ctx)
	}
	for range max(2, ph.Rounds/5) {
		if err := round(); err != nil {
			return f, err
		}
	}
	if err := r.kv.Barrier(ctx); err != nil {
		return f, err
	}
	before, err := r.spent()
	if err != nil {
		return f, err
	}
	start := time.Now()
	for range ph.Rounds {
		if err := round(); err != nil {
			return f, err
		}
	}
	if err := r.kv.Barrier(ctx); err != nil {
		return f, err
	}
	each := float64(ph.Rounds * ph.Keys)
	f.Wall = time.Since(start).Seconds() / each
	after, err := r.spent()
	if err != nil {
		return f, err
	}
	f.Workers = (after[roleWorker] - before[roleWorker]) / each
	f.Servers = (after[roleServer] - before[roleServer]) / each
	if err := r.late(ctx, round); err != nil {
		return f, err
	}
	return f, r.memory(&f)
}

// lateTime is the time by which one worker comes later than all others.
const lateTime = 150 * time.Millisecond

// late runs rounds in which each worker in turn lets the others wait. The memory of a store is
// largest then, and workers of real jobs do not end their steps together.
func (r *storeRun) late(ctx context.Context, round func() error) error {
	if r.job.Workers() == 1 {
		return nil
	}
	for rank := range r.job.Workers() {
		if r.job.Rank() == rank {
			time.Sleep(lateTime)
		}
		if err := round(); err != nil {
			return err
		}
	}
	return r.kv.Barrier(ctx)
}

// memory reads the memory of this worker and of server 0.
func (r *storeRun) memory(f *phaseFigures) (err error) {
	if f.Worker, err = peakMemory(os.Getpid()); err != nil {
		return err
	}
	f.Worker -= r.arrays + r.base
	f.Keys = r.keys
	if len(r.pids[roleServer]) > 0 {
		f.Server, err = peakMemory(r.pids[roleServer][0])
	}
	return err
}

// spent returns the processor seconds of the workers and of the servers so far.
func (r *storeRun) spent() (seconds [2]float64, err error) {
	if err := r.findProcesses(); err != nil {
		return seconds, err
	}
	for role, list := range r.pids {
		for _, pid := range list {
			s, err := processorTime(pid)
			if err != nil {
				return seconds, err
			}
			seconds[role] += s
		}
	}
	return seconds, nil
}
