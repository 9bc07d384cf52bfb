package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gomx/device"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch/network"

	"github.com/rs/zerolog"
)

// Local runs a job as processes of this machine.
type Local struct {
	Program []string // program and arguments, the same in every role
	Workers int
	Servers int

	Replicas int // copies of every shard; 0: 1
	// Shrink lets rounds close without dead workers, and the job go on without workers that have
	// died more often than Restarts says.
	Shrink  bool
	Backups int // number of slowest workers that a round does not wait for
	// Memory is the number of bytes that each server may use for its keys, see kvstore.JobConfig.
	// 0: no limit.
	Memory uint64
	TCP    bool // TCP on the loopback instead of local sockets
	// Keys is a folder of keys that MakeKeys wrote, for encryption. Without it, and with Encrypt,
	// the launcher makes keys for this run and removes them at its end. Without either, nothing is
	// encrypted.
	Keys string
	// Encrypt is the kind of encryption. Empty: EncryptBulk with Keys, else EncryptOff.
	Encrypt string
	// Threads is the number of cores for the kernels of each process. 0: the cores of the machine
	// are shared among the workers and the servers; all servers together get the share of one
	// worker.
	Threads int
	// BFloat16 are the classes of products that the workers compute in bfloat16, see Environ.
	BFloat16 string
	// Restarts is the number of times that each process is started again; -1: never, 0: 10 times.
	Restarts int
	// Env is added to the environment of every process.
	Env []string
	// Dir is a folder for the files that the processes share, kept at the end; two jobs cannot
	// share one. Empty: a temporary folder, which the next launcher removes if this one is killed.
	Dir string

	// Remote starts the processes on other hosts; nil: on this machine. Their connections are
	// always encrypted, with keys made for this run; TCP, Keys and Threads of 0 have no meaning
	// then, and EncryptOff is EncryptBulk.
	Remote *Remote
	// Ports are the ports at which processes on other hosts listen. The zero value is every port.
	Ports network.Ports
	// Logs is a folder for the output of the processes, one file for each, to which a process that
	// is started again appends; empty: none.
	Logs string
	// View is the address of the store that keeps the scheduler's view and elects the scheduler
	// that leads, see view.Open. Empty: the job's folder. Schedulers is the number of schedulers,
	// of which one leads; 0: 1.
	View       string
	Schedulers int

	// Snapshots is the folder for snapshots of the job, see kvstore.Snapshotter; empty: none. With
	// Resume the job continues from the last complete snapshot, if there is any.
	Snapshots string
	Resume    bool

	Stdout, Stderr io.Writer
	Log            zerolog.Logger // log of the launcher itself

	Heartbeat, Dead, Patience time.Duration // see kvstore.JobConfig; 0: defaults
	// Grace is the time that processes have to end by themselves: after the end of the last worker,
	// and after a signal asked them to end. 0: 5 seconds.
	Grace time.Duration

	// Started is called whenever a process has started; for tests and displays.
	Started func(n wire.Node, pid int)
}

const (
	defaultRestarts = 10
	defaultGrace    = 5 * time.Second
	// mostSchedulers is the greatest number of schedulers, of which all but one only wait.
	mostSchedulers = 16
)

func (l *Local) validate() error {
	switch {
	case len(l.Program) == 0:
		return errors.New("launch: no program to run")
	case l.Workers < 1 || l.Workers > 1<<15:
		return fmt.Errorf("launch: %d workers, want 1 to %d", l.Workers, 1<<15)
	case l.Servers < 0 || l.Servers > 1<<15:
		return fmt.Errorf("launch: %d servers, want 0 to %d", l.Servers, 1<<15)
	case l.Replicas < 0 || l.Replicas > 2 || l.Replicas > max(1, l.Servers):
		return fmt.Errorf("launch: %d replicas, want 1 or 2, and at most the %d servers",
			l.Replicas, l.Servers)
	case l.Remote != nil && (l.Schedulers > 1 || l.View != ""):
		return errors.New("launch: several schedulers on other hosts: want an engine that starts " +
			"them with GOMX_VIEW in their environment")
	case l.Schedulers < 0 || l.Schedulers > mostSchedulers:
		return fmt.Errorf("launch: %d schedulers, want 1 to %d", l.Schedulers, mostSchedulers)
	case l.Backups < 0 || l.Backups >= l.Workers:
		return fmt.Errorf("launch: %d backup workers, want fewer than the %d workers",
			l.Backups, l.Workers)
	case !validProducts(l.BFloat16):
		return fmt.Errorf("launch: bfloat16 for %q, want none, all or classes such as "+
			"convolution,dense", l.BFloat16)
	case !validEncrypt(l.Encrypt):
		return fmt.Errorf("launch: encryption %q, want bulk, curve or off", l.Encrypt)
	case l.Encrypt == EncryptOff && l.Keys != "":
		return fmt.Errorf("launch: keys in %s without encryption, want bulk or curve", l.Keys)
	}
	if l.Restarts == 0 {
		l.Restarts = defaultRestarts
	}
	if l.Grace == 0 {
		l.Grace = defaultGrace
	}
	l.Replicas, l.Schedulers = max(1, l.Replicas), max(1, l.Schedulers)
	if l.Threads == 0 && l.Remote == nil {
		l.Threads = kvstore.KernelThreads(device.Cores(), l.Workers, l.Servers)
	}
	if l.Stdout == nil {
		l.Stdout = io.Discard
	}
	if l.Stderr == nil {
		l.Stderr = io.Discard
	}
	return nil
}

// Run starts the schedulers, the servers and the workers, starts again the processes that die, and
// returns when all workers have ended: nil if each ended with code 0. When ctx ends, or a process
// cannot be kept alive, Run asks the others to end, kills the rest after Grace, and returns the
// cause. It leaves no process and no temporary folder behind.
func (l Local) Run(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return usageError{err}
	}
	if err := l.checkFiles(); err != nil {
		return err
	}
	job, err := l.prepare()
	if err != nil {
		return err
	}
	defer job.release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	job.guard.run()
	defer job.guard.end()

	var stopServing, stopWorking context.CancelFunc
	job.serving, stopServing = context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	job.working, stopWorking = context.WithCancel(ctx)
	defer stopWorking()
	job.stopWorking, job.stopServing, job.fail = stopWorking, stopServing, cancel
	if err := job.begin(ctx); err != nil {
		cancel(err)
		stopServing()
	}
	var following sync.WaitGroup
	following.Go(func() { job.follow(job.working) })
	job.workers.Wait()
	if lost := job.outcome.lost.Load(); lost != nil && !job.outcome.done.Load() {
		cancel(lost) // no worker is left that has done its work
	}
	// The servers and the scheduler end by themselves when the last worker has left the job.
	done := make(chan struct{})
	timer := time.AfterFunc(l.Grace, stopServing)
	go func() { job.helpers.Wait(); close(done) }()
	if ctx.Err() != nil {
		stopServing()
	}
	job.finish()
	<-done
	timer.Stop()
	stopWorking()
	following.Wait()
	job.cleanHosts()
	return context.Cause(ctx)
}
