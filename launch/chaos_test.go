//go:build cgo && linux

package launch_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/kvstore/wire"
)

var (
	chaosRuns = flag.Int("chaos.runs", 3, "runs of TestChaos")
	chaosSeed = flag.Uint64("chaos.seed", 0, "seed of the first run of TestChaos, 0 for one from the clock")
)

// nemesis does one thing to one process of a job at a random instant.
type nemesis struct {
	victim wire.Node
	signal syscall.Signal // SIGKILL or SIGSTOP
	after  time.Duration  // of the first step
	pause  time.Duration  // until SIGCONT

	mu     sync.Mutex
	pids   map[wire.Node]int
	starts map[wire.Node]int
	hit    bool // the signal came while workers were training
}

func newNemesis(rng *rand.Rand, workers, servers int) *nemesis {
	nodes := []wire.Node{{Role: wire.Scheduler}}
	for i := range servers {
		nodes = append(nodes, wire.Node{Role: wire.Server, Rank: uint16(i)})
	}
	for i := range workers {
		nodes = append(nodes, wire.Node{Role: wire.Worker, Rank: uint16(i)})
	}
	n := &nemesis{victim: nodes[rng.IntN(len(nodes))], signal: syscall.SIGKILL,
		pids: map[wire.Node]int{}, starts: map[wire.Node]int{}, after: time.Duration(rng.IntN(1000)) * time.Millisecond}
	if rng.IntN(3) == 0 {
		// Shorter and longer than the time after which a silent process counts as dead.
		n.signal, n.pause = syscall.SIGSTOP, time.Duration(100+rng.IntN(4000))*time.Millisecond
	}
	return n
}

func (n *nemesis) String() string {
	if n.signal == syscall.SIGSTOP {
		return fmt.Sprintf("%s stopped for %v after %v", n.victim, n.pause, n.after)
	}
	return fmt.Sprintf("%s killed after %v", n.victim, n.after)
}

func (n *nemesis) started(node wire.Node, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[node] = pid
	n.starts[node]++
}

// kill ends a process at once.
func (n *nemesis) kill(node wire.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = syscall.Kill(n.pids[node], syscall.SIGKILL)
}

// explain makes every process that is left write where its goroutines are, which ends it.
func (n *nemesis) explain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, pid := range n.pids {
		_ = syscall.Kill(pid, syscall.SIGCONT)
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
}

// check reports processes that have been started again without having been killed: a call whose deadline
// passes, or an error of any kind, ends a process.
func (n *nemesis) check(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for node, starts := range n.starts {
		most := 1
		if node == n.victim && n.signal == syscall.SIGKILL {
			most = 2
		}
		if starts > most {
			t.Errorf("%s was started %d times, want at most %d", node, starts, most)
		}
	}
}

// strike waits for the first step, then for the instant.
func (n *nemesis) strike(ctx context.Context, out *safeBuffer) {
	for !strings.Contains(out.String(), "step 0\n") && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(n.after)
	n.mu.Lock()
	pid := n.pids[n.victim]
	n.mu.Unlock()
	training := !strings.Contains(out.String(), "] result ")
	if pid == 0 || ctx.Err() != nil || syscall.Kill(pid, n.signal) != nil {
		return // it has ended before
	}
	n.mu.Lock()
	n.hit = training
	n.mu.Unlock()
	if n.signal == syscall.SIGSTOP {
		time.Sleep(n.pause)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// TestChaos kills or stops one process of a job of real processes at a random instant: the result stays
// that of one process, bit for bit, nobody but the victim ends before its time, and nobody waits for longer
// than promised.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	var worst time.Duration
	hits := 0
	for run := range uint64(*chaosRuns) {
		n, longest := chaos(t, seed+run)
		if n.hit {
			hits++
		}
		t.Logf("seed %d: %v: longest step %v, while training: %v", seed+run, n, longest, n.hit)
		if n.victim.Role == wire.Server && n.signal == syscall.SIGKILL {
			worst = max(worst, longest)
		}
	}
	t.Logf("%d of %d runs were hit while training; a server's death has cost at most %v", hits, *chaosRuns, worst)
	if worst > 5*time.Second {
		t.Errorf("a server's death has stopped the job for %v, want at most 5 s", worst)
	}
}

// chaos is one run. It returns what happened and the longest step of all workers.
func chaos(t *testing.T, seed uint64) (n *nemesis, longest time.Duration) {
	t.Helper()
	const workers, servers, steps, limit = 3, 2, 60, 90 * time.Second
	n = newNemesis(rand.New(rand.NewPCG(seed, 1)), workers, servers)
	var out safeBuffer
	l := trainJob(workers, servers, 2, steps, &out)
	l.Env = append(l.Env, "LAUNCH_TEST_PAUSE=15ms")
	l.Started = n.started
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var wg sync.WaitGroup
	struck, stop := context.WithCancel(ctx)
	wg.Go(func() { n.strike(struck, &out) })
	hung := time.AfterFunc(limit-10*time.Second, n.explain)
	err := l.Run(ctx)
	if !hung.Stop() {
		err = fmt.Errorf("the job hangs (%w)", err)
	}
	stop()
	wg.Wait()
	if err != nil {
		t.Fatalf("seed %d: %v: %v\n%s", seed, n, err, out.String())
	}
	checkResults(t, out.String(), workers, steps)
	n.check(t)
	if t.Failed() {
		t.Fatalf("seed %d: %v\n%s", seed, n, out.String())
	}
	return n, longestStep(out.String())
}

// longestStep returns the longest of what workers say.
func longestStep(out string) (longest time.Duration) {
	for line := range strings.Lines(out) {
		if _, text, ok := strings.Cut(line, "longest step "); ok {
			if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
				longest = max(longest, d)
			}
		}
	}
	return longest
}
