package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"gomx/kvstore/wire"
	"gomx/launch/rank"
)

// MPI, Slurm and Kubernetes start processes that differ in their rank alone. The numbers of the job
// decide what the ranks are:
//
//   - Without numbers, or with as many workers as ranks, every rank is a worker. Rank 0 also starts
//     the scheduler, and rank i mod N starts server i, as processes of their own on its host.
//   - With 1 + servers + workers ranks, rank 0 is the scheduler, the next ranks are the servers, and
//     the others are the workers.
//
// A single process without numbers is no job.

// settle decides the role of a process that an engine has started.
func (e *Environ) settle(r *envReader) {
	p := r.place()
	switch {
	case p.Engine == "", p.Size == 1 && e.Workers == 0,
		p.Size == 0 && (e.Workers == 0 || e.Servers < 0):
		return
	case p.Size == 0, e.Workers > 0 && e.Servers >= 0 && p.Size == 1+e.Servers+e.Workers:
		if p.Rank > e.Servers+e.Workers {
			r.err = fmt.Errorf("launch: found rank %d in the environment, want a number below %d: "+
				"a scheduler, %s=%d servers and %s=%d workers", p.Rank, 1+e.Servers+e.Workers,
				envServers, e.Servers, envWorkers, e.Workers)
		}
		e.split(p.Rank)
	case e.Workers == 0, e.Workers == p.Size:
		e.Workers = p.Size
		if e.Servers < 0 {
			e.Servers = e.Workers
		}
		e.Role, e.Rank = wire.Worker, p.Rank
	default:
		r.fail(envWorkers, fmt.Sprintf("the number of ranks, %d, or one less than that without "+
			"the servers (%s)", p.Size, envServers))
	}
	e.place = p
	if e.Share == 0 {
		e.Share = p.Local
	}
}

// place finds the rank that an engine has given the process.
func (r *envReader) place() rank.Place {
	switch r.get(envEngine) {
	case "none":
		return rank.Place{}
	case "":
	default:
		r.fail(envEngine, "none, or nothing")
	}
	p, err := rank.Find(r.get)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("launch: %w", err)
	}
	return p
}

// split gives each rank a role.
func (e *Environ) split(rank int) {
	switch {
	case rank == 0:
		e.Role = wire.Scheduler
	case rank <= e.Servers:
		e.Role, e.Rank = wire.Server, rank-1
	default:
		e.Role, e.Rank = wire.Worker, rank-1-e.Servers
	}
}

// rankInRole returns the rank of a process whose role is in the environment but not its rank: its
// rank among the processes that an engine has started, if these are all of the role. -1: the
// scheduler chooses.
func (e *Environ) rankInRole(r *envReader) int {
	p := r.place()
	count := map[wire.Role]int{wire.Server: e.Servers, wire.Worker: e.Workers}[e.Role]
	if p.Engine != "" && p.Rank < count && (p.Size == 0 || p.Size == count) {
		return p.Rank
	}
	return -1
}

// helped reports whether the ranks start the scheduler and the servers.
func (e *Environ) helped() bool {
	return e.Role == wire.Worker && e.place.Size == e.Workers
}

// runRank is run for a process that an engine has started.
func (e *Environ) runRank(ctx context.Context, work func(ctx context.Context) error) error {
	first, meets := e.place.Rank == 0, e.Scheduler == ""
	if meets {
		if err := e.meetingFolder(); err != nil {
			return err
		}
		if first {
			if err := e.convene(); err != nil {
				return err
			}
			defer os.RemoveAll(e.Dir)
		}
	}
	if !e.helped() {
		if meets && !first {
			if err := e.attend(ctx); err != nil {
				return err
			}
		}
		return e.run(ctx, work)
	}
	return e.runHelped(ctx, meets, work)
}

// runHelped is run for a worker that also starts helpers: servers, and the scheduler if it is the
// first. If a helper cannot be kept alive, the worker ends.
func (e *Environ) runHelped(ctx context.Context, meets bool,
	work func(ctx context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	h, err := e.helpers()
	if err != nil {
		return err
	}
	defer h.end()
	if e.place.Rank == 0 {
		h.start(fail, wire.Node{Role: wire.Scheduler})
	}
	if meets {
		if err := e.attend(ctx); err != nil {
			return err
		}
		h.job.setEnv(*e)
	}
	for i := e.place.Rank; i < e.Servers; i += e.place.Size {
		h.start(fail, wire.Node{Role: wire.Server, Rank: uint16(i)})
	}
	if err = e.run(ctx, work); err == nil {
		err = h.wait(ctx)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, ctx.Err()) {
		return cause // a helper failed before the worker did
	}
	return err
}

// helpers are the processes that a rank starts beside its worker. They run the same program.
type helpers struct {
	job  *job
	ctx  context.Context // ends the helpers
	stop context.CancelFunc
	all  sync.WaitGroup
}

// helpers prepares the start of helpers.
func (e *Environ) helpers() (*helpers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("launch: name of this program: %w", err)
	}
	restarts := defaultRestarts
	if n, err := strconv.Atoi(os.Getenv(envAttempts)); err == nil && n > 0 {
		restarts = n
	}
	h := &helpers{job: &job{Local: &Local{Program: append([]string{program}, os.Args[1:]...),
		Restarts: restarts, Grace: defaultGrace, Stdout: os.Stdout, Stderr: os.Stderr,
		Log: e.log(wire.Node{Role: e.Role, Rank: uint16(e.Rank)})}, env: *e,
		over: make(chan struct{}), stopWorking: func() {}}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.job.stopServing = h.stop
	h.job.guard.run()
	return h, nil
}

// start keeps a helper alive until it has done its work.
func (h *helpers) start(fail context.CancelCauseFunc, n wire.Node) {
	h.all.Go(func() { h.job.keep(h.ctx, fail, n) })
}

// wait waits until the helpers have ended by themselves, when the last worker has left the job.
func (h *helpers) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { h.all.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the helpers that still run.
func (h *helpers) end() {
	h.stop()
	h.all.Wait()
	h.job.guard.end()
}

// pollEvery is the time between two looks at a file that another process writes.
const pollEvery = 20 * time.Millisecond
