package ring_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/kvstore/ps"
	"gomx/kvstore/ring"
	"gomx/kvstore/wire"
)

// space is memory of sums that other processes read in place, also when its process is dead.
type space struct {
	ring.Heap
	edition int
	closed  bool
}

// Renew implements ring.Space. Nothing may be read of the old values from here on.
func (s *space) Renew() {
	s.edition++
	for i := range s.Heap {
		s.Heap[i] = 0xa5
	}
}

// Close implements ring.Space.
func (s *space) Close() {
	s.Renew()
	s.closed = true
}

// glance is the owner of a payload in a space.
type glance struct {
	w       *world
	s       *space
	edition int
}

// Intact implements wire.Lent.
func (g *glance) Intact() bool {
	if g.s.edition != g.edition {
		g.w.voided++
		return false
	}
	return true
}

// Release implements wire.Owner.
func (g *glance) Release() {}

// room makes memory that is read in place.
func (w *world) room(bytes int) ring.Space {
	s := &space{Heap: make(ring.Heap, bytes)}
	w.spaces = append(w.spaces, s)
	return s
}

// lies returns the owner of a payload that is lent and lies in a space, nil for others.
func (w *world) lies(m *ps.Send) wire.Owner {
	if m.Hold == nil {
		return nil
	}
	p := uintptr(unsafe.Pointer(unsafe.SliceData(m.Msg.Payload)))
	for _, s := range w.spaces {
		if at := p - uintptr(unsafe.Pointer(unsafe.SliceData(s.Heap))); at < uintptr(len(s.Heap)) {
			return &glance{w, s, s.edition}
		}
	}
	return nil
}

// glance lets a process read a payload in place. Some payloads are written again meanwhile, as
// where a process has stood still.
func (w *world) glance(m *wire.Message) {
	w.placed++
	if w.r.IntN(20) == 0 {
		m.Payload = bytes.Repeat([]byte{0xa5}, len(m.Payload))
		m.Owner = &glance{w, m.Owner.(*glance).s, -1}
	}
}

// loan is the owner of a payload that the receiver may keep.
type loan struct {
	w    *world
	body []byte
	back bool
}

// Release implements wire.Owner: the transport uses the memory again.
func (l *loan) Release() {
	if l.back {
		l.w.t.Fatal("a payload came back twice")
	}
	l.back = true
	l.w.lent--
	for i := range l.body {
		l.body[i] = 0xa5
	}
}

// lend lets a process handle a message. It may keep the payloads of some, which come back.
func (w *world) lend(m *wire.Message, handle func()) {
	l := &loan{w: w, body: m.Payload}
	w.lent++
	if w.r.IntN(3) > 0 {
		m.Owner = l
		if handle(); m.Owner == nil {
			w.kept++
			return
		}
	} else {
		handle()
	}
	l.Release()
}

// TestSumsAreReadInPlace lets workers read sums where others have added them up, late and twice,
// while processes stand still, die, and are followed by others.
func TestSumsAreReadInPlace(t *testing.T) {
	placed, voided := 0, 0
	for seed := range runs(t) {
		r := rand.New(rand.NewPCG(seed, 6))
		c := ring.Config{Workers: 3, Long: []uint64{0, 1}[r.IntN(2)], Slice: 100_000}
		w := newWorld(t, seed, c, nil, 0)
		w.cfg.Room = w.room
		w.sizes, w.steps = []int{60_000, 10}, 6
		w.loss, w.twice = []float64{0, 0.02}[r.IntN(2)], 0.2
		w.slow = []ps.Time{ps.Millisecond, 50 * ps.Millisecond}[r.IntN(2)]
		t.Logf("seed %d: %+v, loss %v, slow %v", seed, w.cfg, w.loss, w.slow)
		for rank := range w.procs {
			w.begin(rank)
		}
		safe, left := r.IntN(c.Workers), 5
		w.run(1000*ps.Second, func() {
			for _, p := range w.procs {
				switch {
				case p.dead && p.until <= w.now:
					w.begin(p.rank)
				case !p.dead && p.rank != safe && left > 0 && w.r.IntN(1500) == 0:
					left--
					p.dead = true
					p.until = w.now + ps.Time(w.r.Int64N(int64(ps.Second)))
				case w.r.IntN(1500) == 0:
					p.until = w.now + ps.Time(w.r.Int64N(int64(10*ps.Second)))
				}
			}
		})
		for _, p := range w.procs {
			if p.fault != nil || p.Stats().Refused > 0 {
				t.Fatalf("seed %d: worker %d: %v, %+v", seed, p.rank, p.fault, p.Stats())
			}
		}
		placed, voided = placed+w.placed, voided+w.voided
	}
	t.Logf("%d sums read in place, %d of them too late", placed, voided)
	if least := 20 * int(runs(t)); placed < least || voided < least/40 {
		t.Errorf("%d sums were read in place, and %d too late, want more", placed, voided)
	}
}

// TestSpacesAreClosed closes the memory of keys when nothing refers to it any more.
func TestSpacesAreClosed(t *testing.T) {
	w := newWorld(t, 1, ring.Config{Workers: 2}, nil, 0)
	w.cfg.Room = w.room
	w.sizes, w.steps = []int{60_000, 10}, 3
	for rank := range w.procs {
		w.begin(rank)
	}
	w.run(100*ps.Second, nil)
	for _, p := range w.procs {
		p.Close()
	}
	open := func() (n int) {
		for _, s := range w.spaces {
			if !s.closed {
				n++
			}
		}
		return n
	}
	for end := w.now + ps.Second; open() > 0; w.tick() { // loans come back
		if w.now > end {
			t.Fatalf("%d of %d spaces are open", open(), len(w.spaces))
		}
	}
	if len(w.spaces) != 8 {
		t.Errorf("%d spaces, want 2 for each of 2 keys of 2 workers", len(w.spaces))
	}
}
