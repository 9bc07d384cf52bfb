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
		spare.lent -= len(h.values)
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
	if !wire.Keeps(m.Owner) {
		buf = spare.get(len(m.Payload))
	}
	h.values, h.owner = m.Take(buf)
	h.copied = h.owner == nil
	if !h.copied {
		spare.lent += len(h.values)
	}
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
	early := k.long && wire.Keeps(m.Owner) && k.spare.lent < l.patience()
	if early {
		h.keep(m, k.spare)
	}
	g.feed(k, r, m.Slice)
	if h.values != nil && !early {
		h.keep(m, k.spare)
	}
}

// patience returns the number of bytes of contributions in memory of the transport up to which more
// of them wait there, so that all contributions to a slice are added up at once. Received from a
// socket, more would leave the caches meanwhile.
func (l *link) patience() int {
	if l.shared {
		return 8 << 20
	}
	return 2 << 20
}

// feed adds the contributions to an own slice that are next in the order of the ranks, if it is not
// better that they wait for more. The first ones are added into the memory of the sum, so that none
// of them is copied.
func (g *calls) feed(k *key, r *round, slice uint16) {
	s := &r.slices[slice-k.first]
	placed := false // the sum is in the call's memory too
	for int(s.next) < g.cfg.Workers {
		if !g.gatherNext(k, r, slice) {
			return
		}
		placed = g.add(k, r, slice)
	}
	g.added(k, r, slice, placed)
}

// gatherNext collects the contributions that are next, behind the sum of those before them, and
// reports whether it is time to add them up. Those that stay where they are wait for the rest: all
// of a long key, because values then pass through the caches once; of others the first, for a
// second one.
func (g *calls) gatherNext(k *key, r *round, slice uint16) bool {
	s := &r.slices[slice-k.first]
	g.parts = g.parts[:0]
	if s.next > 0 {
		g.parts = append(g.parts, k.added(r, slice))
	}
	stay, rank := true, s.next
	for ; int(rank) < g.cfg.Workers; rank++ {
		values := g.ready(k, r, slice, rank)
		if values == nil {
			break
		}
		g.parts = append(g.parts, values)
		stay = stay && (rank == g.cfg.Rank || s.held[rank].owner != nil)
	}
	n := rank - s.next
	return int(rank) == g.cfg.Workers || n > 0 && !(stay && (k.long || rank == 1))
}

// add adds up the gathered parts in the memory of the sum. The sum of all contributions goes to the
// memory of the call too, which it reports, if it would not be in a cache any more when the whole
// slice has been added up.
func (g *calls) add(k *key, r *round, slice uint16) (placed bool) {
	s, c := &r.slices[slice-k.first], k.call
	n := len(g.parts)
	if s.next > 0 {
		n--
	}
	var out []byte
	last := int(s.next)+n == g.cfg.Workers
	if last && k.long && c != nil && c.round == r.number && !c.have[slice] {
		out = k.part(c.out, slice)
	}
	g.cfg.Arithmetic.Sum(k.added(r, slice), out, g.parts, k.spec.DType)
	for range n {
		s.held[s.next].drop(k.spare)
		s.next++
	}
	return out != nil
}

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
