package flow_test

import (
	"container/heap"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/pipeline/flow"
)

// world runs the machines of a pipeline in virtual time.
type world struct {
	cfg     flow.Config
	rng     *rand.Rand
	stages  []*flow.Machine
	now     flow.Time
	events  events
	order   int
	work    func(stage int, a flow.Action) flow.Time
	delay   func() flow.Time
	stalled map[int]bool // stages that neither work nor report
	stuck   map[int]bool // stages that report and do not work
	errs    []error      // first error of each stage
	log     [][]flow.Action
}

// event is something that happens at a time.
type event struct {
	at    flow.Time
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *world) after(d flow.Time, do func()) {
	w.order++
	heap.Push(&w.events, event{w.now + d, w.order, do})
}

const second = flow.Time(1e9)

func newWorld(seed uint64, c flow.Config) *world {
	w := &world{cfg: c, rng: rand.New(rand.NewPCG(seed, 1)), stalled: map[int]bool{},
		stuck: map[int]bool{}, errs: make([]error, c.Stages), log: make([][]flow.Action, c.Stages)}
	w.work = func(int, flow.Action) flow.Time { return flow.Time(w.rng.Int64N(int64(second) / 10)) }
	w.delay = func() flow.Time { return flow.Time(w.rng.Int64N(int64(second) / 20)) }
	for s := range c.Stages {
		c.Stage = s
		w.stages = append(w.stages, flow.New(c))
	}
	return w
}

// drive lets a stage work and send as far as it can.
func (w *world) drive(t *testing.T, s int) {
	m := w.stages[s]
	if w.stalled[s] || w.errs[s] != nil {
		return
	}
	for _, x := range m.Sends() {
		to := w.cfg.Links[x.Link].To
		if x.Backward {
			to = w.cfg.Links[x.Link].From
		}
		w.after(w.delay(), func() {
			if err := w.stages[to].Arrived(w.now, x); err != nil {
				t.Error(err)
			}
			w.drive(t, to)
		})
	}
	a, ok := m.Ready()
	if !ok || w.stuck[s] {
		return
	}
	for _, x := range m.Inputs(a) {
		from, bytes := m.Sender(x), w.cfg.Links[x.Link].Bytes
		w.after(w.delay(), func() {
			if err := w.stages[from].Returned(w.now, s, bytes); err != nil {
				t.Error(err)
			}
			w.drive(t, from)
		})
	}
	m.Run(a)
	w.log[s] = append(w.log[s], a)
	w.after(w.work(s, a), func() {
		m.Ran(w.now, a)
		w.drive(t, s)
	})
}

// report lets a stage report, and check its patience, every tenth of a second.
func (w *world) report(s int) {
	if w.stalled[s] || w.errs[s] != nil {
		return
	}
	m := w.stages[s]
	w.errs[s] = m.Tick(w.now)
	awaits := m.Waiting().Stage
	for to := range w.stages {
		w.after(w.delay(), func() { w.stages[to].Heard(w.now, s, awaits) })
	}
	w.after(second/10, func() { w.report(s) })
}

// run runs a step until it has ended or every stage that is able to has an error.
func (w *world) run(t *testing.T, o flow.Order) {
	start := w.now
	for s, m := range w.stages {
		m.Begin(w.now, o)
		w.after(0, func() { w.drive(t, s) })
		w.after(0, func() { w.report(s) })
	}
	for w.events.Len() > 0 && w.now-start < 1000*second && !w.over() {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
}

func (w *world) over() bool {
	for s, m := range w.stages {
		if !m.Done() && w.errs[s] == nil && !w.stalled[s] && !w.stuck[s] {
			return false
		}
	}
	return true
}

var (
	firstSeed = flag.Uint64("seed", 0, "seed of the first random pipeline")
	manySeeds = flag.Uint64("seeds", 150, "number of random pipelines")
)

// randomConfig draws a pipeline: neighbours are connected, and some values skip stages.
func randomConfig(rng *rand.Rand) flow.Config {
	c := flow.Config{Stages: 1 + rng.IntN(6), Micros: 1 + rng.IntN(10), Patience: 10 * second,
		Window: 1 + rng.Int64N(100)}
	for from := range c.Stages {
		for to := from + 1; to < c.Stages; to++ {
			for range rng.IntN(3) {
				if to == from+1 || rng.IntN(3) == 0 {
					c.Links = append(c.Links, flow.Link{From: from, To: to,
						Bytes: 1 + rng.Int64N(80), Grad: rng.IntN(4) > 0})
				}
			}
		}
	}
	c.Rounds = rng.IntN(20)
	for round := range c.Rounds {
		if from := rng.IntN(c.Stages); from > 0 {
			c.Links = append(c.Links, flow.Link{From: from, Bytes: 1 + rng.Int64N(200),
				Round: round + 1})
		}
	}
	return c
}

// TestMachines runs random pipelines with random speeds. Every step ends, in whatever order
// messages come, stages run their schedules, and the bytes on their way keep to the window.
func TestMachines(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := randomConfig(rng)
		w := newWorld(seed, c)
		for _, o := range []flow.Order{flow.OneForwardOneBackward, flow.InTurn, flow.ForwardOnly,
			flow.Collect, flow.OneForwardOneBackward} {
			count := c.Micros
			if o == flow.Collect {
				count = c.Rounds
			}
			clear(w.log)
			w.run(t, o)
			for s, m := range w.stages {
				if w.errs[s] != nil || !m.Done() {
					t.Fatalf("seed %d: order %d: stage %d waits for %+v: %v\n%+v", seed, o, s,
						m.Waiting(), w.errs[s], c)
				}
				if got, want := text(w.log[s]), text(flow.Schedule(o, s, c.Stages,
					count)); got != want {
					t.Fatalf("seed %d: stage %d worked %s, want %s", seed, s, got, want)
				}
				for to := range w.stages {
					limit := c.Window
					forward, backward := int64(0), int64(0)
					for _, l := range c.Links {
						if l.Round > 0 && l.From == s && l.To == to {
							limit = max(limit, 200*int64(s)) // the largest item
						} else if l.From == s && l.To == to {
							forward += l.Bytes
						} else if l.From == to && l.To == s && l.Grad {
							backward += l.Bytes
						}
					}
					apart := int64(max(s-to, to-s))
					limit = max(limit, apart*forward, apart*backward)
					if got := m.Peak(to); got > limit {
						t.Fatalf("seed %d: %d bytes on their way from %d to %d, want at most %d",
							seed, got, s, to, limit)
					}
				}
			}
		}
	}
}

// line is a pipeline in which neighbours are connected in both directions.
func line(stages, micros int) flow.Config {
	c := flow.Config{Stages: stages, Micros: micros, Patience: 10 * second, Window: 100}
	for s := range stages - 1 {
		c.Links = append(c.Links, flow.Link{From: s, To: s + 1, Bytes: 50, Grad: true})
	}
	return c
}

// TestOverlap computes the throughput of equal stages in virtual time: with 8 micro-batches two
// stages take (8+1)/16 of the time in turn.
func TestOverlap(t *testing.T) {
	time := func(stages int, o flow.Order) flow.Time {
		w := newWorld(1, line(stages, 8))
		w.delay = func() flow.Time { return 0 }
		w.work = func(_ int, a flow.Action) flow.Time {
			if a.Backward {
				return 2 * second
			}
			return second
		}
		w.run(t, o)
		return w.now
	}
	for stages, want := range map[int]flow.Time{2: 27 * second, 3: 30 * second} {
		if got := time(stages, flow.OneForwardOneBackward); got != want {
			t.Errorf("%d stages took %v s, want %v", stages, got/second, want/second)
		}
		if got, want := time(stages, flow.InTurn), flow.Time(24*stages)*second; got != want {
			t.Errorf("%d stages in turn took %v s, want %v", stages, got/second, want/second)
		}
	}
}

// TestStalls stops each stage of a pipeline, with and without reports: every other stage ends with
// an error that names it.
func TestStalls(t *testing.T) {
	for stages := 2; stages <= 5; stages++ {
		for bad := range stages {
			for _, silent := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d of %d silent %t", bad, stages, silent), func(t *testing.T) {
					w := newWorld(3, line(stages, 20))
					w.after(second/2, func() { w.stalled[bad], w.stuck[bad] = silent, !silent })
					w.run(t, flow.OneForwardOneBackward)
					for s, err := range w.errs {
						var stall *flow.StallError
						if s == bad {
							continue
						}
						if !errors.As(err, &stall) || stall.Stage != bad || stall.Silent != silent {
							t.Errorf("stage %d: got %v, want stage %d to be blamed", s, err, bad)
						}
					}
				})
			}
		}
	}
}

// TestOwnPause lets a stage stand still itself for longer than its patience: it blames nobody.
func TestOwnPause(t *testing.T) {
	m := flow.New(flow.Config{Stage: 1, Stages: 2, Micros: 1, Patience: 10 * second,
		Links: []flow.Link{{From: 0, To: 1, Bytes: 1}}})
	m.Begin(second, flow.OneForwardOneBackward)
	for _, now := range []flow.Time{2, 3, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69} {
		if err := m.Tick(now * second); err != nil {
			t.Fatalf("at %d s: %v", now, err)
		}
	}
	if err := m.Tick(70 * second); err == nil {
		t.Fatal("no error after 10 s of waiting while awake")
	}
}

// TestHostileMessages gives a machine tensors and credits that no honest stage sends.
func TestHostileMessages(t *testing.T) {
	m := flow.New(flow.Config{Stage: 1, Stages: 2, Micros: 2, Patience: second, Window: 1,
		Links: []flow.Link{{From: 0, To: 1, Bytes: 1}}})
	m.Begin(1, flow.OneForwardOneBackward)
	for _, x := range []flow.Tensor{{Step: 1, Link: 1}, {Step: 1, Link: -1}, {Step: 1, Micro: 2},
		{Step: 1, Micro: -1}, {Step: 1, Backward: true}, {}} {
		if m.Arrived(2, x) == nil {
			t.Errorf("tensor %+v: no error", x)
		}
	}
	x := flow.Tensor{Step: 1}
	if m.Arrived(2, x) != nil || m.Arrived(2, x) == nil {
		t.Error("a tensor arrives once: the second time is an error")
	}
	for _, c := range [][2]int{{0, 1}, {2, 0}, {-1, 0}, {0, -1}} {
		if m.Returned(2, c[0], int64(c[1])) == nil {
			t.Errorf("credit of %d bytes from stage %d: no error", c[1], c[0])
		}
	}
	m.Heard(2, 7, 0)
	m.Heard(2, 0, 9)
}
