//go:build cgo

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// NodeCommand is the hidden command of gomx that runs RunNode.
const NodeCommand = "bench-node"

// kvJob is the job number in all messages.
const kvJob = 7

func kvServer(rank int) wire.Node { return wire.Node{Role: wire.Server, Rank: uint16(rank)} }
func kvWorker(rank int) wire.Node { return wire.Node{Role: wire.Worker, Rank: uint16(rank)} }

func (p *kvPlan) nodes() []wire.Node {
	list := []wire.Node{{Role: wire.Scheduler}}
	for i := range p.servers() {
		list = append(list, kvServer(i))
	}
	for i := range p.Workers {
		list = append(list, kvWorker(i))
	}
	return list
}

// makeKeys makes a key pair for every process of an encrypted measurement.
func (p *kvPlan) makeKeys() error {
	if p.Via != "curve" && p.Via != "sealed" {
		return nil
	}
	for range p.nodes() {
		k, err := zmq.NewKey()
		if err != nil {
			return err
		}
		p.Keys = append(p.Keys, k.Public, k.Secret)
	}
	return nil
}

// scheduler is the address of the scheduler, whose traffic is not measured.
func (p *kvPlan) scheduler() string { return "ipc://" + filepath.Join(p.Dir, "scheduler") }

// open opens the endpoint of one process.
func (p *kvPlan) open(cfg transport.Config) (transport.Endpoint, error) {
	// The same option as in jobs of gomx launch that have a free core.
	opt := zmq.Options{Dedicated: cfg.Self.Role != wire.Scheduler}
	switch {
	case cfg.Self.Role == wire.Worker && !p.Ring:
		cfg.Listen = zmq.NoListen
	case cfg.Self.Role != wire.Scheduler && (p.Via == "ipc" || p.Via == "shm"):
		cfg.Listen = "ipc"
	}
	if len(p.Keys) > 0 {
		opt.Keys = &zmq.Keyring{Nodes: map[wire.Node]string{}}
		for i, n := range p.nodes() {
			opt.Keys.Nodes[n] = p.Keys[2*i]
			if n == cfg.Self {
				opt.Keys.Self = zmq.Key{Public: p.Keys[2*i], Secret: p.Keys[2*i+1]}
			}
		}
	}
	base := func(cfg transport.Config) (transport.Endpoint, error) { return zmq.Open(cfg, opt) }
	switch {
	case p.Via == "shm":
		return shm.Open(cfg, shm.Options{Base: base})
	case p.Via == "sealed" && cfg.Self.Role == wire.Server:
		return bulk.Open(cfg, bulk.Options{Base: base, Listen: "127.0.0.1:0"})
	case p.Via == "sealed" && cfg.Self.Role == wire.Worker:
		return bulk.Open(cfg, bulk.Options{Base: base})
	}
	return base(cfg)
}

// endpoint opens the endpoint of a process that has no store.
func (p *kvPlan) endpoint(self wire.Node, h transport.Handler) (transport.Endpoint, error) {
	return p.open(transport.Config{Self: self, Incarnation: 1, Job: kvJob, Handler: h})
}

// kvClient is a worker, with a store or with only a transport.
type kvClient interface {
	// rounds pushes and pulls the array n times, one after the other.
	rounds(ctx context.Context, n int) error
	close(ctx context.Context) error
}

// RunNode runs one process of a measurement of the suite kv. It reads the plan from in and writes
// figures to out.
func RunNode(ctx context.Context, role string, rank int, addr string, in io.Reader,
	out io.Writer) error {
	var p kvPlan
	d := json.NewDecoder(in)
	if err := d.Decode(&p); err != nil {
		return fmt.Errorf("bench: plan of %s %d: %w", role, rank, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan struct{})
	go func() { // the parent closes the pipe when it no longer needs this process
		defer close(over)
		io.Copy(io.Discard, in)
	}()
	switch {
	case role != "worker" && p.Raw:
		s, err := p.sum()
		if err != nil {
			return err
		}
		defer s.ep.Close()
		if err := json.NewEncoder(out).Encode(s.ep.Addr()); err != nil {
			return err
		}
		<-over
		return nil
	case role != "worker":
		go func() { <-over; stop() }()
		if err := json.NewEncoder(out).Encode(""); err != nil {
			return err
		}
		return p.serve(ctx, role, rank)
	}
	w, err := p.client(ctx, rank, addr)
	if err != nil {
		return err
	}
	list, err := p.run(ctx, w, rank)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(list); err != nil {
		return err
	}
	<-over // other workers may still run, and their processor time counts
	return w.close(ctx)
}

func (p *kvPlan) client(ctx context.Context, rank int, addr string) (kvClient, error) {
	if p.Raw {
		return p.push(rank, addr)
	}
	return p.join(ctx, rank)
}

// run measures the repetitions of the plan. The first worker also reports the processor time of all
// processes.
func (p *kvPlan) run(ctx context.Context, w kvClient, rank int) (list []kvFigures, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i := range p.Repeats + 1 {
		rounds := p.Rounds
		if i == 0 {
			rounds = max(2, rounds/10) // to warm up
		}
		f, err := p.repeat(ctx, w, rounds, rank == 0 && i > 0)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, f)
		}
	}
	return list, nil
}

func (p *kvPlan) repeat(ctx context.Context, w kvClient, rounds int, all bool) (f kvFigures,
	err error) {
	var pids []int
	if all {
		if pids, err = p.processes(); err != nil {
			return f, err
		}
	}
	before, err := usedBy(pids)
	if err != nil {
		return f, err
	}
	start := time.Now()
	if err := w.rounds(ctx, rounds); err != nil {
		return f, err
	}
	f.Seconds = time.Since(start).Seconds() / float64(rounds)
	after, err := usedBy(pids)
	f.CPU = (after.CPU - before.CPU) / float64(rounds)
	f.Switches = (after.Switches - before.Switches) / float64(rounds)
	return f, err
}
