package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
	"gomx/pipeline/flow"
)

// LinkConfig describes a process in a pipeline. All processes of a pipeline agree on everything but
// Flow.Stage and Open.
type LinkConfig struct {
	Flow flow.Config // Patience and Window may be 0: the defaults below
	// Ranks are the workers of the job that run the stages, by stage.
	Ranks []int
	// Open opens the endpoint of this process; nil in a pipeline of one stage.
	Open   func(transport.Config) (transport.Endpoint, error)
	Job    uint64 // messages of other jobs are dropped
	Listen string // where the endpoint listens, in the words of the transport
}

// Defaults of flow.Config.
const (
	DefaultWindow   = 8 << 20          // bytes
	DefaultPatience = 60 * time.Second // as flow.Time
)

// sliceSize is the number of bytes of the longest payload of a message.
const sliceSize = 1 << 20

// Work is the work of a stage in one step.
type Work interface {
	// Take copies a tensor that has arrived to where the next action reads it.
	Take(t flow.Tensor, data []byte) error
	// Run starts an action, whose inputs have been taken.
	Run(a flow.Action) error
	// Give waits for a result of an action that was started, and copies it.
	Give(ctx context.Context, t flow.Tensor, data []byte) error
}

// Link is the endpoint of a process in its pipeline.
type Link struct {
	cfg   LinkConfig
	ep    transport.Endpoint // nil in a pipeline of one stage
	start time.Time
	wake  chan struct{} // holds a token when the state has changed
	stop  chan struct{} // closed by Close
	wg    sync.WaitGroup

	mu      sync.Mutex
	machine *flow.Machine
	inbox   map[flow.Tensor]*parcel // tensors that arrive, or have arrived
	fate    error                   // ends all steps

	memory pool
}

// parcel is a tensor of which slices arrive.
type parcel struct {
	data []byte
	got  map[uint16]bool
}

// Listen opens the endpoint of a process. The process connects to the others when it knows their
// addresses.
func Listen(c LinkConfig) (*Link, error) {
	f := &c.Flow
	if f.Stages < 1 || f.Stage < 0 || f.Stage >= f.Stages || len(c.Ranks) != f.Stages {
		return nil, fmt.Errorf("pipeline: stage %d of %d on %d ranks, want one rank for each stage",
			f.Stage, f.Stages, len(c.Ranks))
	}
	if f.Window == 0 {
		f.Window = DefaultWindow
	}
	if f.Patience == 0 {
		f.Patience = flow.Time(DefaultPatience)
	}
	l := &Link{cfg: c, start: time.Now(), wake: make(chan struct{}, 1), stop: make(chan struct{}),
		machine: flow.New(*f), inbox: map[flow.Tensor]*parcel{}}
	if f.Stages == 1 {
		return l, nil
	}
	var err error
	l.ep, err = c.Open(transport.Config{Self: l.node(f.Stage), Incarnation: 1, Job: c.Job,
		Listen: c.Listen, Handler: l.handle})
	if err != nil {
		return nil, fmt.Errorf("pipeline: endpoint of stage %d: %w", f.Stage, err)
	}
	return l, nil
}

// Addr returns the address that the other stages connect to; empty in a pipeline of one stage.
func (l *Link) Addr() string {
	if l.ep == nil {
		return ""
	}
	return l.ep.Addr()
}

// Connect connects to the other stages, whose addresses are given by stage, and begins to send
// reports.
func (l *Link) Connect(addrs []string) error {
	if l.ep == nil {
		return nil
	}
	for q, addr := range addrs {
		if q == l.cfg.Flow.Stage {
			continue
		}
		if err := l.ep.Connect(l.node(q), addr); err != nil {
			return fmt.Errorf("pipeline: stage %d at %s: %w", q, addr, err)
		}
	}
	l.wg.Go(l.tick)
	return nil
}

// Close closes the endpoint. Steps under way end with an error.
func (l *Link) Close() error {
	l.mu.Lock()
	select {
	case <-l.stop:
		l.mu.Unlock()
		return nil
	default:
		close(l.stop)
	}
	l.mu.Unlock()
	l.wg.Wait()
	l.fail(errClosed)
	if l.ep == nil {
		return nil
	}
	return l.ep.Close()
}

var errClosed = errors.New("pipeline: the link is closed")

// Peak returns the largest number of bytes that were on their way to a stage at a time.
func (l *Link) Peak(stage int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machine.Peak(stage)
}

// node returns the node of a stage.
func (l *Link) node(stage int) wire.Node {
	return wire.Node{Role: wire.Worker, Rank: uint16(l.cfg.Ranks[stage])}
}

// stageOf returns the stage of a node, flow.None for other nodes.
func (l *Link) stageOf(n wire.Node) int {
	for q := range l.cfg.Ranks {
		if l.node(q) == n {
			return q
		}
	}
	return flow.None
}

// now returns the time for the machine, which is never 0.
func (l *Link) now() flow.Time { return flow.Time(time.Since(l.start)) + 1 }

// signal wakes the goroutine that runs a step.
func (l *Link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// fail ends all steps with an error, the first one given.
func (l *Link) fail(err error) {
	l.mu.Lock()
	if l.fate == nil {
		l.fate = err
	}
	l.mu.Unlock()
	l.signal()
}

// Step runs the actions of one step. All stages call it, with the same order. It returns when all
// results have been handed to the transport; the last computations may still be running.
//
// It ends with a *RankError when this rank or another one fails, or does not go on for too long,
// and with the cause of ctx when that ends. After an error no step runs any more.
func (l *Link) Step(ctx context.Context, o flow.Order, w Work) error {
	l.mu.Lock()
	l.machine.Begin(l.now(), o)
	l.mu.Unlock()
	for {
		a, state, err := l.next()
		switch {
		case err != nil:
			return err
		case state == ended:
			return nil
		case state == ready:
			err = l.act(ctx, a, w)
		default:
			err = l.await(ctx)
		}
		if err != nil {
			l.abort(l.cfg.Flow.Stage, err)
			l.fail(err)
			return err
		}
	}
}

// status says how the step under way can go on.
type status uint8

const (
	waiting status = iota
	ready
	ended
)

// next returns the next action if there is one.
func (l *Link) next() (flow.Action, status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fate != nil {
		return flow.Action{}, waiting, l.fate
	}
	if l.machine.Done() {
		return flow.Action{}, ended, nil
	}
	if a, ok := l.machine.Ready(); ok {
		return a, ready, nil
	}
	return flow.Action{}, waiting, nil
}

// await waits until something changes.
func (l *Link) await(ctx context.Context) error {
	select {
	case <-l.wake:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	wait := l.machine.Waiting()
	l.mu.Unlock()
	if wait.Stage == flow.None {
		return context.Cause(ctx)
	}
	return &RankError{l.cfg.Ranks[wait.Stage], wait.Stage, fmt.Errorf("stage %d waits for it: %w",
		l.cfg.Flow.Stage, context.Cause(ctx))}
}

// act runs an action: it takes the inputs, returns credit for them, and sends the results.
func (l *Link) act(ctx context.Context, a flow.Action, w Work) error {
	l.mu.Lock()
	inputs, results := l.machine.Inputs(a), l.machine.Results(a)
	l.machine.Run(a)
	l.mu.Unlock()
	for _, t := range inputs {
		l.mu.Lock()
		p, from := l.inbox[t], l.machine.Sender(t)
		delete(l.inbox, t)
		l.mu.Unlock()
		err := w.Take(t, p.data)
		bytes := len(p.data)
		l.memory.put(p.data)
		if err == nil {
			err = l.credit(from, bytes)
		}
		if err != nil {
			return l.mine(err)
		}
	}
	if err := w.Run(a); err != nil {
		return l.mine(err)
	}
	out := map[flow.Tensor][]byte{}
	for _, t := range results {
		b := l.memory.get(int(l.cfg.Flow.Links[t.Link].Bytes))
		if err := w.Give(ctx, t, b); err != nil {
			return l.mine(err)
		}
		out[t] = b
	}
	l.mu.Lock()
	l.machine.Ran(l.now(), a)
	l.mu.Unlock()
	return l.flush(ctx, out)
}

// flush sends the results of an action as credit comes in. It returns when all are sent.
func (l *Link) flush(ctx context.Context, out map[flow.Tensor][]byte) error {
	for {
		l.mu.Lock()
		sends, fate := l.machine.Sends(), l.fate
		l.mu.Unlock()
		if fate != nil {
			return fate
		}
		for _, t := range sends {
			if err := l.send(t, out[t]); err != nil {
				return l.mine(err)
			}
			delete(out, t)
		}
		if len(out) == 0 {
			return nil
		}
		if err := l.await(ctx); err != nil {
			return err
		}
	}
}

// mine names this rank in an error.
func (l *Link) mine(err error) error {
	var named *RankError
	if errors.As(err, &named) {
		return err
	}
	return &RankError{l.cfg.Ranks[l.cfg.Flow.Stage], l.cfg.Flow.Stage, err}
}
