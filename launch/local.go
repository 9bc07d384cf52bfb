package launch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gomx/device"
	"gomx/kvstore"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// Local says how to run a job as processes of this machine.
type Local struct {
	Program []string // argv: the same program in every role
	Workers int
	Servers int

	Replicas int  // copies of every shard; 0: 1
	Shrink   bool // rounds close without dead workers
	Backups  int  // rounds close without the slowest so many workers
	// Memory is how many bytes each server may need for its keys, see kvstore.JobConfig. 0: no limit.
	Memory uint64
	TCP    bool // TCP on the loopback instead of local sockets
	Keys   string
	// Threads is how many cores the kernels of each process use. 0: those of the machine, shared among the
	// workers and the servers, which together count as one.
	Threads int
	// Restarts is how often each process is started again after it died; -1: never. 0: 10 times.
	Restarts int
	// Env is added to the environment of every process.
	Env []string
	// Dir is a folder for what the processes share, kept at the end. Empty: one that is removed.
	Dir string

	// Snapshots is the folder for snapshots of the job, see kvstore.Snapshotter; empty: there are none. With Resume the job
	// continues from the last one that is whole, if there is any.
	Snapshots string
	Resume    bool

	Stdout, Stderr io.Writer
	Log            zerolog.Logger // of the launcher itself

	Heartbeat, Dead time.Duration // 0: defaults of the protocol
	// Grace is how long processes may take to end by themselves after the last worker has, and after
	// they have been asked to. 0: 5 seconds.
	Grace time.Duration

	// Started is called whenever a process runs, for tests and displays.
	Started func(n wire.Node, pid int)
}

// Exit codes of a launcher, and of programs that Main runs.
const (
	ExitOK     = 0
	ExitFailed = 1  // the program failed: running it again would fail again
	ExitUsage  = 2  // flags or environment make no sense
	ExitRetry  = 75 // something outside failed: running it again may help
)

// ExitError says that a process ended in a way that ends the job.
type ExitError struct {
	Node wire.Node
	Code int // 128 plus the number of the signal that ended it
	Runs int
}

// Error says who ended how.
func (e *ExitError) Error() string {
	return fmt.Sprintf("launch: %s ended with exit code %d after %d runs", e.Node, e.Code, e.Runs)
}

const (
	defaultRestarts = 10
	defaultGrace    = 5 * time.Second
)

func (l *Local) validate() error {
	switch {
	case len(l.Program) == 0:
		return errors.New("launch: no program to run")
	case l.Workers < 1 || l.Workers > 1<<15:
		return fmt.Errorf("launch: %d workers, want 1 to %d", l.Workers, 1<<15)
	case l.Servers < 1 || l.Servers > 1<<15:
		return fmt.Errorf("launch: %d servers, want 1 to %d", l.Servers, 1<<15)
	case l.Replicas < 0 || l.Replicas > 2 || l.Replicas > l.Servers:
		return fmt.Errorf("launch: %d replicas, want 1 or 2, and at most the %d servers", l.Replicas, l.Servers)
	case l.Backups < 0 || l.Backups >= l.Workers:
		return fmt.Errorf("launch: rounds without the slowest %d of %d workers", l.Backups, l.Workers)
	}
	if l.Restarts == 0 {
		l.Restarts = defaultRestarts
	}
	if l.Grace == 0 {
		l.Grace = defaultGrace
	}
	l.Replicas = max(1, l.Replicas)
	if l.Threads == 0 {
		l.Threads = max(1, device.Cores()/(l.Workers+1)) // the servers together are busy as a worker is
	}
	if l.Stdout == nil {
		l.Stdout = io.Discard
	}
	if l.Stderr == nil {
		l.Stderr = io.Discard
	}
	return nil
}

// Run starts scheduler, servers and workers, starts again what dies, and returns when all workers
// have ended: nil if each did so with status 0. When ctx ends, or a process cannot be kept alive, the
// others are asked to end and then killed. Nothing is left behind.
func (l Local) Run(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return err
	}
	job, err := l.prepare()
	if err != nil {
		return err
	}
	if l.Dir == "" {
		defer os.RemoveAll(job.env.Dir)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	job.guard.run()
	defer job.guard.end()

	nodes := []wire.Node{{Role: wire.Scheduler}}
	for i := range l.Servers {
		nodes = append(nodes, wire.Node{Role: wire.Server, Rank: uint16(i)})
	}
	var helpers, workers sync.WaitGroup
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	job.stopWorking = stopWorking
	for _, n := range nodes {
		helpers.Go(func() { job.keep(ctx, serving, cancel, n) })
	}
	for i := range l.Workers {
		n := wire.Node{Role: wire.Worker, Rank: uint16(i)}
		workers.Go(func() { job.keep(ctx, working, cancel, n) })
	}
	workers.Wait()
	// Servers and scheduler end by themselves when the last worker has said goodbye.
	done := make(chan struct{})
	timer := time.AfterFunc(l.Grace, stopServing)
	go func() { helpers.Wait(); close(done) }()
	if ctx.Err() != nil {
		stopServing()
	}
	job.finish()
	<-done
	timer.Stop()
	return context.Cause(ctx)
}

// job is a running Local.
type job struct {
	*Local
	env   Environ
	guard guardian
	mu    sync.Mutex // serializes lines of output
	over  chan struct{}

	// stopWorking ends workers that are left when the scheduler has ended by itself: all had said
	// goodbye, but one died before its process had ended, and was started again for nothing.
	stopWorking func()
	allLeft     atomic.Bool
}

// prepare makes the folder and the environment.
func (l *Local) prepare() (*job, error) {
	j := &job{Local: l, over: make(chan struct{})}
	dir := l.Dir
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp(Runtime(), "job-"); err != nil {
			return nil, fmt.Errorf("launch: folder for the job: %w", err)
		}
	} else if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("launch: folder for the job: %w", err)
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("launch: folder for the job: %w", err)
	}
	var id [8]byte
	rand.Read(id[:])
	j.env = Environ{Workers: l.Workers, Servers: l.Servers, Replicas: l.Replicas, Shrink: l.Shrink, Backups: l.Backups, Memory: l.Memory,
		Job: binary.LittleEndian.Uint64(id[:]), Dir: dir, Keys: l.Keys, Heartbeat: l.Heartbeat, Dead: l.Dead,
		Threads: l.Threads, Scheduler: "ipc://" + filepath.Join(dir, "scheduler")}
	if err := j.snapshots(); err != nil {
		return nil, err
	}
	if l.TCP {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		j.env.Scheduler = fmt.Sprintf("tcp://127.0.0.1:%d", port)
	}
	return j, nil
}

// snapshots finds the folder of snapshots, and the one to continue from.
func (j *job) snapshots() (err error) {
	if j.Snapshots == "" {
		if j.Resume {
			return errors.New("launch: no folder of snapshots to resume from")
		}
		return nil
	}
	if j.env.Snapshots, err = filepath.Abs(j.Snapshots); err == nil {
		err = os.MkdirAll(j.env.Snapshots, 0o755)
	}
	if err != nil {
		return fmt.Errorf("launch: folder for snapshots: %w", err)
	}
	if !j.Resume {
		return nil
	}
	j.env.Restore, err = kvstore.LatestSnapshot(j.env.Snapshots)
	return err
}

// Runtime returns the folder in which Local keeps the folders of its jobs, and makes it.
func Runtime() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("gomx-%d", os.Getuid()))
	// A failure shows when a folder is made below.
	_ = os.MkdirAll(dir, 0o700)
	return dir
}

// keep runs a node until it has done its work, or ctx or until ends. It starts it again when it dies,
// after a pause that grows.
func (j *job) keep(ctx, until context.Context, fail context.CancelCauseFunc, n wire.Node) {
	pause := 100 * time.Millisecond
	for run := 1; ; run++ {
		began := time.Now()
		code, err := j.once(until, n)
		switch {
		case err != nil:
			fail(fmt.Errorf("launch: starting %s: %w", n, err))
			return
		case code == ExitOK && n.Role == wire.Scheduler:
			j.allLeft.Store(true)
			time.AfterFunc(j.Grace, j.stopWorking)
			return
		case until.Err() != nil, code == ExitOK, j.ended() && n.Role != wire.Worker, j.allLeft.Load() && code > 128:
			return
		case code == ExitFailed || code == ExitUsage || j.Restarts < run:
			fail(&ExitError{n, code, run})
			return
		}
		j.Log.Warn().Stringer("node", n).Int("code", code).Int("run", run).Msg("process died, starting it again")
		if time.Since(began) > 10*time.Second {
			pause = 100 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-until.Done():
			return
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// finish says that the workers have ended.
func (j *job) finish() { close(j.over) }

func (j *job) ended() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// once runs a node one time and returns its exit code.
func (j *job) once(until context.Context, n wire.Node) (int, error) {
	if until.Err() != nil {
		return ExitRetry, nil
	}
	cmd := exec.Command(j.Program[0], j.Program[1:]...)
	cmd.Env = append(append(os.Environ(), j.Env...), j.env.For(n)...)
	prefix := fmt.Sprintf("[%s] ", n)
	var p *process
	var err error
	j.guard.do(func() {
		p, err = start(cmd, &output{&j.mu, j.Stdout, prefix}, &output{&j.mu, j.Stderr, prefix})
	})
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
	signalGroup(cmd, syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(j.Grace):
		endGroup(cmd)
		<-p.exited
	}
	return p.code(), nil
}

// guardian is a thread that starts the processes: the kernel kills them when it ends, so it must
// live as long as they may.
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
