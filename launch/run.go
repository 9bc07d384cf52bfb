package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rs/zerolog"

	"gomx/device"
	"gomx/device/cpu/narrow"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
	"gomx/launch/heap"
	"gomx/monitor"
)

// Run plays the role in the environment: it is a scheduler or a server until the job ends, or it
// calls work, with the job in its context if there is one.
func Run(ctx context.Context, work func(ctx context.Context) error) error {
	e, err := FromEnviron()
	if err != nil {
		return usageError{err}
	}
	if err := e.products(); err != nil {
		return usageError{err}
	}
	if e.Role == wire.NoRole {
		return work(ctx)
	}
	ctx, stop := withLauncher(ctx, e.Launcher)
	defer stop()
	limitCores(e.cores())
	if err := checkFiles("a "+e.Role.String(), filesFor(e.Role, e.Workers, e.Servers)); err != nil {
		return err
	}
	if e.place.Engine != "" {
		return e.runRank(ctx, work)
	}
	return e.run(ctx, work)
}

// run plays the role. The address of the scheduler is known.
func (e *Environ) run(ctx context.Context, work func(ctx context.Context) error) error {
	if err := e.findHost(ctx); err != nil {
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
	e.giveProducts(&cfg)
	cfg.OnDrain = drainerOf(ctx).set(e.Drain)
	if e.Role != wire.Worker {
		defer heap.LimitGarbage()()
		return kvstore.Serve(ctx, cfg)
	}
	job, err := kvstore.Join(ctx, cfg)
	if errors.Is(err, ps.ErrOver) {
		// A process in this place has done its work, and was killed between its goodbye and its
		// end.
		cfg.Log.Info().Err(err).Msg("nothing to do")
		return nil
	}
	if err != nil {
		return err
	}
	if err = takeProducts(job, cfg.Log); err == nil {
		err = work(kvstore.WithJob(ctx, job))
	}
	if errors.Is(err, kvstore.ErrLeft) {
		return cmp.Or(job.Close(ctx), err)
	}
	if err != nil {
		return abandoned(err, job.Abandon()) // a successor may take this place
	}
	return job.Close(ctx)
}

// abandoned returns the error of a program whose place in the job has been given up. The error of
// giving up is text alone: the program's decides whether the process is started again.
func abandoned(err, giving error) error {
	if giving == nil {
		return err
	}
	return fmt.Errorf("%w (leaving the job: %v)", err, giving)
}

// cores returns the number of cores for the kernels of this process, 0 for all. If only the number
// of workers on this host is known, the host is taken to have servers.
func (e *Environ) cores() int {
	if e.Threads == 0 && e.Share > 0 {
		return kvstore.KernelThreads(device.Cores(), e.Share, 1)
	}
	return e.Threads
}

// limitCores lets the kernels of this process use n cores, 0 for all. Goroutines still run on all
// cores. Without the limit, processes that share a machine take several times as long: the threads
// of each wait for cores that run the threads of the others.
func limitCores(n int) {
	if n == 0 {
		return
	}
	all := runtime.GOMAXPROCS(n)
	device.Cores() // reads the number of cores before the limit is set
	runtime.GOMAXPROCS(all)
}

// Main is Run for main functions: an interrupt ends the context, an error is printed, and the exit
// code tells the parent whether running the program again may help.
//
// SIGTERM asks the process to leave the job: a worker ends its step and leaves with the next change
// of the group, a server moves its copies to other servers. A process that cannot leave without
// loss ends at once, as it does by a second SIGTERM and after the time of GOMX_DRAIN.
func Main(work func(ctx context.Context) error) {
	ctx, stop := withSignals(context.Background())
	err := Run(ctx, work)
	code := ExitCode(err)
	if code == ExitFailed && ctx.Err() != nil {
		code = ExitRetry // a signal ended the program, it did not fail
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
	}
	os.Exit(code)
}

// config returns the configuration of a process. cleanup removes the files of the process from the
// job's folder.
func (e *Environ) config() (c kvstore.JobConfig, cleanup func(), err error) {
	node := wire.Node{Role: e.Role, Rank: uint16(max(0, e.Rank))}
	if e.Role == wire.Scheduler {
		node.Rank = 0
	}
	c = kvstore.JobConfig{Node: node, Scheduler: e.Scheduler, ID: e.Job, Workers: e.Workers,
		Servers: e.Servers, Replicas: e.Replicas,
		Backups: e.Backups, Memory: e.Memory, Heartbeat: e.Heartbeat, Dead: e.Dead,
		Patience: e.Patience, Listen: e.listen(node), Dir: e.Dir,
		Peers: e.listen(wire.Node{Role: wire.Server}), Snapshots: e.Snapshots,
		Restore: e.Restore, Log: e.log(node)}
	if e.View != "" {
		if c.View, err = view.Open(e.View, e.Job); err != nil {
			return c, nil, err
		}
	}
	if e.Shrink {
		c.Policy = ps.Shrink
	}
	opt := zmq.Options{Advertise: e.Host, Dedicated: e.dedicated(), IPv6: e.IPv6}
	if e.Role == wire.Scheduler && e.View == "" {
		opt.Advertise, c.Listening = e.schedulerHost(), e.announce
	}
	if e.Keys != "" {
		if opt.Keys, err = LoadKeys(e.Keys, node); err != nil {
			return c, nil, err
		}
	}
	c.Open = e.opener(opt)
	end, err := e.trace(node, &c)
	if err != nil {
		return c, nil, err
	}
	cleanup = func() { closeView(c.View); end() }
	if e.Status == "off" {
		return c, cleanup, nil
	}
	if c.Status = e.Status; c.Status == "" {
		c.Status = "127.0.0.1:0"
	}
	c.Metrics = monitor.Handler
	file, own := statusFile(e.Dir, node), ""
	c.Announce = func(addr string) {
		own = addr
		fmt.Fprintf(os.Stderr, "gomx: %s serves health and metrics at http://%s\n", node, addr)
		if e.Dir != "" {
			// without the file, gomx top misses this process
			_ = os.WriteFile(file, []byte(addr), 0o600)
		}
	}
	if e.Dir != "" {
		before := cleanup
		cleanup = func() {
			if b, err := os.ReadFile(file); err == nil && string(b) == own { // not of a successor
				os.Remove(file)
			}
			before()
		}
	}
	return c, cleanup, nil
}

// closeView closes a store, if there is one. A failure loses nothing.
func closeView(s view.Store) {
	if s != nil {
		_ = s.Close()
	}
}

// askRank lets the scheduler choose the rank of a process whose environment has none, as with MPI,
// Slurm and MXNet's own trackers.
func (e *Environ) askRank(ctx context.Context) error {
	if e.Keys != "" {
		return usageError{fmt.Errorf("launch: %s without rank in the environment, want %s, %s "+
			"or %s: with encryption each rank has its key", e.Role, envWorkerID, envServerID,
			envRank)}
	}
	node := wire.Node{Role: e.Role}
	var store view.Store
	if e.View != "" {
		var err error
		if store, err = view.Open(e.View, e.Job); err != nil {
			return usageError{err}
		}
		defer closeView(store)
	}
	rank, err := kvstore.AskRank(ctx, kvstore.JobConfig{Node: node, Scheduler: e.Scheduler,
		View: store, ID: e.Job, Workers: e.Workers, Servers: e.Servers,
		Listen: zmq.NoListen, Log: e.log(node),
		Open: func(t transport.Config) (transport.Endpoint, error) {
			return zmq.Open(t, zmq.Options{IPv6: e.IPv6})
		}})
	if err != nil {
		return err
	}
	e.Rank = rank
	return nil
}

// dedicated reports whether waiting for messages may occupy a processor of the Go scheduler. It may
// in a server, which has little other work, and in a worker whose kernels leave a core free.
func (e *Environ) dedicated() bool {
	n := e.cores()
	return e.Role == wire.Server || e.Role == wire.Worker && n > 0 && n < runtime.GOMAXPROCS(0)
}

// opener opens endpoints of ZeroMQ. Between servers and workers, TLS encrypts payloads if there are
// keys, and shared memory carries large payloads on one host; the scheduler uses neither.
func (e *Environ) opener(opt zmq.Options) kvstore.Opener {
	base := e.encrypted(func(t transport.Config) (transport.Endpoint, error) {
		return zmq.Open(t, opt)
	}, opt)
	if e.NoShared || e.Role == wire.Scheduler || runtime.GOOS != "linux" {
		return base
	}
	return func(t transport.Config) (transport.Endpoint, error) {
		return shm.Open(t, shm.Options{Base: base})
	}
}

// statusFile is the file to which a process writes the address of its health and metrics pages. Of
// several schedulers the one that leads writes it.
func statusFile(dir string, n wire.Node) string {
	return filepath.Join(dir, "status-"+strings.ReplaceAll(n.String(), " ", "-"))
}

// validProducts reports whether a text spells classes of products, or is empty.
func validProducts(text string) bool {
	_, err := device.ParseProducts(text)
	return err == nil || text == ""
}

// Products prepares the choice of products in bfloat16 as the environment says, for programs that
// do not call Run: GOMX_BFLOAT16 makes the choice, and measurements of unknown processors are kept
// in the folder GOMX_CACHE. See package narrow.
func Products() error {
	e := Environ{BFloat16: os.Getenv(envBFloat16), Cache: os.Getenv(envCache)}
	return e.products()
}

// products prepares the choice of the process.
func (e *Environ) products() error {
	folder := e.Cache
	if folder == "" {
		if dir, err := os.UserCacheDir(); err == nil { // else nothing is kept
			folder = filepath.Join(dir, "gomx")
		}
	}
	narrow.Keep(folder)
	if e.BFloat16 == "" {
		return nil
	}
	p, err := device.ParseProducts(e.BFloat16)
	if err != nil {
		return fmt.Errorf("launch: %s: %w", envBFloat16, err)
	}
	narrow.Use(p, envBFloat16)
	return nil
}

// giveProducts lets a scheduler say which products the workers of the job compute in bfloat16.
func (e *Environ) giveProducts(c *kvstore.JobConfig) {
	if e.Role == wire.Scheduler {
		choice := narrow.Chosen()
		c.Products = choice.Products.String()
		logProducts(c.Log, choice)
	}
}

// takeProducts lets a worker take the choice of the scheduler.
func takeProducts(job *kvstore.Job, log zerolog.Logger) error {
	text := job.Products()
	if text == "" {
		return nil
	}
	p, err := device.ParseProducts(text)
	if err != nil {
		return fmt.Errorf("launch: the scheduler's choice: %w", err)
	}
	narrow.Use(p, "scheduler")
	logProducts(log, narrow.Chosen())
	return nil
}

func logProducts(log zerolog.Logger, c narrow.Choice) {
	log.Info().Stringer("products", c.Products).Str("source", c.Source).
		Str("processor", c.Processor).Msg("products in bfloat16, where the program asks for it")
}
