package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"gomx/device"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// Run does what the environment says: it is a scheduler or a server until the job is over, or calls
// work, with the job in its context if there is one.
func Run(ctx context.Context, work func(ctx context.Context) error) error {
	e, err := FromEnviron()
	if err != nil {
		return usageError{err}
	}
	if e.Role == wire.NoRole {
		return work(ctx)
	}
	ctx, stop := withLauncher(ctx, e.Launcher)
	defer stop()
	limitCores(e.Threads)
	if err := checkFiles("a "+e.Role.String(), filesFor(e.Role, e.Workers, e.Servers)); err != nil {
		return err
	}
	if e.Role != wire.Scheduler && e.Rank < 0 {
		if err := e.askRank(ctx); err != nil {
			return err
		}
	}
	cfg, cleanup, err := e.config()
	if err != nil {
		return usageError{err}
	}
	defer cleanup()
	if e.Role != wire.Worker {
		return kvstore.Serve(ctx, cfg)
	}
	job, err := kvstore.Join(ctx, cfg)
	if err != nil {
		return err
	}
	if err := work(kvstore.WithJob(ctx, job)); err != nil {
		return errors.Join(err, job.Abandon()) // a successor may take this place
	}
	return job.Close(ctx)
}

// limitCores lets the kernels of this process use n cores, 0 for all. Processes that share a
// machine take several times as long when the threads of each wait for cores that the others have.
// Goroutines still run on all.
func limitCores(n int) {
	if n == 0 {
		return
	}
	all := runtime.GOMAXPROCS(n)
	device.Cores() // remembers what it sees first
	runtime.GOMAXPROCS(all)
}

// Main is Run for main functions: an interrupt ends the context, an error is printed, and the exit
// code says whether running again may help.
func Main(work func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, work)
	code := ExitCode(err)
	if code == ExitFailed && ctx.Err() != nil {
		code = ExitRetry // it was told to end: the program itself did not fail
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
	}
	os.Exit(code)
}

// config turns the environment into the configuration of a process. cleanup removes what it leaves
// in the job's folder.
func (e *Environ) config() (c kvstore.JobConfig, cleanup func(), err error) {
	node := wire.Node{Role: e.Role, Rank: uint16(max(0, e.Rank))}
	if e.Role == wire.Scheduler {
		node.Rank = 0
	}
	c = kvstore.JobConfig{Node: node, Scheduler: e.Scheduler, ID: e.Job, Workers: e.Workers,
		Servers: e.Servers, Replicas: e.Replicas,
		Backups: e.Backups, Memory: e.Memory, Heartbeat: e.Heartbeat, Dead: e.Dead,
		Patience: e.Patience, Listen: e.listen(node), Dir: e.Dir, Snapshots: e.Snapshots,
		Restore: e.Restore, Log: e.log(node)}
	if e.Shrink {
		c.Policy = ps.Shrink
	}
	opt := zmq.Options{Advertise: e.Host, Dedicated: e.dedicated()}
	if e.Keys != "" {
		if opt.Keys, err = LoadKeys(e.Keys, node); err != nil {
			return c, nil, err
		}
	}
	c.Open = e.opener(opt)
	cleanup = func() {}
	if e.Status == "off" {
		return c, cleanup, nil
	}
	if c.Status = e.Status; c.Status == "" {
		c.Status = "127.0.0.1:0"
	}
	file := statusFile(e.Dir, node)
	c.Announce = func(addr string) {
		fmt.Fprintf(os.Stderr, "gomx: %s serves health and metrics at http://%s\n", node, addr)
		if e.Dir != "" {
			_ = os.WriteFile(file, []byte(addr), 0o600) // gomx top does without
		}
	}
	if e.Dir != "" {
		cleanup = func() { os.Remove(file) }
	}
	return c, cleanup, nil
}

// askRank lets the scheduler choose the rank of a process whose environment has none, as those of
// MPI, Slurm and MXNet's own trackers.
func (e *Environ) askRank(ctx context.Context) error {
	if e.Keys != "" {
		return usageError{fmt.Errorf("launch: %s without rank in the environment, want %s, %s "+
			"or %s: with encryption each rank has its key", e.Role, envWorkerID, envServerID,
			envRank)}
	}
	node := wire.Node{Role: e.Role}
	rank, err := kvstore.AskRank(ctx, kvstore.JobConfig{Node: node, Scheduler: e.Scheduler,
		ID: e.Job, Workers: e.Workers, Servers: e.Servers,
		Listen: zmq.NoListen, Log: e.log(node),
		Open: func(t transport.Config) (transport.Endpoint, error) {
			return zmq.Open(t,
				zmq.Options{})
		}})
	if err != nil {
		return err
	}
	e.Rank = rank
	return nil
}

// dedicated reports whether waiting for messages may keep a processor of the Go scheduler: that of
// a server, which has little else to do, and that of a worker whose kernels leave one to spare.
func (e *Environ) dedicated() bool {
	return e.Role == wire.Server || e.Role == wire.Worker && e.Threads > 0 &&
		e.Threads < runtime.GOMAXPROCS(0)
}

// opener opens endpoints of ZeroMQ. Between servers and workers of one host shared memory takes the
// large payloads; the scheduler has none.
func (e *Environ) opener(opt zmq.Options) kvstore.Opener {
	base := func(t transport.Config) (transport.Endpoint, error) { return zmq.Open(t, opt) }
	if e.NoShared || e.Role == wire.Scheduler || runtime.GOOS != "linux" {
		return base
	}
	return func(t transport.Config) (transport.Endpoint, error) {
		return shm.Open(t,
			shm.Options{Base: base})
	}
}

// listen is where a process listens: beside the scheduler, on local sockets if that has one.
func (e *Environ) listen(n wire.Node) string {
	switch {
	case n.Role == wire.Scheduler:
		return e.Scheduler
	case n.Role == wire.Worker:
		return zmq.NoListen
	case strings.HasPrefix(e.Scheduler, "ipc:"):
		return "ipc"
	case e.Host != "":
		return "tcp://0.0.0.0:0"
	}
	return "" // the loopback
}

// log returns what writes state changes to the standard error, as much as PS_VERBOSE says.
func (e *Environ) log(n wire.Node) zerolog.Logger {
	level := zerolog.WarnLevel
	switch {
	case e.Verbose == 1:
		level = zerolog.InfoLevel
	case e.Verbose > 1:
		level = zerolog.DebugLevel
	}
	w := zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true, TimeFormat: time.TimeOnly}
	return zerolog.New(w).Level(level).With().Timestamp().Stringer("self", n).Logger()
}

// statusFile is where a process of a job says at which address it serves health and metrics.
func statusFile(dir string, n wire.Node) string {
	return filepath.Join(dir, "status-"+strings.ReplaceAll(n.String(), " ", "-"))
}
