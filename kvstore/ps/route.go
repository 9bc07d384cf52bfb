package ps

import "gomx/kvstore/wire"

// route is a worker's way to one shard.
//
// Pushes leave in the order of their sequences and are taken in by the server in that order. What was sent and not received is
// repeated from the first gap on; what was received and not committed is asked for by a probe, which carries no values.
type route struct {
	id       uint32
	epoch    uint64
	primary  wire.Replica
	lost     bool
	next     uint64 // sequence of the next push
	received uint64 // the primary has taken in all up to here
	flight   flight
	bytes    int     // sent and not received
	ready    []*part // pushes that have their turn, the next one last
	sent     Time    // last transmission of a push
	probed   Time
}

func newRoute(id uint32) *route {
	return &route{id: id, next: 1, flight: flight{window[part]{first: 1}}}
}

// flight is a queue of pushes with consecutive sequences. Those that are committed leave it from the front.
type flight struct{ window[part] }

// commit removes a push.
func (f *flight) commit(seq uint64) {
	if f.at(seq) == nil {
		return
	}
	f.ring[f.place(seq)] = nil
	for f.n > 0 && f.ring[f.head] == nil {
		f.pop()
	}
}

// redirect follows a shard to where a view says it lives.
func (w *Worker) redirect(r *route, place wire.Shard) {
	if place.Lost && !r.lost {
		r.lost = true
		w.out.event(EventLost, wire.Node{}, r.id, place.Epoch, "")
	}
	if place.Epoch < r.epoch || place.Epoch == r.epoch && place.Primary == r.primary {
		return
	}
	moved := place.Primary != r.primary || r.returned(place.Epoch)
	r.epoch, r.primary = place.Epoch, place.Primary
	if moved {
		r.received = 0
		r.passCommitted()
	}
	w.again(r)
}

// returned reports whether the primary, though it is the one we know, may have been another in the meantime: what it had taken in and
// not committed is forgotten then.
func (r *route) returned(epoch uint64) bool { return epoch > r.epoch+1 }

// again repeats everything that a shard's primary may not have.
func (w *Worker) again(r *route) {
	w.resend(r)
	for _, p := range w.slots {
		if p != nil && p.shard == r.id {
			w.sendAsk(p)
		}
	}
	w.pump(r)
}

// resend repeats pushes from the first that was not received on, within the credit.
func (w *Worker) resend(r *route) {
	r.bytes = 0
	for seq := max(r.flight.first, r.received+1); seq < r.flight.first+uint64(r.flight.n); seq++ {
		p := r.flight.at(seq)
		if p == nil {
			continue
		}
		if r.bytes > 0 && r.bytes+len(p.payload) > w.cfg.Credit {
			break
		}
		w.stats.Resends++
		w.sendPush(r, p, wire.FlagRetry)
	}
}

// enqueue gives a push its place behind others of the same slice.
func (w *Worker) enqueue(p *part) {
	p.slice.queue = append(p.slice.queue, p)
	w.turn(p.slice)
}

// turn lets pushes of a slice go, as many as the servers keep rounds for.
func (w *Worker) turn(sl *slice) {
	most := w.cfg.Ahead
	if sl.key.direct {
		most = w.cfg.Window
	}
	for len(sl.queue) > 0 && sl.flying < most {
		p := sl.queue[0]
		copy(sl.queue, sl.queue[1:])
		sl.queue[len(sl.queue)-1] = nil
		sl.queue = sl.queue[:len(sl.queue)-1]
		sl.flying++
		w.ready(p)
	}
}

// ready puts a push among those that leave when there is credit, sorted by priority. Pushes of one slice never overtake each other.
func (w *Worker) ready(p *part) {
	r := w.shards[p.shard]
	for _, other := range r.ready {
		if p.slice != nil && other.slice == p.slice {
			p.prio = min(p.prio, other.prio)
		}
	}
	r.ready = append(r.ready, p)
	for i := len(r.ready) - 1; i > 0; i-- {
		a, b := r.ready[i-1], r.ready[i]
		if a.prio < b.prio || a.prio == b.prio && a.order > b.order {
			break
		}
		r.ready[i-1], r.ready[i] = b, a
	}
	w.pump(r)
}

// pump sends what credit and window allow. A push gets its sequence when it leaves for the first time, and keeps it.
func (w *Worker) pump(r *route) {
	for len(r.ready) > 0 && !r.lost && r.epoch > 0 {
		p := r.ready[len(r.ready)-1]
		if r.next-r.flight.first >= uint64(w.cfg.Window) || r.bytes > 0 && r.bytes+len(p.payload) > w.cfg.Credit {
			return
		}
		r.ready[len(r.ready)-1] = nil
		r.ready = r.ready[:len(r.ready)-1]
		p.seq = r.next
		r.next++
		r.flight.push(p)
		w.sendPush(r, p, 0)
	}
}

func (w *Worker) sendPush(r *route, p *part, flags wire.Flags) {
	m := w.message(p.kind)
	m.Flags = p.flags | flags
	m.Shard, m.Epoch, m.Seq, m.Clock, m.Need = r.id, r.epoch, p.seq, p.clock, p.need
	m.Codec, m.Priority, m.Payload = p.codec, p.prio, p.payload
	if sl := p.slice; sl != nil {
		m.Key, m.Slice, m.Slices, m.DType, m.Total = sl.id.Key, sl.id.Slice, uint16(len(sl.key.slices)), uint8(sl.key.dtype), sl.key.total
	}
	p.at, r.sent = w.now, w.now
	r.bytes += len(p.payload)
	w.send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, p.lend(r.primary.Server))
}

// sendAsk sends a pull, or something else that is answered by name.
func (w *Worker) sendAsk(p *part) {
	r := w.shards[p.shard]
	p.at = w.now
	if r.epoch == 0 || r.lost {
		return
	}
	m := w.message(p.kind)
	m.Flags = p.flags
	if m.Type == wire.TypePushPull {
		m.Type, m.Flags = wire.TypePull, p.flags&wire.FlagExact
	}
	m.Shard, m.Epoch, m.Seq, m.Clock, m.Need = r.id, r.epoch, p.req, p.own, p.need
	if sl := p.slice; sl != nil {
		m.Key, m.Slice, m.Slices, m.DType, m.Total = sl.id.Key, sl.id.Slice, uint16(len(sl.key.slices)), uint8(sl.key.dtype), sl.key.total
		if !sl.key.direct && p.flags&wire.FlagExact == 0 && p.kind != wire.TypeInit {
			m.Need = max(m.Need, sl.seen)
		}
	}
	if p.kind == wire.TypeInit && p.slice.key.row > 0 {
		m.SetBlock(wire.Block{Row: uint64(p.slice.key.row), Size: p.slice.hi - p.slice.lo})
	}
	if p.kind == wire.TypeAskCursor && p.flags&wire.FlagStart != 0 {
		m.SetStartPoint(w.from)
	}
	var hold *Buffer
	if p.kind != wire.TypePushPull && len(p.payload) > 0 {
		m.Payload, hold = p.payload, p.lend(r.primary.Server)
	}
	w.send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, hold)
}

// probe asks what became of pushes that were received and are not committed.
func (w *Worker) probe(r *route) {
	m := w.message(wire.TypeProbe)
	m.Shard, m.Epoch, m.Seq = r.id, r.epoch, r.flight.first
	r.probed = w.now
	w.send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, nil)
}

// tickRoute repeats what has had no answer for too long.
func (w *Worker) tickRoute(r *route) {
	if r.epoch == 0 || r.lost {
		return
	}
	if r.flight.n > 0 {
		first, last := r.flight.at(r.flight.first), r.flight.first+uint64(r.flight.n)-1
		if r.received < last && w.now-r.sent >= w.timing.Resend {
			w.resend(r)
		}
		if r.received >= first.seq && w.now-max(r.probed, first.at) >= 2*w.timing.Resend {
			w.probe(r)
		}
	}
	for _, p := range w.slots {
		if p == nil || p.shard != r.id {
			continue
		}
		wait := w.timing.Resend
		if p.kind == wire.TypeInit || p.kind == wire.TypeOptimizer || p.kind == wire.TypeAskCursor {
			wait /= 4 // answered when another worker has done its part: nothing tells us
		}
		if w.now-p.at >= wait {
			w.stats.Resends++
			w.sendAsk(p)
		}
	}
}

// acked takes in what became of pushes.
func (w *Worker) acked(r *route, m *wire.Message) {
	acks, err := wire.DecodeAcks(m.Payload)
	if err != nil {
		w.out.event(EventRefused, m.From, m.Shard, m.Epoch, err.Error())
		return
	}
	a := m.Receipt()
	w.took(r, a.Received)
	if a.Probed && a.Received < r.received {
		// The primary does not have what we think it has, whyever: it is the one that knows.
		r.received = a.Received
		r.passCommitted()
		w.resend(r)
	}
	for i := range acks.Len() {
		seq, o := acks.At(i)
		w.commit(r, seq, o)
	}
	if a.Gap && r.flight.n > 0 && w.now-r.sent >= w.timing.Resend/8 {
		w.resend(r)
	}
	w.pump(r)
}

// took notes that the primary has taken in all pushes up to seq, which returns their credit.
func (w *Worker) took(r *route, seq uint64) {
	if seq <= r.received || seq >= r.next {
		return
	}
	for s := max(r.received+1, r.flight.first); s <= seq; s++ {
		if p := r.flight.at(s); p != nil {
			r.bytes -= len(p.payload)
		}
	}
	r.received = seq
	r.passCommitted()
	if r.bytes < 0 || seq == r.next-1 {
		r.bytes = 0
	}
}

// passCommitted moves received past pushes that are committed: every primary knows them.
func (r *route) passCommitted() {
	f := &r.flight
	r.received = max(r.received, f.first-1)
	for s := r.received + 1; s < f.first+uint64(f.n) && f.at(s) == nil; s++ {
		r.received = s
	}
}

// commit ends the push half of a part.
func (w *Worker) commit(r *route, seq uint64, o wire.Outcome) {
	p := r.flight.at(seq)
	if p == nil {
		return
	}
	if seq > r.received {
		r.bytes = max(0, r.bytes-len(p.payload))
	}
	r.flight.commit(seq)
	r.passCommitted()
	w.stats.Pushes++
	if o == wire.Late {
		w.stats.Late++
	}
	p.final = true
	p.call.outcome = max(p.call.outcome, o)
	p.call.clock = max(p.call.clock, p.clock)
	if sl := p.slice; sl != nil {
		sl.flying--
		w.turn(sl)
	}
	if p.kind != wire.TypePushPull || p.out == nil {
		w.finish(p)
		return
	}
	// The value is on its way; if not, it is asked for by name. Meanwhile the caller's values are not needed any more.
	w.fused(p)
}

// fused lets a part whose push is committed wait for its value under a name.
func (w *Worker) fused(p *part) {
	w.name(p)
	p.at = w.now
}
