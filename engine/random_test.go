package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"gomx/device"
	"gomx/engine"
)

var (
	seed     = flag.Int64("seed", 0, "seed of the first random program; 0 means the fixed ones")
	programs = flag.Int("programs", 20, "random programs per engine")
)

// cell is what a variable stands for. Bodies access it without synchronisation: the race detector
// sees what the engine lets overlap.
type cell struct {
	v     *engine.Var
	value uint64
	freed bool
}

// model is what the serial oracle knows of a cell.
type model struct {
	value   uint64
	version uint64
	cause   string
	intact  bool
}

// step is one operation of a random program.
type step struct {
	name   string
	uses   []engine.Use
	cells  []*cell
	modes  []engine.Access
	fail   int // 0 succeeds, 1 returns an error, 2 panics, each after writing
	async  bool
	child  *cell // read by this operation and updated by another that the body pushes
	over   bool  // the body has come to its end
	ran    atomic.Int32
	nested *atomic.Int64
	queue  *queue // of the device that runs it
}

func mix(a, b uint64) uint64 { return (a ^ b*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 }

// compute is the body: what is written depends on everything read, in both worlds.
func (s *step) compute(get func(i int) uint64, set func(i int, v uint64)) {
	sum := uint64(len(s.name))
	for i, m := range s.modes {
		if m != engine.Overwrite {
			sum = mix(sum, get(i))
		}
	}
	for i, m := range s.modes {
		if m != engine.Read {
			set(i, mix(sum, uint64(i)))
		}
	}
}

func (s *step) run(r *engine.Run) error {
	if s.ran.Add(1) != 1 {
		return errors.New("ran twice")
	}
	var err error
	s.compute(func(i int) uint64 {
		if s.cells[i].freed {
			err = errors.New("used after it was freed")
		}
		return s.cells[i].value
	}, func(i int, v uint64) {
		if s.cells[i].freed {
			err = errors.New("written after it was freed")
		}
		s.cells[i].value = v
	})
	if s.child != nil {
		s.nested.Add(1)
		push := r.Engine().Push
		if s.async {
			push = r.Push
		}
		push(&engine.Task{Name: "child", Fn: childBody, Arg: s, Cheap: s.fail == 0,
			Uses: []engine.Use{{Var: s.child.v, Access: engine.Update}}})
	}
	s.over = true
	switch {
	case err != nil:
		return err
	case s.fail == 1:
		return errors.New(s.name)
	case s.fail == 2:
		panic(s.name)
	}
	return nil
}

func childBody(r *engine.Run) error {
	s := r.Arg.(*step)
	s.child.value++
	if !s.over {
		return errors.New("overtook the operation that pushed it")
	}
	return nil
}

func body(r *engine.Run) error { return r.Arg.(*step).run(r) }

func asyncBody(r *engine.Run, done func(error)) {
	s := r.Arg.(*step)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
			}
			done(err)
		}()
		err = s.run(r)
	}()
}

// program is what one pushing goroutine does, with its own cells and oracle.
type program struct {
	t      *testing.T
	e      *engine.Engine
	r      *rand.Rand
	cells  []*cell
	models []model
	steps  []*step
	want   []int32 // expected runs of each step
	child  *cell
	nested atomic.Int64
	freed  atomic.Int64
	frees  int64
	id     int
	device []*queue // lanes of an asynchronous device, if operations are to use them
}

func newProgram(t *testing.T, e *engine.Engine, seed int64, id int) *program {
	p := &program{t: t, e: e, r: rand.New(rand.NewSource(seed)), id: id}
	for i := range 4 + p.r.Intn(28) {
		p.cells = append(p.cells, &cell{v: e.NewVar(fmt.Sprintf("p%d.v%d", id, i))})
	}
	p.models = make([]model, len(p.cells))
	p.child = &cell{v: e.NewVar("child")}
	return p
}

// next makes, records and pushes a random operation.
func (p *program) next() {
	r := p.r
	s := &step{name: fmt.Sprintf("p%d.s%d", p.id, len(p.steps)), nested: &p.nested}
	var at []int
	seen := map[int]int{}
	use := func(i int, a engine.Access) {
		s.uses = append(s.uses, engine.Use{Var: p.cells[i].v, Access: a})
		if j, ok := seen[i]; ok {
			if s.modes[j] != a {
				s.modes[j] = engine.Update
			}
			return
		}
		seen[i] = len(at)
		at = append(at, i)
		s.cells = append(s.cells, p.cells[i])
		s.modes = append(s.modes, a)
	}
	for range r.Intn(4) * r.Intn(7) {
		use(r.Intn(len(p.cells)), engine.Read)
	}
	for range r.Intn(5) {
		use(r.Intn(len(p.cells)), engine.Access(1+r.Intn(2)))
	}
	if r.Intn(12) == 0 {
		s.fail = 1 + r.Intn(2)
	}
	if r.Intn(8) == 0 {
		s.child = p.child
		s.uses = append(s.uses, engine.Use{Var: p.child.v})
	}
	s.async = r.Intn(10) == 0
	t := engine.Task{
		Name: s.name, Fn: body, Arg: s, Uses: s.uses, Priority: engine.Band(r.Intn(4)),
		Cheap: r.Intn(2) == 0, NoSkip: r.Intn(10) == 0, Wide: r.Intn(10) == 0, Threads: r.Intn(3),
	}
	if s.async {
		t.Fn, t.Async = nil, asyncBody
	}
	if lane := r.Intn(2 * (len(p.device) + 1)); lane < len(p.device) {
		s.async, s.queue = true, p.device[lane]
		t.Fn, t.Async, t.Queued, t.Wide = nil, queuedBody, true, false
		t.Lane = engine.Lane{Device: device.Null(lane / 3), Kind: engine.LaneKind(lane % 3)}
	}
	p.steps = append(p.steps, s)
	p.want = append(p.want, p.model(s, at, t.NoSkip))
	p.e.Push(&t)
}

// model runs s in the oracle and returns how often its body is to run.
func (p *program) model(s *step, at []int, noSkip bool) int32 {
	cause := ""
	for j, i := range at {
		if s.modes[j] != engine.Overwrite && p.models[i].cause != "" {
			cause = p.models[i].cause
			break
		}
	}
	if cause != "" && !noSkip {
		for j, i := range at {
			if m := &p.models[i]; s.modes[j] != engine.Read {
				m.intact = m.cause == "" || m.intact
				if m.cause == "" || s.modes[j] == engine.Overwrite {
					m.cause = cause
				}
			}
		}
		return 0
	}
	s.compute(func(j int) uint64 { return p.models[at[j]].value }, func(j int, v uint64) {
		m := &p.models[at[j]]
		m.value = v
		m.version++
		switch {
		case cause != "" && (m.cause == "" || s.modes[j] == engine.Overwrite):
			m.cause = cause
		case cause != "":
		case s.fail != 0:
			m.cause = s.name
		default:
			m.cause = ""
		}
		m.intact = false
	})
	return 1
}

// check waits for cell i and compares it with the oracle.
func (p *program) check(i int, write bool) {
	c, m := p.cells[i], p.models[i]
	wait := p.e.WaitRead
	if write {
		wait = p.e.WaitWrite
	}
	err := wait(bg, c.v)
	got := ""
	var op *engine.OpError
	if errors.As(err, &op) {
		got = op.Op
	}
	if p.device != nil && got == m.cause && (got != "" || c.value == m.value) {
		// with a queue, what follows a failure may run for nothing, and leaves anything behind
		return
	}
	if got != m.cause || c.value != m.value || c.v.Version() != m.version {
		p.t.Errorf("%s: got cause %q, value %x, version %d; want %q, %x, %d", c.v.Name(), got,
			c.value, c.v.Version(), m.cause, m.value, m.version)
	}
}

// other does something besides pushing operations.
func (p *program) other() {
	i := p.r.Intn(len(p.cells))
	switch p.r.Intn(4) {
	case 0:
		p.check(i, false)
	case 1:
		p.check(i, true)
	case 2:
		c := p.cells[i]
		p.frees++
		p.e.DeleteVar(c.v, func() {
			c.freed = true
			p.freed.Add(1)
		})
		p.cells[i] = &cell{v: p.e.NewVar(c.v.Name() + "'")}
		p.models[i] = model{}
	case 3:
		m := &p.models[i]
		if p.device != nil {
			return // whether a value is intact depends on what had been issued
		}
		if err := p.e.ClearError(p.cells[i].v); (err == nil) != (m.cause == "" || m.intact) {
			p.t.Errorf("ClearError of %s: got %v, want success %v", p.cells[i].v.Name(), err,
				m.cause == "" || m.intact)
		} else if err == nil {
			m.cause, m.intact = "", false
		}
	}
}

func (p *program) push(steps int) {
	for range steps {
		if p.r.Intn(10) == 0 {
			p.other()
		} else {
			p.next()
		}
	}
}

// finish compares everything with the oracle once nothing is pending.
func (p *program) finish() {
	for i := range p.cells {
		p.check(i, true)
	}
	if err := p.e.WaitRead(bg, p.child.v); err != nil || p.child.value != uint64(p.nested.Load()) {
		p.t.Errorf("nested operations: got %d runs and error %v, want %d", p.child.value, err,
			p.nested.Load())
	}
	for i, s := range p.steps {
		if got := s.ran.Load(); got != p.want[i] && (p.device == nil || got == 0) {
			p.t.Errorf("%s ran %d times, want %d", s.name, got, p.want[i])
		}
	}
	if p.freed.Load() != p.frees {
		p.t.Errorf("free functions run: got %d, want %d", p.freed.Load(), p.frees)
	}
}

// seedOr returns the seed of the first program: that of the flag, or fixed.
func seedOr(fixed int64) int64 {
	if *seed != 0 {
		return *seed
	}
	return fixed
}

// TestRandomPrograms compares random programs, pushed by one to three goroutines at once, with a
// serial oracle.
func TestRandomPrograms(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			for n := range *programs {
				runPrograms(t, k.cfg, seedOr(1000)+int64(n), nil)
				if t.Failed() {
					t.Fatalf("failed with -seed %d", seedOr(1000)+int64(n))
				}
			}
		})
	}
}

func runPrograms(t *testing.T, cfg engine.Config, seed int64, device []*queue) {
	e := open(t, cfg)
	r := rand.New(rand.NewSource(seed))
	all := make([]*program, 1+r.Intn(3))
	var wg sync.WaitGroup
	for i := range all {
		all[i] = newProgram(t, e, r.Int63(), i)
		all[i].device = device
		wg.Add(1)
		go func() {
			defer wg.Done()
			all[i].push(100)
		}()
	}
	if r.Intn(4) == 0 {
		interrupt(e, r.Intn(20))
	}
	wg.Wait()
	e.WaitAll(bg)
	for _, p := range all {
		p.finish()
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close after WaitAll: %v", err)
	}
}

// interrupt stops and starts the engine while others use it.
func interrupt(e *engine.Engine, times int) {
	for range times {
		e.Stop()
		runtime.Gosched()
		e.Start()
		runtime.Gosched()
	}
}

// queue is a lane of an asynchronous device: its goroutine runs the work in order.
type queue struct{ work chan func() }

func newQueue(t *testing.T) *queue {
	q := &queue{make(chan func(), 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f := range q.work {
			f()
		}
	}()
	t.Cleanup(func() { close(q.work); <-done })
	return q
}

// queuedBody puts the work of a step on the queue of its lane.
func queuedBody(r *engine.Run, done func(error)) {
	s := r.Arg.(*step)
	waits := r.Waits()
	event := make(chan struct{})
	s.queue.work <- func() {
		for _, w := range waits {
			<-w.(chan struct{})
		}
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
			}
			close(event)
			done(err)
		}()
		err = s.run(r)
	}
	r.Issue(event)
}

// TestRandomLanes runs random programs whose operations are spread over the processor and six lanes
// of an asynchronous device.
func TestRandomLanes(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			device := make([]*queue, 6)
			for i := range device {
				device[i] = newQueue(t)
			}
			for n := range *programs {
				runPrograms(t, k.cfg, seedOr(5000)+int64(n), device)
				if t.Failed() {
					t.Fatalf("failed with -seed %d", seedOr(5000)+int64(n))
				}
			}
		})
	}
}
