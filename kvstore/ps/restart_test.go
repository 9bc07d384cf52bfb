package ps_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// TestQuestionsAreAnsweredAtOnce initializes keys that have two copies, by two workers, and sets an
// optimizer, without letting any time pass: every answer comes when its condition holds, never
// because it is asked for again.
func TestQuestionsAreAnsweredAtOnce(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	for i := range 40 {
		first := list[1-i%2] // it may come before the one that creates the key, or after
		for _, w := range []*worker.Worker{first, list[i%2]} {
			if _, err := w.Init(n.now, uint32(2+i), worker.KeySpec{Total: 64}, make([]byte, 64),
				0); err != nil {
				t.Fatal(err)
			}
			n.settle()
		}
	}
	for _, w := range []*worker.Worker{list[1], list[0]} {
		if _, err := w.SetOptimizer(n.now, wire.Spec{Version: 2, Name: "none"}, 0); err != nil {
			t.Fatal(err)
		}
		n.settle()
	}
	if len(n.done) != 82 {
		t.Errorf("%d calls have ended without time passing, want 82", len(n.done))
	}
	for _, d := range n.done {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
	}
}

// again lets a new process take a worker's place and returns it when it has joined and initialized
// key 1.
func again(t *testing.T, n *net, c worker.Config, spec worker.KeySpec,
	nonce uint64) *worker.Worker {
	t.Helper()
	c.Job, c.Workers, c.Nonce = job, 2, nonce
	w, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	n.machines[wire.Node{Role: wire.Worker, Rank: c.Rank}] = w
	n.done = n.done[:0]
	if _, err := w.Join(n.now, 0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	if _, err := w.Init(n.now, 1, spec, make([]byte, spec.Total), 0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	return w
}

// script is what a program does: b calls a barrier, p pushes and waits for the round, i is where
// the steps begin.
type script struct{ before, loop, after string }

// scripted runs a script as a state machine, from where its worker resumes.
type scripted struct {
	w    *worker.Worker
	plan string
	busy bool
}

func (x script) plan(resumed, steps int) string {
	s := x.before
	for range steps - resumed {
		s += x.loop
	}
	return s + x.after
}

// TestABarrierAfterARestart runs programs with barriers before, in and after their steps, kills a
// worker at every moment, and lets its successor run the program again from the step after the last
// that is committed: all end.
func TestABarrierAfterARestart(t *testing.T) {
	const steps = 4
	for _, x := range []script{{"b", "p", ""}, {"", "pb", ""}, {"", "bp", ""}, {"b", "pb", "b"},
		{"bb", "bpb", "bb"}, {"b", "p", "b"}} {
		for killAt := range 30 {
			runScript(t, x, steps, killAt)
		}
	}
}

func runScript(t *testing.T, x script, steps, killAt int) {
	t.Helper()
	spec := worker.KeySpec{Total: 64}
	n, list := newNet(t, 1, 2, 1, spec, nil)
	all := []*scripted{{w: list[0], plan: x.plan(0, steps)}, {w: list[1], plan: x.plan(0, steps)}}
	at := 0
	for rounds := 0; all[0].plan != "" || all[1].plan != "" || all[0].busy ||
		all[1].busy; rounds++ {
		if rounds > 4000 {
			t.Fatalf("%+v killed at %d: the programs do not end: %q (%v) and %q (%v) are left", x,
				killAt, all[0].plan, all[0].busy, all[1].plan, all[1].busy)
		}
		i := rounds % 2
		if a := all[i]; !a.busy && a.plan != "" {
			if at++; at == killAt {
				w := again(t, n, worker.Config{Rank: 1, Staleness: worker.Unbounded}, spec, 555)
				all[1] = &scripted{w: w, plan: x.plan(int(w.Resumed()), steps)}
				continue
			}
			a.begin(t, n)
		}
		n.pass(20 * ps.Millisecond)
		for _, d := range n.done {
			if d.Err != nil {
				t.Fatalf("%+v killed at %d: %v", x, killAt, d.Err)
			}
		}
		n.done = n.done[:0]
		for _, a := range all {
			if a.busy = a.w.Stats().Calls > 0; !a.busy && a.plan == "" && !a.w.Gone() {
				a.w.Leave()
			}
		}
	}
}

// begin begins the next thing of a plan.
func (a *scripted) begin(t *testing.T, n *net) {
	t.Helper()
	var err error
	if a.plan[0] == 'b' {
		_, err = a.w.Barrier(n.now, n.now+1000*ps.Second)
	} else {
		_, err = a.w.Push(n.now, worker.PushOp{Key: 1, Value: make([]byte, 64),
			Out:      make([]byte, 64),
			Deadline: n.now + 1000*ps.Second})
	}
	if err != nil {
		t.Fatal(err)
	}
	a.plan, a.busy = a.plan[1:], true
}

// TestDirectPushesCountOnce lets a worker that pushes powers of two to keys without rounds be
// replaced at random moments; each process goes on behind the steps that are committed on all keys.
// Every push counts exactly once.
func TestDirectPushesCountOnce(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 8))
		spec := worker.KeySpec{Total: 64, Direct: true}
		n, list := newNet(t, 2, 2, 2, spec, nil)
		const steps, keys = 12, 3
		w := list[1]
		ready := func(w *worker.Worker) int {
			for k := uint32(1); k <= keys; k++ {
				if _, err := w.Init(n.now, k, spec, make([]byte, 64), 0); err != nil && k > 1 {
					t.Fatal(err)
				}
				if err := w.SetClock(k, w.Resumed()); err != nil {
					t.Fatal(err)
				}
			}
			n.pass(100 * ps.Millisecond)
			return int(w.Resumed())
		}
		for k := uint32(2); k <= keys; k++ {
			if _, err := list[0].Init(n.now, k, spec, make([]byte, 64), 0); err != nil {
				t.Fatal(err)
			}
		}
		step := ready(w)
		for nonce := uint64(1000); step < steps; {
			for _, k := range rng.Perm(keys) {
				// it dies between two pushes, some of which are under way
				if step < steps && rng.IntN(8) == 0 {
					nonce++
					w = again(t, n, worker.Config{Rank: 1, Staleness: worker.Unbounded}, spec,
						nonce)
					step = ready(w) - 1
					break
				}
				value := make([]byte, 64)
				putFloat(value, 0, float32(int(1)<<step))
				if _, err := w.Push(n.now, worker.PushOp{Key: uint32(k + 1),
					Value: value}); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(2) == 0 {
					n.settle()
				}
			}
			step++
		}
		n.pass(2 * ps.Second)
		for k := uint32(1); k <= keys; k++ {
			got := fmt.Sprint(n.float(t, ps.ID{Key: k}))
			if want := fmt.Sprint(float32(1<<steps - 1)); got != want {
				t.Errorf("seed %d: key %d is %s, want %s", seed, k, got, want)
			}
		}
	}
}

// float returns the first number of a key as its primary has it.
func (n *net) float(t *testing.T, id ps.ID) float32 {
	t.Helper()
	v := n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler).View()
	place := v.Shards[ps.ShardOf(id, len(v.Shards))]
	b, _, ok := n.machines[wire.Node{Role: wire.Server,
		Rank: place.Primary.Server}].(*server.Server).Value(id)
	if !ok {
		t.Fatalf("%v is nowhere", id)
	}
	return getFloat(b, 0)
}
