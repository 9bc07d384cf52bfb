package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"sync"

	"gomx/kvstore"
	"gomx/kvstore/wire"
)

// Mates are the workers of one stage in several pipelines. They have a job of their own, whose
// stores hold the parameters of the stage only. Its scheduler and its server run in the worker of
// the first pipeline.
type Mates struct {
	job     *kvstore.Job
	stop    context.CancelFunc
	serving sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// MatesConfig describes the place of a worker among its mates.
type MatesConfig struct {
	Job      kvstore.JobConfig // of all workers of all pipelines
	Stage    int
	Replica  int // number of the worker's pipeline
	Replicas int // number of pipelines
	// Exchange gives all workers of the job the texts of all workers, by rank.
	Exchange func(text string) ([]string, error)
}

// Join joins the job of a worker's mates. All workers of all pipelines call it. The stages of
// worker r and worker r+s are the same if there are s stages.
func Join(ctx context.Context, c MatesConfig) (*Mates, error) {
	jc := c.Job
	jc.ID = c.Job.ID + uint64(c.Stage+1)<<32
	jc.Workers, jc.Servers, jc.Replicas, jc.Backups = c.Replicas, 1, 1, 0
	jc.Dir, jc.Snapshots, jc.Restore, jc.Status, jc.Announce = "", "", "", "", nil
	addr := ""
	var err error
	if c.Replica == 0 {
		if addr, err = schedulerAddr(&c.Job, c.Stage); err != nil {
			return nil, err
		}
	}
	addrs, err := c.Exchange(addr)
	if err != nil {
		return nil, err
	}
	jc.Scheduler = addrs[c.Stage] // of the worker of the first pipeline
	m := &Mates{}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	if c.Replica == 0 {
		for _, role := range []wire.Role{wire.Scheduler, wire.Server} {
			sc := jc
			sc.Node, sc.Listen = wire.Node{Role: role}, c.Job.Peers
			if role == wire.Scheduler {
				sc.Listen = jc.Scheduler
			}
			m.serving.Go(func() { m.serve(serving, sc) })
		}
	}
	jc.Node = wire.Node{Role: wire.Worker, Rank: uint16(c.Replica)}
	if m.job, err = kvstore.Join(ctx, jc); err != nil {
		return nil, errors.Join(err, m.end())
	}
	return m, nil
}

// serve is the scheduler or the server of the mates' job.
func (m *Mates) serve(ctx context.Context, c kvstore.JobConfig) {
	if err := kvstore.Serve(ctx, c); err != nil && ctx.Err() == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.errs = append(m.errs, fmt.Errorf("pipeline: %s of stage: %w", c.Node, err))
	}
}

// Job returns the job, for kvstore.WithJob.
func (m *Mates) Job() *kvstore.Job { return m.job }

// Leave leaves the job. Without a failure it waits until the other mates have left too, where the
// server runs in this process.
func (m *Mates) Leave(ctx context.Context, failed bool) error {
	if failed {
		return errors.Join(m.job.Abandon(), m.end())
	}
	err := m.job.Close(ctx)
	m.serving.Wait()
	return errors.Join(err, m.end())
}

// end stops the scheduler and the server, and returns their errors.
func (m *Mates) end() error {
	m.stop()
	m.serving.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.errs...)
}

// schedulerAddr returns an address for the scheduler of a stage, of the same kind as the address of
// the job's scheduler.
func schedulerAddr(c *kvstore.JobConfig, stage int) (string, error) {
	first, _, _ := strings.Cut(c.Scheduler, ",")
	kind, rest, _ := strings.Cut(first, "://")
	switch kind {
	case "tcp":
		return tcpAddr(rest)
	case "ipc":
		return fmt.Sprintf("ipc://%s/stage%d", path.Dir(rest), stage), nil
	}
	return fmt.Sprintf("%s-stage%d", c.Scheduler, stage), nil
}

// tcpAddr returns a free port at the address by which this machine reaches a scheduler. Another
// program may take the port first; then the scheduler reports it.
func tcpAddr(scheduler string) (string, error) {
	route, err := net.Dial("udp", scheduler)
	if err != nil {
		return "", fmt.Errorf("pipeline: scheduler %s: %w", scheduler, err)
	}
	defer route.Close()
	host, _, err := net.SplitHostPort(route.LocalAddr().String())
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("pipeline: free port: %w", err)
	}
	defer l.Close()
	return "tcp://" + l.Addr().String(), nil
}
