//go:build cgo && linux

package launch_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Tests of this file start jobs of real processes that change their size. They run when -run names
// them.
func onlyByName(t *testing.T) {
	t.Helper()
	if f := flag.Lookup("test.run"); f == nil || f.Value.String() == "" {
		t.Skip("runs when -run names it: make elastic")
	}
}

func init() {
	for name, work := range map[string]func(ctx context.Context) error{
		"elastic count": countPlay, "elastic fit": elasticPlay, "elastic gluon": gluonPlay} {
		plays[name] = func(string, string) int {
			launch.Main(work)
			return 0
		}
	}
}

// stopAt returns the round at which a play ends: the test writes it to a file, far enough ahead.
func stopAt() int {
	b, err := os.ReadFile(filepath.Join(os.Getenv("LAUNCH_TEST_DIR"), "stop"))
	if n, convErr := strconv.Atoi(string(b)); err == nil && convErr == nil {
		return n
	}
	return math.MaxInt
}

// countPlay pushes whole numbers to a key with rounds and to a table, and writes how many of its
// pushes were acknowledged. The last worker 0 prints what counts on the servers.
func countPlay(ctx context.Context) error {
	s, err := kvstore.Open(ctx, "dist_sync", kvstore.Timeout(60*time.Second))
	if err != nil {
		return err
	}
	if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 0.1}); err != nil {
		return err
	}
	if err := s.Init(ctx, "sum", nd.FromSlice(make([]int64, 2))); err != nil {
		return err
	}
	table, err := s.Table(ctx, "rows", nd.Shape{2, 1})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(os.Getenv("LAUNCH_TEST_DIR"),
		fmt.Sprint("acked-", s.Rank())),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	for round := int(s.Resumed()); round < stopAt(); round++ {
		g, _, err := s.Regroup(ctx, nil)
		if err != nil {
			return err
		}
		if g.Part(s.Rank()) < 0 {
			return kvstore.ErrLeft
		}
		n := int64(round*7+s.Rank()) % 11
		out := nd.FromSlice(make([]int64, 2))
		if err := s.PushPull("sum", 0, []*nd.Array{nd.FromSlice([]int64{n, 1})},
			[]*nd.Array{out}); err != nil {
			return err
		}
		if err := out.Wait(ctx); err != nil {
			return err
		}
		if err := table.Inc(1, []float32{1}); err != nil {
			return err
		}
		if err := s.Clock(ctx); err != nil {
			return err
		}
		fmt.Fprintf(log, "%d %d\n", round, n)
		time.Sleep(2 * time.Millisecond) // stands for the work of a step
	}
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	out := nd.FromSlice(make([]int64, 2))
	if err := s.Pull("sum", 0, out); err != nil {
		return err
	}
	b := make([]byte, 16)
	if err := out.ReadBytes(ctx, b); err != nil {
		return err
	}
	row, err := table.Get(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Printf("result %d %d %v\n", le64(b), le64(b[8:]), row[0])
	return s.Close()
}

func le64(b []byte) (n int64) {
	for i := range 8 {
		n |= int64(b[i]) << (8 * i)
	}
	return n
}

// elastic is a job whose size the test changes.
type elastic struct {
	launch.Local
	out   output.Buffer
	dir   string
	play  string
	table bool // the network of the job has a table
	mu    sync.Mutex
	pids  map[wire.Node]int
}

func newElastic(t *testing.T, play string) *elastic {
	e := &elastic{dir: t.TempDir(), play: play, pids: map[wire.Node]int{}}
	e.Local = trainJob(2, 2, 2, 1, &e.out)
	e.Dir = filepath.Join(e.dir, "job")
	e.Env = append(e.Env, "LAUNCH_TEST_PLAY="+play, "LAUNCH_TEST_DIR="+e.dir)
	e.Started = func(n wire.Node, pid int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pids[n] = pid
	}
	return e
}

// status reads the page of the scheduler.
func (e *elastic) status(ctx context.Context) (kvstore.Status, error) {
	addr, _, err := launch.OrderJob(e.Dir)
	if err != nil {
		return kvstore.Status{}, err
	}
	return kvstore.ReadStatus(ctx, addr)
}

// size waits until the job has so many workers and servers, and all copies are in sync.
func (e *elastic) size(ctx context.Context, t *testing.T, workers, servers int) {
	t.Helper()
	state := ""
	for ctx.Err() == nil {
		st, err := e.status(ctx)
		w, s, busy := 0, 0, 0
		for _, m := range st.Members {
			switch {
			case m.Left && !m.Alive:
			case !m.Alive || m.Waits || m.Leaves:
				busy++
			case strings.HasPrefix(m.Node, "worker"):
				w++
			default:
				s++
			}
		}
		for _, sh := range st.Shards {
			if !sh.InSync || sh.Third >= 0 || sh.Swapped {
				busy++
			}
		}
		if err == nil && w == workers && s == servers && busy == 0 &&
			(len(st.Shards) > 0 || servers == 0) {
			return
		}
		state = fmt.Sprintf("%d workers, %d servers, %d are changing, %v", w, s, busy, err)
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("found %s, want %d workers and %d servers\n%s", state, workers, servers,
		tail(e.out.String(), 60))
}

// order changes the size of the job and waits until that is done.
func (e *elastic) order(ctx context.Context, t *testing.T, workers, servers int) {
	t.Helper()
	addr, id, err := launch.OrderJob(e.Dir)
	if err == nil {
		err = kvstore.Order{Workers: workers, Servers: servers}.Send(ctx, addr, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.size(ctx, t, workers, servers)
	time.Sleep(300 * time.Millisecond) // some rounds
}

// term sends SIGTERM to a process and waits until another process has its place.
func (e *elastic) term(ctx context.Context, t *testing.T, n wire.Node) {
	t.Helper()
	e.signal(ctx, t, n, syscall.SIGTERM)
}

// signal sends a signal that ends a process, and waits until another process has its place.
func (e *elastic) signal(ctx context.Context, t *testing.T, n wire.Node, s syscall.Signal) {
	t.Helper()
	e.mu.Lock()
	old := e.pids[n]
	e.mu.Unlock()
	if err := syscall.Kill(old, s); err != nil {
		t.Fatal(err)
	}
	e.replaced(ctx, t, n, old)
}

// replaced waits until another process has the place of an old one.
func (e *elastic) replaced(ctx context.Context, t *testing.T, n wire.Node, old int) {
	t.Helper()
	for ctx.Err() == nil {
		e.mu.Lock()
		now := e.pids[n]
		e.mu.Unlock()
		if now != old {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is not replaced\n%s", n, tail(e.out.String(), 60))
}

// stop lets the play end, far enough ahead of its present round.
func (e *elastic) stop(t *testing.T, round int) {
	t.Helper()
	name := filepath.Join(e.dir, "stop")
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(round)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// acked sums up the pushes that workers know to be acknowledged. It returns their sum, their number
// and the last round.
func (e *elastic) acked(t *testing.T) (sum, n int64, last int) {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(e.dir, "acked-*"))
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var round int
			var v int64
			if _, err := fmt.Sscan(line, &round, &v); err != nil {
				continue // a line that is being written
			}
			sum, n, last = sum+v, n+1, max(last, round)
		}
	}
	return sum, n, last
}

// finish lets the play end, and compares the sums on the servers with the pushes that workers know
// to be acknowledged.
func (e *elastic) finish(t *testing.T, done chan error, workers int) {
	t.Helper()
	_, _, last := e.acked(t)
	e.stop(t, last+400)
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, tail(e.out.String(), 80))
	}
	sum, n, last := e.acked(t)
	want := fmt.Sprintf("] result %d %d %d\n", sum, n, n)
	if got := strings.Count(e.out.String(), want); got != workers {
		t.Errorf("%d workers print %q, want %d\n%s", got, want, workers, tail(e.out.String(), 40))
	}
	t.Logf("%d pushes in %d rounds", n, last+1)
}

// TestElasticCounts takes a job of real processes from 2 to 4 to 3 workers and from 2 to 3 to 2
// servers, and restarts processes by SIGTERM, while whole numbers are pushed: at the end every push
// that a worker knows to be acknowledged counts once, and nothing else.
func TestElasticCounts(t *testing.T) {
	onlyByName(t)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	e := newElastic(t, "elastic count")
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.size(ctx, t, 2, 2)
	e.order(ctx, t, 4, 3)
	e.term(ctx, t, wire.Node{Role: wire.Server, Rank: 1})
	e.size(ctx, t, 4, 3)
	e.term(ctx, t, wire.Node{Role: wire.Worker, Rank: 2})
	e.size(ctx, t, 4, 3)
	e.term(ctx, t, wire.Node{Role: wire.Scheduler})
	e.size(ctx, t, 4, 3)
	e.order(ctx, t, 3, 2)
	e.finish(t, done, 3)
}

// restart lets a process leave by an order to the scheduler, as gomx scale --restart does, and
// waits until the launcher has started another one in its place.
func (e *elastic) restart(ctx context.Context, t *testing.T, n wire.Node) {
	t.Helper()
	e.mu.Lock()
	old := e.pids[n]
	e.mu.Unlock()
	addr, id, err := launch.OrderJob(e.Dir)
	if err == nil {
		err = kvstore.Order{Drain: n.String()}.Send(ctx, addr, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.replaced(ctx, t, n, old)
}

// TestElasticRollingRestart restarts every process of a job one by one while whole numbers are
// pushed, the scheduler too. Every push that a worker knows to be acknowledged counts once.
func TestElasticRollingRestart(t *testing.T) {
	onlyByName(t)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	e := newElastic(t, "elastic count")
	e.Servers = 3 // two copies remain while one server is away
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.size(ctx, t, 2, 3)
	before := map[wire.Node]int{}
	e.mu.Lock()
	maps.Copy(before, e.pids)
	e.mu.Unlock()
	byNumber := func(a, b wire.Node) int { return cmp.Compare(a.Number(), b.Number()) }
	for _, n := range slices.SortedFunc(maps.Keys(before), byNumber) {
		if n.Role != wire.Scheduler {
			began := time.Now()
			e.restart(ctx, t, n)
			replaced := time.Since(began)
			e.size(ctx, t, 2, 3)
			t.Logf("%s: replaced in %v, ready in %v", n, replaced, time.Since(began))
		}
	}
	e.term(ctx, t, wire.Node{Role: wire.Scheduler})
	e.size(ctx, t, 2, 3)
	for n, pid := range before {
		if e.pids[n] == pid {
			t.Errorf("%s is the process of the beginning", n)
		}
	}
	e.finish(t, done, 2)
}
