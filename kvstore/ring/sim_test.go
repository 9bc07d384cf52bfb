package ring_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ring"
	"gomx/kvstore/wire"
)

// world runs the groups of a job in virtual time, over a network that loses, delays and doubles
// messages, with processes that stand still or die. All that happens follows from its seed.
type world struct {
	t     testing.TB
	r     *rand.Rand
	now   ps.Time
	cfg   ring.Config
	sizes []int // elements of each key
	steps int
	procs []*proc
	mail  mail
	order int
	next  uint32 // incarnation of the next process
	loss  float64
	twice float64
	slow  ps.Time // longest delay of a message
	view  *wire.View
	limit ps.Time // of a push

	spaces []*space // memory of sums that is read in place; nil: none is
	placed int      // messages with payloads there that were read
	voided int      // of them, those whose memory had been renewed
	kept   int      // payloads that receivers have kept
	lent   int      // payloads that have not come back
}

// proc is a process: a group and a program that pushes all keys once per step.
type proc struct {
	*ring.Group
	rank  int
	inc   uint32
	until ps.Time // it stands still until then
	dead  bool
	calls map[uint64]int // key of each call
	step  int            // of the program, from 1 on
	left  int            // calls of the step that have not ended
	wake  ps.Time        // when the next step begins
	queue []int          // keys of the step that are to be pushed
	keys  []keyOf
	seen  uint64 // number of the last view
	fault error
}

type keyOf struct{ value, out []byte }

// letter is a message or a returned loan on its way.
type letter struct {
	due   ps.Time
	order int
	to    int
	inc   uint32 // of the receiver
	from  wire.Node
	msg   wire.Message
	loan  *ps.Loan // a loan that comes back, instead of a message
	view  *wire.View
}

type mail []letter

func (m mail) Len() int { return len(m) }
func (m mail) Less(i, j int) bool {
	return m[i].due < m[j].due || m[i].due == m[j].due && m[i].order < m[j].order
}
func (m mail) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *mail) Push(x any)   { *m = append(*m, x.(letter)) }
func (m *mail) Pop() any {
	old := *m
	x := old[len(old)-1]
	*m = old[:len(old)-1]
	return x
}

const job = 11

func newWorld(t testing.TB, seed uint64, c ring.Config, sizes []int, steps int) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 9)), cfg: c, sizes: sizes, steps: steps,
		slow: ps.Millisecond, limit: 900 * ps.Second, view: &wire.View{Job: job}}
	w.cfg.Job = job
	for i := range c.Workers {
		w.view.Workers = append(w.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(i)}})
		w.procs = append(w.procs, &proc{dead: true, rank: i})
	}
	for i := range w.procs {
		w.begin(i)
	}
	return w
}

// begin starts a process in a place.
func (w *world) begin(rank int) {
	c := w.cfg
	c.Rank = uint16(rank)
	g, err := ring.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.next++
	w.view.Number++
	w.view.Workers[rank].Incarnation, w.view.Workers[rank].Alive = w.next, true
	w.procs[rank] = &proc{Group: g, rank: rank, inc: w.next, calls: map[uint64]int{}}
	for _, p := range w.procs {
		if !p.dead {
			w.post(letter{to: p.rank, inc: p.inc, view: w.view.Clone()})
		}
	}
	p := w.procs[rank]
	if _, err := p.Join(w.now, w.now+100*ps.Second); err != nil {
		w.t.Fatal(err)
	}
	w.carry(p)
}

// carry carries out the outbox of a process.
func (w *world) carry(p *proc) {
	out := p.Out()
	out.Pack()
	for i := range out.Sends {
		s := &out.Sends[i]
		m := s.Msg
		if m.Owner = w.lies(s); m.Owner == nil {
			m.Payload = append([]byte(nil), m.Payload...)
		}
		for copies := 1; copies > 0; copies-- {
			if w.r.Float64() < w.twice {
				copies++
			}
			if w.r.Float64() < w.loss {
				continue
			}
			w.post(letter{to: int(s.To.Rank), inc: m.Target, from: m.From, msg: m})
		}
		if s.Hold != nil {
			w.post(letter{to: p.rank, inc: p.inc, loan: s.Hold})
		}
	}
	done := append([]ps.Done(nil), out.Done...)
	out.Reset()
	for i := range done {
		w.ended(p, &done[i])
	}
}

func (w *world) post(l letter) {
	w.order++
	l.order, l.due = w.order, w.now+ps.Time(1+w.r.Int64N(int64(w.slow)))
	heap.Push(&w.mail, l)
}

// value is an element of a contribution: sums of such numbers depend on the order of addition.
func value(rank, key, step, i int) float32 {
	x := uint32(rank*7919+key*104729+step*1299709+i*15485863) * 2654435761
	return float32(x>>8) / (1 << 20) * float32(math.Pow(2, float64(x%13)))
}

// want is an element of the sum in the order of the ranks.
func want(workers, key, step, i int) float32 {
	sum := value(0, key, step, i)
	for rank := 1; rank < workers; rank++ {
		sum += value(rank, key, step, i)
	}
	return sum
}

// ended takes in the end of a call.
func (w *world) ended(p *proc, d *ps.Done) {
	if d.Err != nil {
		if p.fault == nil {
			p.fault = d.Err
		}
		return
	}
	key, ok := p.calls[d.ID]
	if !ok { // the process has joined
		p.step = int(p.Resumed()) + 1
		for k, n := range w.sizes {
			if err := p.Create(uint32(k), ring.KeySpec{Total: uint64(4 * n),
				DType: dtype.Float32}); err != nil {
				w.t.Fatal(err)
			}
			p.keys = append(p.keys, keyOf{make([]byte, 4*n), make([]byte, 4*n)})
		}
		p.plan(w)
		return
	}
	delete(p.calls, d.ID)
	got := floats(p.keys[key].out)
	for i := range got {
		if x := want(w.cfg.Workers, key, p.step,
			i); math.Float32bits(got[i]) != math.Float32bits(x) {
			w.t.Fatalf("worker %d, key %d, step %d, element %d: got %v, want %v", p.rank, key,
				p.step, i, got[i], x)
		}
	}
	if d.Clock != uint64(p.step) {
		w.t.Fatalf("worker %d, key %d: round %d ended in step %d", p.rank, key, d.Clock, p.step)
	}
	if p.left--; p.left == 0 {
		p.step++
		p.plan(w)
	}
}

// plan prepares the next step of a program.
func (p *proc) plan(w *world) {
	if p.step > w.steps {
		return
	}
	p.queue = p.queue[:0]
	for k := len(w.sizes) - 1; k >= 0; k-- {
		p.queue = append(p.queue, k)
	}
	p.left = len(p.queue)
	p.wake = w.now + ps.Time(w.r.Int64N(int64(2*ps.Millisecond)))
}

// work pushes some of the keys of the step. Carry carries out the outbox.
func (p *proc) work(w *world, carry func()) {
	for len(p.queue) > 0 && p.wake <= w.now && p.step > 0 {
		key := p.queue[0]
		p.queue = p.queue[1:]
		v := floats(p.keys[key].value)
		for i := range v {
			v[i] = value(p.rank, key, p.step, i)
		}
		id, err := p.Push(w.now, ring.PushOp{Key: uint32(key), Value: p.keys[key].value,
			Out: p.keys[key].out, Keep: true, Priority: int8(-key),
			Deadline: w.now + w.limit})
		if err != nil {
			w.t.Fatalf("worker %d: %v", p.rank, err)
		}
		p.calls[id] = key
		carry()
		if w.r.IntN(3) == 0 {
			p.wake = w.now + ps.Time(w.r.Int64N(int64(ps.Millisecond)))
		}
	}
}

// over reports whether all programs have done their steps.
func (w *world) over() bool {
	for _, p := range w.procs {
		if p.dead || p.step <= w.steps && p.fault == nil {
			return false
		}
	}
	return true
}

// run lets time pass until all programs have ended, or the time is up.
func (w *world) run(limit ps.Time, disturb func()) {
	for end := w.now + limit; !w.over(); {
		if w.now > end {
			for _, p := range w.procs {
				w.t.Logf("worker %d: step %d of %d, %d calls, %+v", p.rank, p.step, w.steps,
					len(p.calls), p.Stats())
			}
			w.t.Fatalf("not over after %d s", limit/ps.Second)
		}
		w.tick()
		if disturb != nil {
			disturb()
		}
	}
}

// tick lets time pass until something happens, at most 5 ms.
func (w *world) tick() {
	step := 5 * ps.Millisecond
	if len(w.mail) > 0 {
		step = min(step, w.mail[0].due-w.now)
	}
	for _, p := range w.procs {
		if len(p.queue) > 0 {
			step = min(step, p.wake-w.now)
		}
	}
	w.now += max(step, ps.Millisecond/4)
	for len(w.mail) > 0 && w.mail[0].due <= w.now {
		l := heap.Pop(&w.mail).(letter)
		p := w.procs[l.to]
		switch {
		case p.dead || (l.loan != nil || l.view != nil) && p.inc != l.inc:
		case p.until > w.now: // it waits in a queue
			l.due = p.until
			heap.Push(&w.mail, l)
		case l.loan != nil:
			p.Release(l.loan)
			w.carry(p)
		case l.view != nil:
			if l.view.Number > p.seen {
				p.seen = l.view.Number
				p.SetMembers(w.now, l.view)
				w.carry(p)
			}
		default:
			m := l.msg
			if m.Owner != nil {
				w.glance(&m)
				p.Handle(w.now, l.from, &m)
				w.carry(p)
				continue
			}
			m.Payload = append([]byte(nil), l.msg.Payload...)
			w.lend(&m, func() { p.Handle(w.now, l.from, &m) })
			w.carry(p)
		}
	}
	for _, p := range w.procs {
		if p.dead || p.until > w.now {
			continue
		}
		p.Tick(w.now)
		w.carry(p)
		p.work(w, func() { w.carry(p) })
	}
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// sizes are lengths of keys: small ones, which every worker adds up, and large ones.
func someSizes(r *rand.Rand) (list []int) {
	for range 1 + r.IntN(6) {
		list = append(list, []int{1, 3, 16, 17, 100, 700, 1000, 2500, 9001}[r.IntN(9)])
	}
	return list
}

func someConfig(r *rand.Rand) ring.Config {
	return ring.Config{Workers: 1 + r.IntN(5), Direct: []int{-1, 64, 2048, 1 << 20}[r.IntN(4)],
		Bucket: []int{-1, 100, 1 << 16}[r.IntN(3)], Slice: []uint64{512, 4000, 1 << 20}[r.IntN(3)],
		Window: []uint64{1, 5000, 1 << 20}[r.IntN(3)], Long: []uint64{0, 1, 5000}[r.IntN(3)]}
}

// runs is the number of seeds of each simulation.
func runs(t *testing.T) uint64 {
	if testing.Short() {
		return 10
	}
	return 30
}

// TestRounds adds up over a network without faults.
func TestRounds(t *testing.T) {
	kept := 0
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, seed, someConfig(r), someSizes(r), 4)
		t.Logf("seed %d: %+v, sizes %v", seed, w.cfg, w.sizes)
		w.run(100*ps.Second, nil)
		for _, p := range w.procs {
			if p.fault != nil || p.Stats().Refused > 0 || p.Stats().Calls > 0 {
				t.Fatalf("seed %d: worker %d: %v, %+v", seed, p.rank, p.fault, p.Stats())
			}
		}
		if w.lent > 0 {
			t.Fatalf("seed %d: %d of %d payloads that were kept have not come back", seed, w.lent,
				w.kept)
		}
		kept += w.kept
	}
	if least := 20 * int(runs(t)); kept < least {
		t.Errorf("%d payloads were kept, want at least %d", kept, least)
	}
}

// TestNobodyAsks adds up without faults, with programs that begin their steps at different times:
// after the first steps, no worker waits until it asks for a contribution.
func TestNobodyAsks(t *testing.T) {
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 5))
		c := someConfig(r)
		c.Workers, c.Window = 2+r.IntN(4), 1<<20
		w := newWorld(t, seed, c, someSizes(r), 40)
		t.Logf("seed %d: %+v, sizes %v", seed, w.cfg, w.sizes)
		for slices.ContainsFunc(w.procs, func(p *proc) bool { return p.step < 5 }) {
			w.tick()
		}
		var before uint64
		for _, p := range w.procs {
			before += p.Stats().Resends
		}
		began := w.now
		w.run(100*ps.Second, nil)
		var after uint64
		for _, p := range w.procs {
			after += p.Stats().Resends
		}
		if perStep := (w.now - began) / 36; after > before || perStep > 25*ps.Millisecond {
			t.Fatalf("seed %d: %d values sent again, and %v ms a step, want 0 and at most 25",
				seed, after-before, float64(perStep)/float64(ps.Millisecond))
		}
	}
}

// TestFaults loses, doubles and delays messages, and lets processes stand still.
func TestFaults(t *testing.T) {
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, seed, someConfig(r), someSizes(r), 4)
		w.loss, w.twice = []float64{0, 0.02, 0.2}[r.IntN(3)], []float64{0, 0.1}[r.IntN(2)]
		w.slow = []ps.Time{ps.Millisecond, 20 * ps.Millisecond, 200 * ps.Millisecond}[r.IntN(3)]
		t.Logf("seed %d: %+v, sizes %v, loss %v, twice %v, slow %v", seed, w.cfg, w.sizes, w.loss,
			w.twice, w.slow)
		w.run(1000*ps.Second, func() {
			if w.r.IntN(4000) == 0 {
				p := w.procs[w.r.IntN(len(w.procs))]
				p.until = w.now + ps.Time(w.r.Int64N(int64(10*ps.Second)))
			}
		})
		for _, p := range w.procs {
			if p.fault != nil {
				t.Fatalf("seed %d: worker %d: %v", seed, p.rank, p.fault)
			}
		}
	}
}

// TestDeaths kills processes at random instants, also the successors of others and several at once,
// and lets others take over their places. One process always lives, so that the sums of a step are
// not lost.
func TestDeaths(t *testing.T) {
	deaths := 0
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := someConfig(r)
		c.Workers = max(2, c.Workers)
		w := newWorld(t, seed, c, someSizes(r), 8)
		w.loss = []float64{0, 0.02}[r.IntN(2)]
		w.slow = []ps.Time{ps.Millisecond, 20 * ps.Millisecond}[r.IntN(2)]
		t.Logf("seed %d: %+v, sizes %v, loss %v, slow %v", seed, w.cfg, w.sizes, w.loss, w.slow)
		safe, left := r.IntN(c.Workers), 15
		w.run(1000*ps.Second, func() {
			for _, p := range w.procs {
				switch {
				case p.dead && p.until <= w.now:
					w.begin(p.rank)
				case !p.dead && p.rank != safe && left > 0 && w.r.IntN(1500) == 0:
					deaths++
					left--
					p.dead = true
					p.until = w.now + ps.Time(w.r.Int64N(int64(ps.Second)))
				}
			}
		})
		for _, p := range w.procs {
			if p.fault != nil {
				t.Fatalf("seed %d: worker %d: %v", seed, p.rank, p.fault)
			}
		}
	}
	if !testing.Short() && deaths < 20 {
		t.Errorf("%d deaths, want more", deaths)
	}
}

// TestDeadlines lets a worker die for good: the calls of the others end by their deadlines, with
// errors that name it.
func TestDeadlines(t *testing.T) {
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 4))
		c := someConfig(r)
		c.Workers = max(2, c.Workers)
		w := newWorld(t, seed, c, someSizes(r), 1000000)
		w.limit = 5 * ps.Second
		for range 400 + r.IntN(2000) {
			w.tick()
		}
		dead := w.procs[r.IntN(c.Workers)]
		dead.dead = true
		began := w.now
		for w.now < began+6*ps.Second {
			w.tick()
		}
		for _, p := range w.procs {
			if p.dead {
				continue
			}
			if n := p.Stats().Calls; n > 0 {
				t.Fatalf("seed %d: worker %d has %d calls that have not ended", seed, p.rank, n)
			}
			if p.fault == nil {
				continue // it was done with its step
			}
			name := fmt.Sprintf("worker %d", dead.rank)
			if text := p.fault.Error(); !strings.Contains(text, name) ||
				!strings.Contains(text, "deadline") {
				t.Fatalf("seed %d: worker %d: %v, want %s", seed, p.rank, p.fault, name)
			}
		}
	}
}
