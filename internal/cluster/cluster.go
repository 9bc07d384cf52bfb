package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// Config describes a job. The zero value of a field means kvstore's default, or one.
type Config struct {
	Workers, Servers, Replicas int
	// Peers makes a job without servers, whose workers connect to each other.
	Peers     bool
	Policy    ps.Policy
	Backups   int
	SliceSize int
	Memory    uint64 // bytes of each server, see kvstore.JobConfig
	Dir       string // folder for the scheduler's view
	// View elects the scheduler among so many candidates, whose addresses are SchedulerAddr. Nil:
	// there is one scheduler.
	View                      view.Store
	Schedulers                int
	Snapshots, Restore        string // see kvstore.JobConfig
	Seed                      uint64 // seed of the network's faults
	Heartbeat, Dead, Patience time.Duration
	// Announce, if set, is called with the address at which each process serves health and metrics;
	// see kvstore.JobConfig.
	Announce func(n wire.Node, addr string)
}

// Cluster is a running job. Its methods may be called from any goroutine.
type Cluster struct {
	Network *mem.Network
	cfg     kvstore.JobConfig
	tell    func(n wire.Node, addr string)
	wg      sync.WaitGroup

	mu     sync.Mutex
	errs   []error
	cancel map[wire.Node]func()
	ended  map[wire.Node]chan struct{}
	again  map[int]*kvstore.Job // new jobs of workers that have died, by rank
}

// errKilled is the cause of the end of a killed process.
var errKilled = errors.New("killed")

// Start starts the scheduler and the servers.
func Start(c Config) *Cluster {
	cl := &Cluster{Network: mem.NewNetwork(c.Seed), cancel: map[wire.Node]func(){},
		ended: map[wire.Node]chan struct{}{},
		again: map[int]*kvstore.Job{}}
	cl.cfg = kvstore.JobConfig{Scheduler: "mem:scheduler", ID: 1 + c.Seed,
		Workers: max(1, c.Workers), Servers: max(1, c.Servers),
		Replicas: c.Replicas, Policy: c.Policy, Backups: c.Backups, SliceSize: c.SliceSize,
		Memory: c.Memory, Dir: c.Dir, Snapshots: c.Snapshots, Restore: c.Restore,
		Heartbeat: c.Heartbeat, Dead: c.Dead, Patience: c.Patience, Open: cl.open}
	if c.Peers {
		cl.cfg.Servers = 0
	}
	cl.tell = c.Announce
	if c.View != nil {
		cl.cfg.View, cl.cfg.Scheduler = c.View, ""
	}
	for i := range max(1, c.Schedulers) {
		cl.Restart(wire.Node{Role: wire.Scheduler, Rank: uint16(i)})
	}
	for i := range cl.cfg.Servers {
		cl.Restart(wire.Node{Role: wire.Server, Rank: uint16(i)})
	}
	return cl
}

func (c *Cluster) open(t transport.Config) (transport.Endpoint, error) {
	return mem.Open(c.Network, t)
}

// SchedulerAddr is the address of a candidate if the job has a View.
func SchedulerAddr(rank uint16) string { return fmt.Sprintf("mem:scheduler %d", rank) }

// Restart starts a new process in place of a server or the scheduler that has ended.
func (c *Cluster) Restart(n wire.Node) {
	cfg := c.config(n)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	c.mu.Lock()
	c.cancel[n], c.ended[n] = func() { cancel(errKilled) }, ended
	c.mu.Unlock()
	c.wg.Go(func() {
		defer close(ended)
		err := kvstore.Serve(ctx, cfg)
		if err == nil || errors.Is(err, errKilled) || errors.Is(err, kvstore.ErrLeft) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs = append(c.errs, fmt.Errorf("%s: %w", n, err))
	})
}

// Kill ends a server or the scheduler at once, without a message to the others.
func (c *Cluster) Kill(n wire.Node) {
	c.mu.Lock()
	cancel, ended := c.cancel[n], c.ended[n]
	c.mu.Unlock()
	cancel()
	<-ended
}

// Worker returns the configuration of a worker's process.
func (c *Cluster) Worker(rank int) kvstore.JobConfig {
	return c.config(wire.Node{Role: wire.Worker, Rank: uint16(rank)})
}

// config returns the configuration of any process.
func (c *Cluster) config(n wire.Node) kvstore.JobConfig {
	cfg := c.cfg
	cfg.Node = n
	if n.Role == wire.Scheduler && cfg.View != nil {
		cfg.Node.Rank, cfg.Listen = 0, SchedulerAddr(n.Rank) // the rank numbers the candidates
	}
	if c.tell != nil {
		cfg.Status, cfg.Announce = "127.0.0.1:0", func(addr string) { c.tell(n, addr) }
	}
	return cfg
}

// Work runs f as every worker at once and returns their errors.
func (c *Cluster) Work(ctx context.Context, f func(ctx context.Context, rank int) error) error {
	errs := make([]error, c.cfg.Workers)
	var wg sync.WaitGroup
	for rank := range errs {
		wg.Go(func() {
			if err := c.work(ctx, rank, f); err != nil {
				errs[rank] = fmt.Errorf("worker %d: %w", rank, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// work runs f as one worker.
func (c *Cluster) work(ctx context.Context, rank int, f func(ctx context.Context,
	rank int) error) error {
	job, err := kvstore.Join(ctx, c.Worker(rank))
	if err != nil {
		return err
	}
	err = f(kvstore.WithJob(ctx, job), rank)
	c.mu.Lock()
	if again := c.again[rank]; again != nil {
		job = again
	}
	c.mu.Unlock()
	return errors.Join(err, job.Close(ctx))
}

// Again ends a worker that runs the function of Work, as if its process had died, and returns the
// context of a new worker in its place.
func (c *Cluster) Again(ctx context.Context, rank int) (context.Context, error) {
	if err := kvstore.JobOf(ctx).Abandon(); err != nil {
		return nil, err
	}
	job, err := kvstore.Join(ctx, c.Worker(rank))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again[rank] = job
	return kvstore.WithJob(ctx, job), nil
}

// Wait waits until the scheduler and the servers have ended, and returns their errors.
func (c *Cluster) Wait() error {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}
