package ring

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// round is one round of a key at a worker that adds up slices of it.
type round struct {
	number uint64
	space  Space
	sums   []byte // of the own slices, one after the other, in space
	slices []sliceSum
	loan   ps.Loan // of sums
	lent   int     // messages under way that refer to sums
	gone   bool    // the key is gone: space is closed when nothing refers to it
}

// sliceSum is the sum of one slice. The contributions of the places below next are in it.
type sliceSum struct {
	next     uint16
	complete bool
	held     []held // contributions that have come, by place
}

// held is a contribution of another worker that waits for the contributions of lower ranks.
type held struct {
	values []byte     // nil: none
	owner  wire.Owner // of values; nil: they are a copy, or belong to the transport
	copied bool       // values are in memory of the group's spare buffers
}

// Returned implements ps.Lender. The sums stay where they are as long as the key exists, so nobody
// waits for the transport.
func (r *round) Returned() {
	r.lent--
	r.free()
}

// lend notes that a message refers to a sum.
func (r *round) lend() *ps.Loan {
	r.lent++
	return &r.loan
}

// free closes the space of a key that is gone.
func (r *round) free() {
	if r.gone && r.lent == 0 && r.space != nil {
		r.space.Close()
		r.space, r.sums = nil, nil
	}
}

func newRound(slices, workers, size int, room func(int) Space) round {
	r := round{space: room(size), slices: make([]sliceSum, slices)}
	r.sums = r.space.Bytes()
	for i := range r.slices {
		r.slices[i].held = make([]held, workers)
	}
	return r
}

// begin prepares the sums of another round.
func (r *round) begin(number uint64, spare *buffers) {
	r.number = number
	r.loan.Lender = r
	r.space.Renew()
	for i := range r.slices {
		s := &r.slices[i]
		s.next, s.complete = 0, false
		for j := range s.held {
			s.held[j].drop(spare)
		}
	}
}

// drop forgets a contribution.
func (h *held) drop(spare *buffers) {
	if h.owner != nil {
		h.owner.Release()
	}
	if h.copied {
		spare.put(h.values)
	}
	*h = held{}
}

// forget takes the contributions of a worker out of sums that are not complete. Sums that contain
// them begin anew: the other workers still have their contributions, and are asked for them.
func (k *key) forget(rank uint16) {
	for i := range k.rounds {
		r := &k.rounds[i]
		for j := range r.slices {
			s := &r.slices[j]
			if s.complete || r.number <= k.done {
				continue
			}
			s.held[rank].drop(k.spare)
			if s.next > rank {
				s.next = 0
			}
		}
	}
	if k.call != nil {
		k.call.askAt = 0
	}
}

// keep makes a contribution that belongs to the transport outlast the message.
func (h *held) keep(m *wire.Message, spare *buffers) {
	var buf []byte
	if m.Owner == nil {
		buf = spare.get(len(m.Payload))
	}
	h.values, h.owner = m.Take(buf)
	h.copied = h.owner == nil
}

// contribution takes in another worker's part of a round.
func (g *calls) contribution(l *link, m *wire.Message) {
	k := g.keys[m.Key]
	if k == nil {
		return // it is asked for again when the key exists and its round has begun
	}
	number := wire.CollectivePlaceOf(m).Round
	if !k.fits(m) || !k.own(m.Slice) || len(m.Payload) == 0 {
		g.refuse(l, m)
		return
	}
	if number <= k.done { // the sender lacks sums of a round that is complete here
		if number == k.done {
			g.answer(l, k, number, m.Slice)
		}
		return
	}
	if number > k.done+2 {
		g.refuse(l, m)
		return
	}
	r := k.round(number)
	s := &r.slices[m.Slice-k.first]
	h := &s.held[l.place]
	switch {
	case s.complete:
		g.answer(l, k, number, m.Slice)
		return
	case l.place < s.next || h.values != nil:
		return // it has come before
	}
	g.progress(k, number)
	h.values = m.Payload
	g.feed(k, r, m.Slice)
	if h.values != nil {
		h.keep(m, k.spare)
	}
}

// feed adds the contributions to an own slice that are next in the order of the ranks. The first
// two are added into the memory of the sum, so that none of them is copied.
func (g *calls) feed(k *key, r *round, slice uint16) {
	s := &r.slices[slice-k.first]
	sum := k.added(r, slice)
	placed := false // the sum is in the call's memory too
	for int(s.next) < g.cfg.Workers {
		values := g.ready(k, r, slice, s.next)
		switch {
		case values == nil:
			return
		case s.next > 0:
			placed = g.add(k, r, slice, sum, values)
			s.held[s.next].drop(k.spare)
			s.next++
			continue
		}
		if g.cfg.Workers > 1 {
			if second := g.ready(k, r, slice, 1); second != nil {
				s.next = 1
				placed = g.add(k, r, slice, values, second)
				s.held[0].drop(k.spare)
				s.held[1].drop(k.spare)
				s.next = 2
				continue
			}
			if g.cfg.Rank == 0 || s.held[0].owner != nil {
				return // the values stay where they are until the second contribution comes
			}
		}
		copy(sum, values)
		s.held[0].drop(k.spare)
		s.next = 1
	}
	g.added(k, r, slice, placed)
}

// add adds the contribution that is next to those before it, into the memory of the sum. The sum of
// all goes to the memory of the call too, which it reports, if it would not be in a cache any more
// when the whole slice has been added up.
func (g *calls) add(k *key, r *round, slice uint16, before, next []byte) (placed bool) {
	sum, c := k.added(r, slice), k.call
	last := int(r.slices[slice-k.first].next)+1 == g.cfg.Workers
	if !last || !k.long || c == nil || c.round != r.number || c.have[slice] {
		g.cfg.Arithmetic.Add(sum, before, next, k.spec.DType)
		return false
	}
	out := k.part(c.out, slice)
	for len(sum) > 0 {
		n := min(len(sum), addPiece)
		g.cfg.Arithmetic.Add(sum[:n], before[:n], next[:n], k.spec.DType)
		g.cfg.Arithmetic.Stream(out[:n], sum[:n])
		sum, before, next, out = sum[n:], before[n:], next[n:], out[n:]
	}
	return true
}

// addPiece is the number of bytes that are added up before they are copied: with the contributions
// they stay in the cache of one processor.
const addPiece = 64 << 10

// ready returns the contribution of a rank to an own slice, nil if it has not come.
func (g *base) ready(k *key, r *round, slice, rank uint16) []byte {
	if rank != g.cfg.Rank {
		return r.slices[slice-k.first].held[rank].values
	}
	c := k.call
	if c == nil || !c.begun || c.round != r.number {
		return nil
	}
	return k.part(c.value, slice)
}

// added passes a complete sum on to the other workers and to the program. placed says that the
// program has it.
func (g *calls) added(k *key, r *round, slice uint16, placed bool) {
	s := &r.slices[slice-k.first]
	s.complete = true
	for i := range s.held {
		s.held[i].drop(k.spare)
	}
	c := k.call
	if k.each > 0 {
		for _, l := range g.others {
			g.enqueue(l, item{key: k, round: r.number, slice: slice, kind: wire.TypeSum,
				priority: c.priorityOr(0)})
		}
	}
	if c == nil || c.round != r.number {
		return
	}
	sum := k.added(r, slice)
	if placed {
		sum = nil
	}
	g.arrived(c, slice, sum)
}

// sumCame takes in the sum of a slice.
func (g *calls) sumCame(l *link, m *wire.Message) {
	k := g.keys[m.Key]
	if k == nil {
		return
	}
	if !k.fits(m) || len(m.Payload) == 0 {
		g.refuse(l, m)
		return
	}
	number := wire.CollectivePlaceOf(m).Round
	if c := k.pull; c != nil && c.round == number && !c.have[m.Slice] {
		g.take(c, m)
		return
	}
	c := k.call
	if c == nil || c.round != number || c.have[m.Slice] {
		return
	}
	if !k.own(m.Slice) {
		g.take(c, m)
		return
	}
	// A worker that takes over a place gets sums of its slices from others, to which its
	// predecessor has sent them.
	r := k.round(number)
	if s := &r.slices[m.Slice-k.first]; !s.complete {
		if copy(k.added(r, m.Slice), m.Payload); !wire.Intact(m.Owner) {
			s.next = 0 // the contributions are added up anew
			return
		}
		s.next = uint16(g.cfg.Workers)
		g.added(k, r, m.Slice, false)
	}
}
