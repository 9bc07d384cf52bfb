package launch

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gomx/kvstore/wire"
)

// lastServers is the time that servers have to end when the scheduler has ended by itself. Servers
// with a place in the job know by then that it is over; a server that was started again at the last
// moment never gets a place.
const lastServers = 500 * time.Millisecond

// secondSignal is the time after which a process that is to end gets a second SIGTERM.
const secondSignal = 100 * time.Millisecond

// keep runs a node until it has done its work or a context ends. It starts the node again when it
// dies, after a pause that grows. fail ends the job. keep reports whether the node has left a job
// that goes on.
func (j *job) keep(until context.Context, fail context.CancelCauseFunc, n wire.Node) (left bool) {
	const shortest = 100 * time.Millisecond
	var d deaths
	for pause := shortest; ; pause = min(2*pause, 5*time.Second) {
		began := time.Now()
		code, err := j.once(until, n)
		lived := time.Since(began)
		if err != nil {
			if d.runs == 0 {
				fail(usageError{fmt.Errorf("launch: starting %s: %w", n, err)})
				return false
			}
			j.Log.Warn().Err(err).Stringer("node", n).Msg("process cannot be started")
			code = ExitRetry // memory or processes ran out, which may pass
		}
		v := d.judge(n.Role, code, lived, j.Restarts)
		switch {
		case v == finished && n.Role == wire.Scheduler:
			j.allLeft.Store(true)
			time.AfterFunc(j.Grace, j.stopWorking)
			time.AfterFunc(min(j.Grace, lastServers), j.stopServing)
			return false
		case v == finished && n.Role == wire.Worker:
			j.outcome.done.Store(true)
			return false
		case until.Err() != nil, v == finished, j.ended() && n.Role != wire.Worker,
			j.allLeft.Load() && v == again:
			return false
		case v == drained && !j.wanted(n):
			return true
		case v == drained:
			j.Log.Info().Stringer("node", n).Msg("process has left the job, starting it again")
			d, pause = deaths{}, shortest/2
			continue
		case v == hopeless && j.goesOn(n, code):
			j.Log.Warn().Stringer("node", n).Int("code", code).Int("run", d.runs).Msg(
				"process died too often, the job goes on without it")
			j.outcome.lost.Store(&ExitError{n, code, d.runs})
			return false
		case v == hopeless:
			fail(&ExitError{n, code, d.runs})
			return false
		}
		j.Log.Warn().Stringer("node", n).Int("code", code).Int("run",
			d.runs).Msg("process died, starting it again")
		if lived > 10*time.Second {
			pause = shortest
		}
		select {
		case <-time.After(pause):
		case <-until.Done():
			return false
		}
	}
}

// outcome is the result of the workers that have ended.
type outcome struct {
	done atomic.Bool               // a worker has done its work
	lost atomic.Pointer[ExitError] // a worker without which the job goes on; nil: none
}

// goesOn reports whether the job goes on without a process that has died and is not started again:
// a worker, if rounds close without the dead. A worker whose program has failed ends the job.
func (j *job) goesOn(n wire.Node, code int) bool {
	switch code {
	case ExitUsage, ExitLost, ExitReplaced, ExitFailed:
		return false
	}
	return j.Shrink && n.Role == wire.Worker
}

// finish marks that all workers have ended.
func (j *job) finish() { close(j.over) }

func (j *job) ended() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// nameOf names a process in the output of the job. The rank of a scheduler is its number among the
// candidates.
func nameOf(n wire.Node) string {
	if n.Role == wire.Scheduler && n.Rank > 0 {
		return fmt.Sprintf("%s %d", n, n.Rank)
	}
	return n.String()
}

// once runs a node one time and returns its exit code.
func (j *job) once(until context.Context, n wire.Node) (int, error) {
	if until.Err() != nil {
		return ExitRetry, nil
	}
	log, err := openLog(j.Logs, nameOf(n))
	if err != nil {
		return 0, err
	}
	defer log.close()
	cmd, signal := j.command(n)
	out := output{mu: &j.mu, w: j.Stdout, prefix: fmt.Sprintf("[%s] ", nameOf(n)), log: log}
	if j.away != nil && n.Role == wire.Scheduler {
		out.watch = j.away.watch
	}
	errs := out
	errs.w = j.Stderr
	var p *process
	j.guard.do(func() { p, err = start(cmd, &out, &errs) })
	if err != nil {
		return 0, err
	}
	if j.Started != nil {
		j.Started(n, cmd.Process.Pid)
	}
	select {
	case <-p.exited:
		return p.code(), nil
	case <-until.Done():
	}
	// The first signal may ask the process to leave a job that goes on, the second ends it.
	for _, wait := range []time.Duration{min(secondSignal, j.Grace), j.Grace} {
		signal(syscall.SIGTERM)
		select {
		case <-p.exited:
			return p.code(), nil
		case <-time.After(wait):
		}
	}
	signal(syscall.SIGKILL)
	p.endWithin(cmd, killFor)
	return p.code(), nil
}

// killFor is the time within which a process must have ended after SIGKILL. The client that runs a
// process on a host that does not answer is ended then.
const killFor = 2 * time.Second

// guardian is the thread that starts the processes. The kernel kills them when this thread ends, so
// it must live as long as they do.
type guardian struct {
	work chan func()
	wg   sync.WaitGroup
}

func (g *guardian) run() {
	g.work = make(chan func())
	g.wg.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range g.work {
			f()
		}
	})
}

func (g *guardian) do(f func()) {
	done := make(chan struct{})
	g.work <- func() { defer close(done); f() }
	<-done
}

func (g *guardian) end() {
	close(g.work)
	g.wg.Wait()
}
