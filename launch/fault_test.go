//go:build cgo && linux

package launch_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
)

// fault is one thing that happens to one process of a job.
type fault struct {
	victim wire.Node
	how    string        // a key of ways
	pause  time.Duration // time until a stopped process continues
	moment string        // text that a worker prints before the fault
	// time since that text, or in a recovery since the death of the first victim
	after time.Duration
}

// ways are the signals of faults: kill -9, crashes, a request to end, lack of memory and a pause.
var ways = map[string]syscall.Signal{
	"killed": syscall.SIGKILL, "segfault": syscall.SIGSEGV, "aborted": syscall.SIGABRT,
	"terminated": syscall.SIGTERM, "out of memory": memorySignal, "stopped": syscall.SIGSTOP,
}

// moments are the places of chaosPlay at which faults happen.
var moments = []string{"init", "step", "step", "step", "barrier", "snapshot", "last"}

// recovery is the moment of a second fault that happens after the death of the first victim.
const recovery = "recovery"

func (f *fault) deadly() bool { return f.how != "stopped" }

// String describes the fault, its victim and its instant.
func (f fault) String() string {
	text := fmt.Sprintf("%s %s", f.victim, f.how)
	if !f.deadly() {
		text += fmt.Sprintf(" for %v", f.pause.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s at %s + %v", text, f.moment, f.after.Round(time.Millisecond))
}

// drawFaults makes one fault, or two that belong together, for a job whose intervals are divided by
// scale.
func drawFaults(rng *rand.Rand, workers, servers int, scale float64) []fault {
	node := func(r wire.Role, n int) wire.Node {
		return wire.Node{Role: r, Rank: uint16(rng.IntN(n))}
	}
	any := func() wire.Node {
		switch i := rng.IntN(1 + servers + workers); {
		case i == 0:
			return wire.Node{Role: wire.Scheduler}
		case i <= servers:
			return wire.Node{Role: wire.Server, Rank: uint16(i - 1)}
		default:
			return wire.Node{Role: wire.Worker, Rank: uint16(i - 1 - servers)}
		}
	}
	hows := []string{"killed", "killed", "killed", "segfault", "aborted", "terminated",
		"out of memory", "stopped", "stopped", "stopped"}
	draw := func(n wire.Node) fault {
		f := fault{victim: n, how: hows[rng.IntN(len(hows))],
			moment: moments[rng.IntN(len(moments))]}
		// From 1 s to 60 s, most of them short.
		f.pause = time.Duration(math.Exp(rng.Float64()*math.Log(60)) / scale * float64(time.Second))
		f.after = time.Duration(rng.IntN(40)) * time.Millisecond
		if f.moment == "step" {
			f.after = time.Duration(rng.IntN(400)) * time.Millisecond
		}
		return f
	}
	if rng.IntN(2) == 0 {
		return []fault{draw(any())}
	}
	var a, b wire.Node
	switch rng.IntN(8) {
	case 0, 1, 2:
		a, b = node(wire.Server, servers), wire.Node{Role: wire.Scheduler}
	case 3, 4:
		a, b = node(wire.Server, servers), node(wire.Worker, workers)
	case 5, 6:
		a, b = wire.Node{Role: wire.Worker}, node(wire.Worker, workers)
		if b.Rank == 0 {
			a.Rank = 1
		}
	default: // all copies of some shards
		a, b = wire.Node{Role: wire.Server}, wire.Node{Role: wire.Server, Rank: 1}
	}
	if rng.IntN(2) == 0 {
		a, b = b, a
	}
	f, g := draw(a), draw(b)
	g.moment, g.after = f.moment, f.after // at the same instant
	if rng.IntN(2) == 0 {
		g.moment, g.after = recovery, time.Duration(rng.Float64()/scale*float64(6*time.Second))
	}
	return []fault{f, g}
}

// nemesis carries out faults on the processes of a job.
type nemesis struct {
	faults []fault

	mu     sync.Mutex
	pids   map[wire.Node]int
	starts map[wire.Node]int
	hits   []bool      // the fault came while workers were training
	done   []time.Time // when each fault struck
}

func newNemesis(faults ...fault) *nemesis {
	return &nemesis{faults: faults, pids: map[wire.Node]int{}, starts: map[wire.Node]int{},
		hits: make([]bool, len(faults)), done: make([]time.Time, len(faults))}
}

func (n *nemesis) started(node wire.Node, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pids[node] = pid
	n.starts[node]++
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

// signal sends a signal to a node's process.
func (n *nemesis) signal(node wire.Node, s syscall.Signal) bool {
	n.mu.Lock()
	pid := n.pids[node]
	n.mu.Unlock()
	return pid != 0 && syscall.Kill(pid, s) == nil
}

// check returns the processes that were started too often: a call whose deadline passes, or an
// error of any kind, ends a process.
func (n *nemesis) check() (wrong []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for node, starts := range n.starts {
		most := 1
		for _, f := range n.faults {
			if f.victim == node && f.deadly() {
				most++
			}
		}
		if starts > most {
			wrong = append(wrong, fmt.Sprintf("%s was started %d times, want at most %d", node,
				starts, most))
		}
	}
	return wrong
}

// strike carries out all faults, each at its moment.
func (n *nemesis) strike(ctx context.Context, out *output.Buffer) {
	var wg sync.WaitGroup
	died := make(chan struct{})
	for i := range n.faults {
		f := &n.faults[i]
		wg.Go(func() {
			if f.moment == recovery {
				select {
				case <-died:
				case <-ctx.Done():
					return
				}
			} else {
				for !strings.Contains(out.String(), "] at "+f.moment+"\n") && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}
			n.carryOut(ctx, i, out, died)
		})
	}
	wg.Wait()
}

// carryOut does one thing to its victim.
func (n *nemesis) carryOut(ctx context.Context, i int, out *output.Buffer, died chan struct{}) {
	f := &n.faults[i]
	select {
	case <-time.After(f.after):
	case <-ctx.Done():
		return
	}
	training := !strings.Contains(out.String(), "] result ")
	hit := n.signal(f.victim, ways[f.how])
	n.mu.Lock()
	n.hits[i], n.done[i] = hit && training, time.Now()
	n.mu.Unlock()
	if i == 0 {
		close(died)
	}
	if !hit || f.deadly() {
		return
	}
	select {
	case <-time.After(f.pause):
	case <-ctx.Done():
	}
	n.signal(f.victim, syscall.SIGCONT)
}

// last returns when the last fault struck.
func (n *nemesis) last() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.MaxFunc(n.done, time.Time.Compare)
}

// mayLose reports whether the faults can take all copies of a shard.
func (n *nemesis) mayLose() bool {
	servers := 0
	for _, f := range n.faults {
		if f.victim.Role == wire.Server && f.deadly() {
			servers++
		}
	}
	return servers > 1
}
