//go:build cgo

package kvstore_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// tap is a line over which the worker of a job talks to a server, and which can be closed: what
// comes is not read any more, as by a host that has vanished.
type tap struct {
	mu     sync.Mutex
	opened *sync.Cond
	closed bool
	ends   []net.Listener
}

func newTap() *tap {
	p := &tap{}
	p.opened = sync.NewCond(&p.mu)
	return p
}

func (p *tap) set(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = closed
	p.opened.Broadcast()
}

// wait waits while the tap is closed.
func (p *tap) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.closed {
		p.opened.Wait()
	}
}

// through returns addresses that lead through the tap to those of a server.
func (p *tap) through(addr string) (string, error) {
	var list []string
	for _, one := range strings.Split(addr, ",") {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		p.mu.Lock()
		p.ends = append(p.ends, l)
		p.mu.Unlock()
		go p.serve(l, strings.TrimPrefix(one, "tcp://"))
		list = append(list, "tcp://"+l.Addr().String())
	}
	return strings.Join(list, ","), nil
}

// serve passes on what comes over connections.
func (p *tap) serve(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		go p.copy(in, out)
		go p.copy(out, in)
	}
}

func (p *tap) copy(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		p.wait()
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.wait()
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// end ends the lines.
func (p *tap) end() {
	p.set(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.ends {
		l.Close()
	}
}

// tapped is an endpoint of ZeroMQ that reaches servers through their taps.
type tapped struct {
	transport.Endpoint
	taps []*tap
	seen map[string]string // under the driver's lock
}

// Connect implements transport.Endpoint.
func (e *tapped) Connect(peer wire.Node, addr string) (err error) {
	if peer.Role != wire.Server {
		return e.Endpoint.Connect(peer, addr)
	}
	if e.seen[addr] == "" {
		if e.seen[addr], err = e.taps[peer.Rank].through(addr); err != nil {
			return err
		}
	}
	return e.Endpoint.Connect(peer, e.seen[addr])
}

// tapJob is a job over real sockets, of whose workers one is in this process.
type tapJob struct {
	t         *testing.T
	taps      []*tap
	stop      []context.CancelCauseFunc // of the servers
	job       *kvstore.Job
	kv        *kvstore.KV
	scheduler string      // its address
	page      chan string // where the scheduler serves its status
}

// tapID is the number of such jobs.
const tapID = 7

var errStopped = errors.New("stopped")

// openTapJob opens a job whose worker reaches every server through a tap of its own.
func openTapJob(t *testing.T, store string, workers, servers, replicas int) *tapJob {
	t.Helper()
	x := &tapJob{t: t, page: make(chan string, 1)}
	cfg := kvstore.JobConfig{Scheduler: "ipc://" + filepath.Join(t.TempDir(), "s"), ID: tapID,
		Workers: workers, Servers: servers, Replicas: replicas,
		SliceSize: 32 << 20, Heartbeat: 100 * time.Millisecond, Dead: 1500 * time.Millisecond,
		Open: func(c transport.Config) (transport.Endpoint, error) {
			return zmq.Open(c, zmq.Options{})
		}}
	x.scheduler = cfg.Scheduler
	var running sync.WaitGroup
	serve := func(n wire.Node) context.CancelCauseFunc {
		c := cfg
		c.Node = n
		if n.Role == wire.Scheduler {
			c.Status, c.Announce = "127.0.0.1:0", func(addr string) { x.page <- addr }
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		running.Go(func() {
			if err := kvstore.Serve(ctx, c); err != nil && !errors.Is(err, errStopped) {
				t.Error(err)
			}
		})
		return cancel
	}
	stop := serve(wire.Node{Role: wire.Scheduler})
	for i := range servers {
		x.taps = append(x.taps, newTap())
		x.stop = append(x.stop, serve(wire.Node{Role: wire.Server, Rank: uint16(i)}))
	}
	t.Cleanup(func() {
		for _, p := range x.taps {
			p.end()
		}
		for _, cancel := range append(x.stop, stop) {
			cancel(errStopped)
		}
		running.Wait()
	})
	cfg.Node = wire.Node{Role: wire.Worker}
	open := cfg.Open
	cfg.Open = func(c transport.Config) (transport.Endpoint, error) {
		c.Listen = zmq.NoListen
		ep, err := open(c)
		return &tapped{ep, x.taps, map[string]string{}}, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	x.job, err = kvstore.Join(ctx, cfg)
	must(t, err)
	t.Cleanup(func() { x.job.Abandon() })
	x.kv, err = kvstore.Open(kvstore.WithJob(t.Context(), x.job), store,
		kvstore.Timeout(time.Minute))
	must(t, err)
	return x
}
