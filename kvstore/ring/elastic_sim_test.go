package ring_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ring"
	"gomx/kvstore/wire"
)

// crowd runs an elastic job in virtual time: processes die for good, stand still until they are
// given up, and come. A scheduler of a few lines names the members of the group.
type crowd struct {
	world
	people []*person
	ready  map[int]bool // processes that wait to be let in, by their place in people
	groups int
	behind int // processes that found out that they had been left behind
	undone int // rounds that a process took back
}

// person is a process: a group, and a program whose keys have values that sums change.
type person struct {
	proc
	id     int
	state  []history // of each key; nil: it has no values
	asks   bool      // the group has changed, and Join is to be called
	joined bool
	alone  bool // it has found out that it is not in the group
}

// history is a key at a process: its value, and the groups whose rounds have made it.
type history struct {
	last, before []float32
	groups       []uint64
}

func newCrowd(t testing.TB, seed uint64, c ring.Config, sizes []int, steps int) *crowd {
	n := c.Workers
	c.Elastic = true
	w := &crowd{ready: map[int]bool{}, world: world{t: t, r: rand.New(rand.NewPCG(seed, 19)),
		cfg: c, sizes: sizes, steps: steps, slow: ps.Millisecond, limit: 900 * ps.Second,
		view: &wire.View{Job: job}}}
	w.cfg.Job = job
	for rank := range n {
		w.view.Group.Ranks = append(w.view.Group.Ranks, uint16(rank))
		w.view.Workers = append(w.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(rank)}})
	}
	for rank := range n {
		w.start(rank)
	}
	return w
}

// start starts a process in a place.
func (w *crowd) start(rank int) *person {
	c := w.cfg
	c.Rank = uint16(rank)
	g, err := ring.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	for len(w.view.Workers) <= rank {
		w.view.Workers = append(w.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(len(w.view.Workers))}})
	}
	w.next++
	p := &person{proc: proc{Group: g, rank: rank, inc: w.next, calls: map[uint64]int{}},
		id: len(w.people), asks: true}
	w.people = append(w.people, p)
	w.view.Workers[rank] = wire.Member{Node: wire.Node{Role: wire.Worker, Rank: uint16(rank)},
		Incarnation: w.next, Alive: true}
	w.tell()
	return p
}

// tell tells everybody of the view.
func (w *crowd) tell() {
	w.view.Number++
	for _, p := range w.people {
		if !p.dead {
			w.post(letter{to: p.id, inc: p.inc, view: w.view.Clone()})
		}
	}
}

// holder returns the process in a place, nil if the place is empty.
func (w *crowd) holder(rank int) *person {
	for _, p := range w.people {
		if p.inc == w.view.Workers[rank].Incarnation {
			return p
		}
	}
	return nil
}

// regroup lets go a worker, and lets in the processes that wait.
func (w *crowd) regroup(gone int) {
	g := &w.view.Group
	g.Number++
	w.groups++
	g.Ranks = slices.DeleteFunc(g.Ranks, func(r uint16) bool { return int(r) == gone })
	for id := range w.ready {
		if p := w.people[id]; !p.dead {
			g.Ranks = append(g.Ranks, uint16(p.rank))
		}
	}
	clear(w.ready)
	slices.Sort(g.Ranks)
	for _, p := range w.people {
		g.Round = max(g.Round, p.Position())
	}
	w.tell()
}

// carry carries out the outbox of a process.
func (w *crowd) carry(p *person) {
	out := p.Out()
	out.Pack()
	for i := range out.Sends {
		s := &out.Sends[i]
		m := s.Msg
		m.Payload = append([]byte(nil), m.Payload...)
		for _, to := range w.people {
			if to.inc == m.Target && w.r.Float64() >= w.loss {
				w.post(letter{to: to.id, inc: m.Target, from: m.From, msg: m})
				if w.r.Float64() < w.twice {
					w.post(letter{to: to.id, inc: m.Target, from: m.From, msg: m})
				}
			}
		}
		if s.Hold != nil {
			w.post(letter{to: p.id, inc: p.inc, loan: s.Hold})
		}
	}
	done := append([]ps.Done(nil), out.Done...)
	out.Reset()
	for i := range done {
		w.ended(p, &done[i])
	}
}

// ended takes in the end of a call.
func (w *crowd) ended(p *person, d *ps.Done) {
	key, push := p.calls[d.ID]
	delete(p.calls, d.ID)
	switch {
	case errors.Is(d.Err, ring.ErrRegrouped):
		p.asks, p.joined = true, false
	case d.Err != nil:
		w.dump()
		w.t.Fatalf("worker %d, process %d: %v", p.rank, p.inc, d.Err)
	case !push:
		w.entered(p)
	default:
		w.added(p, key, d.Clock)
	}
}

// entered goes back to the round on which the group has agreed.
func (w *crowd) entered(p *person) {
	p.joined = true
	rounds := int(p.Resumed())
	if p.keys == nil {
		for k, n := range w.sizes {
			if err := p.Create(uint32(k), ring.KeySpec{Total: uint64(4 * n),
				DType: dtype.Float32}); err != nil {
				w.t.Fatal(err)
			}
			p.keys = append(p.keys, keyOf{make([]byte, 4*n), make([]byte, 4*n)})
		}
	}
	if p.state == nil && rounds == 0 {
		for _, n := range w.sizes {
			p.state = append(p.state, history{last: make([]float32, n)})
		}
	}
	for k := range p.state {
		h := &p.state[k]
		if len(h.groups) == rounds+1 {
			h.last, h.groups = h.before, h.groups[:rounds]
			w.undone++
		}
		if len(h.groups) != rounds {
			w.t.Fatalf("worker %d: key %d has had %d rounds, its group agrees on %d", p.rank, k,
				len(h.groups), rounds)
		}
	}
	p.step = rounds + 1
	if p.queue = nil; p.state != nil {
		p.plan(&w.world)
	}
}

// added takes in a sum.
func (w *crowd) added(p *person, key int, round uint64) {
	number, ranks, _ := p.Generation()
	h := &p.state[key]
	if int(round) != p.step || len(h.groups) != p.step-1 {
		w.t.Fatalf("worker %d: round %d of key %d, which has had %d, in step %d", p.rank, round,
			key, len(h.groups), p.step)
	}
	h.before = slices.Clone(h.last)
	h.groups = append(h.groups[:len(h.groups):len(h.groups)], number)
	for i, got := range floats(p.keys[key].out) {
		sum := value(ranks[0], key, p.step, i)
		for _, r := range ranks[1:] {
			sum += value(r, key, p.step, i)
		}
		if math.Float32bits(got) != math.Float32bits(sum) {
			w.t.Fatalf("worker %d of %v, key %d, step %d, element %d: got %v, want %v", p.rank,
				ranks, key, p.step, i, got, sum)
		}
		h.last[i] = h.last[i]/2 + got
	}
	if p.left--; p.left == 0 && p.joined {
		p.step++
		p.plan(&w.world)
	}
}

// act lets a program do its next step: enter the group, take values from another one, or push.
func (w *crowd) act(p *person) {
	if _, _, current := p.Generation(); p.joined && !current {
		p.asks, p.joined = true, false
	}
	switch {
	case p.asks && len(p.calls) == 0:
		if p.View() == nil {
			return
		}
		p.asks, p.queue = false, nil
		if _, err := p.Join(w.now, w.now+900*ps.Second); err != nil {
			p.asks = true // it waits to be let in, or is not in the group any more
			p.alone = p.alone || p.joinedOnce()
			return
		}
		w.carry(p)
	case p.joined && p.state == nil:
		w.fetch(p)
	case p.joined:
		p.work(&w.world, func() { w.carry(p) })
	}
}

// fetch takes the values of another process in the same group.
func (w *crowd) fetch(p *person) {
	number, _, _ := p.Generation()
	for _, o := range w.people {
		n, _, _ := o.Generation()
		if o == p || o.dead || o.until > w.now || !o.joined || o.state == nil || n != number {
			continue
		}
		for k := range o.state {
			h := o.state[k]
			if len(h.groups) != int(p.Resumed()) {
				w.t.Fatalf("worker %d has %d rounds of key %d, while worker %d waits for it "+
					"after %d", o.rank, len(h.groups), k, p.rank, p.Resumed())
			}
			p.state = append(p.state, history{last: slices.Clone(h.last),
				groups: slices.Clone(h.groups)})
		}
		p.plan(&w.world)
		return
	}
}

// tick lets time pass until something happens, at most 5 ms.
func (w *crowd) tick() {
	step := 5 * ps.Millisecond
	if len(w.mail) > 0 {
		step = min(step, w.mail[0].due-w.now)
	}
	w.now += max(step, ps.Millisecond/4)
	for len(w.mail) > 0 && w.mail[0].due <= w.now {
		l := heap.Pop(&w.mail).(letter)
		p := w.people[l.to]
		switch {
		case p.dead:
		case p.until > w.now:
			l.due = p.until
			heap.Push(&w.mail, l)
		case l.loan != nil:
			p.Release(l.loan)
		case l.view != nil:
			if l.view.Number > p.seen {
				p.seen = l.view.Number
				p.SetMembers(w.now, l.view)
			}
		default:
			m := l.msg
			m.Payload = append([]byte(nil), l.msg.Payload...)
			p.Handle(w.now, l.from, &m)
		}
		w.carry(p)
	}
	for _, p := range w.people {
		if p.dead || p.until > w.now {
			continue
		}
		p.Tick(w.now)
		w.carry(p)
		w.act(p)
	}
}

// dump logs the processes.
func (w *crowd) dump() {
	for _, p := range w.people {
		n, ranks, current := p.Generation()
		w.t.Logf("worker %d, process %d: dead %v, until %v, group %d %v %v, step %d, asks %v, "+
			"joined %v, values %v, %d calls, %+v", p.rank, p.inc, p.dead, p.until-w.now, n, ranks,
			current, p.step, p.asks, p.joined, p.state != nil, len(p.calls), p.Stats())
	}
	w.t.Logf("group %+v", w.view.Group)
}

// finished reports whether all workers of the group have done their steps.
func (w *crowd) finished() bool {
	for _, rank := range w.view.Group.Ranks {
		p := w.holder(int(rank))
		if n, _, current := p.Generation(); p.dead || !p.joined || !current ||
			n != w.view.Group.Number || p.step <= w.steps {
			return false
		}
	}
	return true
}

// disturb kills processes, stops them, takes them out of the group, and starts others.
func (w *crowd) disturb(chance int, left *int) {
	for _, p := range w.people {
		switch {
		case p.dead:
		case p.alone: // as another process it comes back
			p.dead = true
			w.behind++
			w.start(p.rank)
		case *left > 0 && w.r.IntN(chance) == 0 && len(w.view.Group.Ranks) > 1 && p.joined && w.valued(p):
			*left--
			if w.r.IntN(2) == 0 {
				p.until = w.now + ps.Time(w.r.Int64N(int64(4*ps.Second)))
			} else {
				p.dead = true
			}
			p.wake = w.now + ps.Time(w.r.Int64N(int64(ps.Second))) // when it is given up
		}
	}
	for _, rank := range slices.Clone(w.view.Group.Ranks) {
		p := w.holder(int(rank))
		if (p.dead || p.until > w.now) && p.wake <= w.now && w.valued(p) {
			w.regroup(int(rank))
			if p.dead && w.r.IntN(2) == 0 {
				w.start(int(rank))
			}
		}
	}
	for _, p := range w.people {
		waits := w.view.Workers[p.rank].Incarnation == p.inc && !p.dead &&
			!slices.Contains(w.view.Group.Ranks, uint16(p.rank)) && !p.joinedOnce()
		if waits && w.r.IntN(200) == 0 {
			w.ready[p.id] = true
			w.regroup(-1)
		}
	}
}

// joinedOnce reports whether a process has been in a group.
func (p *person) joinedOnce() bool { return p.keys != nil }

// valued reports whether a worker of the group beside p lives and has values: the job is not lost.
func (w *crowd) valued(p *person) bool {
	for _, rank := range w.view.Group.Ranks {
		if o := w.holder(int(rank)); o != p && !o.dead && o.until <= w.now && o.state != nil {
			return true
		}
	}
	return false
}

// TestGroupsShrink lets workers die for good, stand still until the others have gone on without
// them, and come back as other processes: all workers go on with the same values, made by the same
// rounds, and every sum has one contribution of each worker of its group.
func TestGroupsShrink(t *testing.T) {
	groups, behind, undone := 0, 0, 0
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := someConfig(r)
		c.Workers = 2 + r.IntN(4)
		w := newCrowd(t, seed, c, someSizes(r), 40)
		w.loss, w.twice = []float64{0, 0.02}[r.IntN(2)], []float64{0, 0.1}[r.IntN(2)]
		w.slow = []ps.Time{ps.Millisecond, 20 * ps.Millisecond}[r.IntN(2)]
		text := fmt.Sprintf("seed %d: %+v, sizes %v, loss %v, twice %v, slow %v", seed, w.cfg,
			w.sizes, w.loss, w.twice, w.slow)
		left := 8
		for end := w.now + 2000*ps.Second; !w.finished(); w.tick() {
			if w.now > end {
				w.dump()
				t.Fatalf("%s: not over, group %+v", text, w.view.Group)
			}
			w.disturb(400, &left)
		}
		first := w.holder(int(w.view.Group.Ranks[0]))
		for _, rank := range w.view.Group.Ranks[1:] {
			p := w.holder(int(rank))
			for k := range p.state {
				a, b := p.state[k], first.state[k]
				if !slices.Equal(a.groups, b.groups) || !slices.Equal(a.last, b.last) {
					t.Fatalf("%s: key %d: worker %d has rounds of groups %v, worker %d of %v",
						text, k, rank, a.groups, first.rank, b.groups)
				}
			}
		}
		groups, behind, undone = groups+w.groups, behind+w.behind, undone+w.undone
	}
	t.Logf("%d groups, %d processes left behind, %d rounds of a key taken back", groups, behind,
		undone)
	if n := int(runs(t)); groups < 2*n || behind < n/15 || undone < n/3 {
		t.Errorf("too few: want at least %d, %d and %d", 2*n, n/15, n/3)
	}
}
