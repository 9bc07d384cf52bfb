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
}

// storeRounds are the jobs that measure the phases of a store. The least times count: other programs
// only add to them.
const storeRounds = 3

// phases measures the phases of a store. Worker 0 tells the times of all.
func (m *Measurer) phases(ctx context.Context, j jobSpec) ([]phaseFigures, error) {
	rounds := make([][]phaseFigures, m.times(storeRounds))
	for i := range rounds {
		lines, err := m.run(ctx, j)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(lines[0], &rounds[i]); err != nil {
			return nil, err
		}
	}
	list := rounds[0]
	for i := range list {
		for _, field := range []func(f *phaseFigures) *float64{
			func(f *phaseFigures) *float64 { return &f.Wall },
			func(f *phaseFigures) *float64 { return &f.Workers },
			func(f *phaseFigures) *float64 { return &f.Servers },
		} {
			for _, round := range rounds[1:] {
				*field(&list[i]) = min(*field(&list[i]), *field(&round[i]))
			}
		}
	}
	return list, nil
}

// storeRun measures the messages of a store.
type storeRun struct {
	*process
	kv   *kvstore.KV
	pids [2][]int // of workers and of servers
}

// Roles of processes in storeRun.pids.
const (
	roleWorker = iota
	roleServer
)

// store runs the phases of a task.
func (p *process) store(ctx context.Context) (err error) {
	r := &storeRun{process: p}
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

// phase makes the keys of a phase and measures their rounds.
func (r *storeRun) phase(ctx context.Context, number int) (f phaseFigures, err error) {
	ph := r.Phases[number]
	g := &keyGroup{single: ph.Single}
	for i := range ph.Keys {
		g.add(fmt.Sprintf("phase%d-%d", number, i), ph.Bytes)
	}
	if err := g.begin(ctx, r.kv); err != nil {
		return f, err
	}
	for range max(2, ph.Rounds/5) {
		if err := g.round(ctx); err != nil {
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
		if err := g.round(ctx); err != nil {
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
	return f, nil
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

// keyGroup is keys of a store that are pushed and pulled together.
type keyGroup struct {
	kv          *kvstore.KV
	single      bool // every key waits for the one before
	names       []string
	grads, outs []*nd.Array
}

// add makes the arrays of a key.
func (g *keyGroup) add(name string, bytes int64) {
	shape := nd.Shape{int(bytes / 4)}
	g.names = append(g.names, name)
	g.grads = append(g.grads, nd.Full(1e-3, shape))
	g.outs = append(g.outs, nd.Full(1e-3, shape))
}

// begin makes the keys. The pages of all arrays have memory then, as in a module.
func (g *keyGroup) begin(ctx context.Context, kv *kvstore.KV) error {
	g.kv = kv
	if err := nd.WaitAll(ctx); err != nil {
		return err
	}
	for i, name := range g.names {
		if err := g.kv.Init(ctx, name, g.outs[i]); err != nil {
			return err
		}
	}
	return g.kv.SetOptimizer(ctx, optimizer.SGD{LR: 1e-3})
}

// round pushes and pulls all keys.
func (g *keyGroup) round(ctx context.Context) error {
	for i := len(g.names) - 1; i >= 0; i-- {
		if err := g.kv.PushPull(g.names[i], -i, g.grads[i:i+1], g.outs[i:i+1]); err != nil {
			return err
		}
		if g.single {
			if err := g.outs[i].Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nd.WaitAll(ctx)
}
