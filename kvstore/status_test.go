package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	"gomx/monitor"
	nd "gomx/ndarray"
)

// pages are the addresses at which the processes of a job serve health and metrics.
type pages struct {
	mu   sync.Mutex
	cond *sync.Cond
	addr map[string]string
}

func newPages() *pages {
	p := &pages{addr: map[string]string{}}
	p.cond = sync.NewCond(&p.mu)
	return p
}

// config is the configuration of a process that serves its pages.
func (p *pages) config(network *mem.Network, n wire.Node) kvstore.JobConfig {
	return kvstore.JobConfig{Node: n, Scheduler: "mem:scheduler", ID: 1, Workers: 2, Servers: 1,
		Status: "127.0.0.1:0", Metrics: monitor.Handler,
		Open: func(c transport.Config) (transport.Endpoint, error) {
			return mem.Open(network, c)
		},
		Announce: func(addr string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.addr[n.String()] = addr
			p.cond.Broadcast()
		}}
}

// get reads a page of a process, once that serves.
func (p *pages) get(t *testing.T, node, page string) (int, string) {
	t.Helper()
	p.mu.Lock()
	for p.addr[node] == "" {
		p.cond.Wait()
	}
	addr := p.addr[node]
	p.mu.Unlock()
	resp, err := http.Get("http://" + addr + page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// until reads a page again and again until it is as wanted.
func (p *pages) until(t *testing.T, node, page string,
	want func(code int, text string) bool) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		code, text := p.get(t, node, page)
		if want(code, text) {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s of %s is still %d:\n%s", page, node, code, text)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func ok(code int, _ string) bool { return code == http.StatusOK }

// has wants lines in a page.
func has(lines ...string) func(int, string) bool {
	return func(_ int, text string) bool {
		for _, l := range lines {
			if !strings.Contains(text, l+"\n") {
				return false
			}
		}
		return true
	}
}

// TestPages looks at health, readiness and metrics of a job in which one worker is a round ahead of
// the other.
func TestPages(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network, p := mem.NewNetwork(1), newPages()
	var wg sync.WaitGroup
	serve := func(n wire.Node) {
		wg.Go(func() {
			if err := kvstore.Serve(ctx, p.config(network, n)); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	turn := make(chan struct{})
	worker := func(rank uint16) {
		wg.Go(func() {
			if err := p.work(ctx, network, rank, turn); err != nil {
				t.Errorf("worker %d: %v", rank, err)
			}
		})
	}
	serve(wire.Node{Role: wire.Scheduler})
	worker(0)
	if code, text := p.get(t, "worker 0", "/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("health of a worker that waits for its job: %d %q", code, text)
	}
	if code, _ := p.get(t, "worker 0", "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("a worker is ready without servers: %d", code)
	}
	serve(wire.Node{Role: wire.Server})
	worker(1)
	for _, node := range []string{"scheduler", "server 0", "worker 0", "worker 1"} {
		p.until(t, node, "/readyz", ok)
		p.until(t, node, "/metrics", has(fmt.Sprintf("gomx_ready{node=%q} 1", node)))
	}
	// Worker 0 has pushed, worker 1 has not.
	p.until(t, "scheduler", "/metrics", has(
		`gomx_member_alive{member="worker 1",node="scheduler"} 1`,
		`gomx_member_clock{member="worker 0",node="scheduler"} 1`,
		`gomx_member_ahead_clocks{member="worker 0",node="scheduler"} 1`,
		`gomx_member_ahead_clocks{member="worker 1",node="scheduler"} 0`,
		`gomx_member_waits_for_worker{member="server 0",node="scheduler"} 1`,
		`gomx_shard_lost{node="scheduler",shard="0"} 0`))
	p.until(t, "worker 0", "/metrics", has(`gomx_calls{node="worker 0"} 1`,
		`# TYPE gomx_pushes_total counter`, `# TYPE gomx_flying gauge`))
	close(turn)
	wg.Wait()
}

// work is a worker of one round, which worker 1 begins when it is its turn.
func (p *pages) work(ctx context.Context, network *mem.Network, rank uint16,
	turn chan struct{}) error {
	job, err := kvstore.Join(ctx, p.config(network, wire.Node{Role: wire.Worker, Rank: rank}))
	if err != nil {
		return err
	}
	s, err := kvstore.Open(kvstore.WithJob(ctx, job), "dist_sync")
	if err != nil {
		return errors.Join(err, job.Abandon())
	}
	a, out := nd.Ones(nd.Shape{4}), nd.Zeros(nd.Shape{4})
	if err := s.Init(ctx, "a", a); err != nil {
		return errors.Join(err, job.Abandon())
	}
	if rank == 1 {
		<-turn
	}
	err = s.PushPull("a", 0, []*nd.Array{a}, []*nd.Array{out})
	if err == nil {
		err = out.Wait(ctx)
	}
	return errors.Join(err, s.Close(), job.Close(ctx))
}

// TestIdleReadersAreHungUpOn keeps a connection after a page was read: it is closed when nothing
// has been asked for some time.
func TestIdleReadersAreHungUpOn(t *testing.T) {
	t.Parallel()
	p := newPages()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- kvstore.Serve(ctx, p.config(mem.NewNetwork(1), wire.Node{Role: wire.Scheduler}))
	}()
	defer func() { cancel(); <-ended }()
	p.get(t, "scheduler", "/healthz")
	conn, err := net.Dial("tcp", p.addr["scheduler"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(began.Add(60 * time.Second))
	text, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(text), "200 OK") ||
		strings.Contains(string(text), "Connection: close") {
		t.Errorf("a reader that keeps its connection gets %q and %v, want a page and the end of "+
			"the connection", text, err)
	}
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("the connection is closed after %v, want it to be kept for a while", took)
	}
}
