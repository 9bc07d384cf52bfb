package worker

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// routes sends the parts of calls to the shards, and takes in the outcomes of pushes.
//
// A push passes four stations: the queue of its slice, until servers have room for its round; the
// ready list of its route, until there is credit; the flight, until it is committed; and, where it
// is fused with a pull, a slot, until its value is there.
type routes struct {
	*agent
	*calls
	shards      []*route // by shard
	slices      []*slice // of all keys: pushes may wait in their queues
	uncommitted tally    // pushes in rounds that have begun, by clock
}

// redirect follows a shard to where a view says it lives. A new primary knows the pushes in its log
// and no others: everything that is not committed is sent again, with the same sequences.
func (rt *routes) redirect(r *route, place wire.Shard) {
	if place.Lost && !r.lost {
		r.lost = true
		rt.me.Out.Report(ps.EventLost, wire.Node{}, r.id, place.Epoch, "")
	}
	if place.Epoch < r.epoch || place.Epoch == r.epoch && place.Primary == r.primary {
		return
	}
	moved := place.Primary != r.primary || r.returned(place.Epoch)
	r.epoch, r.primary = place.Epoch, place.Primary
	// A new primary, or one that has been a backup meanwhile, remembers the pushes in its log only.
	if moved {
		r.received = 0
		r.passCommitted()
	}
	rt.again(r)
}

// again repeats everything that a shard's primary may not have: pushes under their old sequences,
// and questions under their old names.
func (rt *routes) again(r *route) {
	rt.resend(r)
	for _, p := range rt.slots {
		if p != nil && p.shard == r.id {
			rt.sendAsk(p)
		}
	}
	rt.pump(r)
}

// resend repeats pushes from the first that was not received on, within the credit. The first is
// sent even if it is larger than the credit: otherwise it would never be sent.
func (rt *routes) resend(r *route) {
	r.bytes = 0
	for seq := max(r.flight.First, r.received+1); seq < r.flight.First+uint64(
		r.flight.Len()); seq++ {
		p := r.flight.At(seq)
		if p == nil {
			continue
		}
		if r.bytes > 0 && r.bytes+len(p.payload) > rt.cfg.Credit {
			break
		}
		rt.stats.Resends++
		rt.sendPush(r, p, wire.FlagRetry)
	}
}

// enqueue gives a push its place behind others of the same slice. Pushes keep the order of the
// calls, which is the order of the clocks.
func (rt *routes) enqueue(p *part) {
	p.slice.queue = append(p.slice.queue, p)
	if !p.slice.key.direct {
		rt.uncommitted.add(p.clock)
	}
	rt.turn(p.slice)
}

// early reports whether a push in a round must wait until the worker's pushes to other slices in
// the round before are committed. A process that takes over continues behind the slice that has
// fewest committed pushes and pulls that version of every slice, and servers keep one version
// beside the last: so no slice may be two rounds ahead of another.
func (rt *routes) early(p *part) bool {
	sl := p.slice
	if sl.key.direct || rt.loose() {
		return false
	}
	before := rt.uncommitted.count(p.clock - 1)
	if sl.flying > 0 {
		before-- // the slice's own
	}
	return before > 0
}

// closed notes that a push in a round is committed, and lets pushes go that waited for it.
func (rt *routes) closed(clock uint64) {
	rt.uncommitted.drop(clock)
	if rt.loose() || rt.uncommitted.count(clock) > 1 {
		return
	}
	for _, sl := range rt.slices {
		if len(sl.queue) > 0 && sl.queue[0].clock == clock+1 {
			rt.turn(sl)
		}
	}
}

// turn lets pushes of a slice go, as many as the servers keep rounds for.
func (rt *routes) turn(sl *slice) {
	most := rt.cfg.Ahead
	if sl.key.direct {
		most = rt.cfg.Window
	}
	for len(sl.queue) > 0 && sl.flying < most && !rt.early(sl.queue[0]) {
		p := sl.queue[0]
		copy(sl.queue, sl.queue[1:])
		sl.queue[len(sl.queue)-1] = nil
		sl.queue = sl.queue[:len(sl.queue)-1]
		sl.flying++
		rt.ready(p)
	}
}

// ready puts a push into the list of pushes that leave when there is credit, sorted by priority.
// Pushes of one slice never overtake each other.
func (rt *routes) ready(p *part) {
	r := rt.shards[p.shard]
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
	rt.pump(r)
}

// pump sends as many pushes as credit and window allow. A push gets its sequence when it leaves for
// the first time, and keeps it.
func (rt *routes) pump(r *route) {
	for len(r.ready) > 0 && !r.lost && r.epoch > 0 {
		p := r.ready[len(r.ready)-1]
		if r.next-r.flight.First >= uint64(rt.cfg.Window) || r.bytes > 0 &&
			r.bytes+len(p.payload) > rt.cfg.Credit {
			return
		}
		r.ready[len(r.ready)-1] = nil
		r.ready = r.ready[:len(r.ready)-1]
		// From here on the push cannot be taken back: the server waits for its number.
		p.seq = r.next
		r.next++
		r.flight.Push(p)
		rt.sendPush(r, p, 0)
	}
}

// sendPush sends a push, for the first time or again. The message refers to the caller's memory,
// which is lent until the transport is done with it.
func (rt *routes) sendPush(r *route, p *part, flags wire.Flags) {
	m := rt.me.Message(p.kind)
	m.Flags = p.flags | flags
	m.Shard, m.Epoch, m.Seq, m.Clock, m.Need = r.id, r.epoch, p.seq, p.clock, p.need
	m.Codec, m.Priority, m.Payload = p.codec, p.prio, p.payload
	if sl := p.slice; sl != nil {
		m.Key, m.Slice, m.Slices, m.DType, m.Total = sl.id.Key, sl.id.Slice,
			uint16(len(sl.key.slices)), uint8(sl.key.dtype), sl.key.total
	}
	p.at, r.sent = rt.now, rt.now
	r.bytes += len(p.payload)
	rt.me.Send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, p.lend(r.primary.Server))
}

// ask registers a part that is answered by name and sends it.
func (rt *routes) ask(p *part) {
	rt.name(p)
	rt.sendAsk(p)
}

// sendAsk sends a pull, or something else that is answered by name. A pull asks for no older
// version than the slice has shown before, so that values do not go back when a message was late.
// The pull half of a fused push is asked for alone once its push is committed.
func (rt *routes) sendAsk(p *part) {
	r := rt.shards[p.shard]
	p.at = rt.now
	if r.epoch == 0 || r.lost {
		return
	}
	m := rt.me.Message(p.kind)
	m.Flags = p.flags
	if m.Type == wire.TypePushPull {
		m.Type, m.Flags = wire.TypePull, p.flags&wire.FlagExact
	}
	m.Shard, m.Epoch, m.Seq, m.Clock, m.Need = r.id, r.epoch, p.req, p.own, p.need
	if sl := p.slice; sl != nil {
		m.Key, m.Slice, m.Slices, m.DType, m.Total = sl.id.Key, sl.id.Slice,
			uint16(len(sl.key.slices)), uint8(sl.key.dtype), sl.key.total
		if !sl.key.direct && p.flags&wire.FlagExact == 0 && p.kind != wire.TypeInit {
			m.Need = max(m.Need, sl.seen)
		}
	}
	if p.kind == wire.TypeAskCursor && p.flags&wire.FlagStart != 0 {
		m.SetStartPoint(wire.StartPoint{Round: p.own, Push: p.need, Step: p.clock})
	}
	var hold *ps.Loan
	if p.kind != wire.TypePushPull && len(p.payload) > 0 {
		m.Payload, hold = p.payload, p.lend(r.primary.Server)
	}
	rt.me.Send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, hold)
}

// probe asks for the outcomes of pushes that were received and are not committed. It costs a
// header, where repeating the pushes would cost their values; the answer also tells which pushes
// the primary has.
func (rt *routes) probe(r *route) {
	m := rt.me.Message(wire.TypeProbe)
	m.Shard, m.Epoch, m.Seq = r.id, r.epoch, r.flight.First
	r.probed = rt.now
	rt.me.Send(wire.Node{Role: wire.Server, Rank: r.primary.Server}, m, nil)
}

// tickRoute repeats messages that have had no answer for too long: pushes from the first gap on,
// pushes that were received by a probe, questions one by one.
func (rt *routes) tickRoute(r *route) {
	if r.epoch == 0 || r.lost {
		return
	}
	if r.flight.Len() > 0 {
		first, last := r.flight.At(r.flight.First), r.flight.First+uint64(r.flight.Len())-1
		if r.received < last && rt.now-r.sent >= rt.me.Timing.Resend {
			rt.resend(r)
		}
		if r.received >= first.seq && rt.now-max(r.probed, first.at) >= 2*rt.me.Timing.Resend {
			rt.probe(r)
		}
	}
	for _, p := range rt.slots {
		if p == nil || p.shard != r.id {
			continue
		}
		// A lost message and a long wait look alike from here. Repeating is cheap: servers keep one
		// of each question, and answer a repeated one with the node that it waits for.
		wait := rt.me.Timing.Resend
		if p.kind == wire.TypeInit || p.kind == wire.TypeOptimizer || p.kind == wire.TypeAskCursor {
			wait /= 4 // answered when another worker has done its part: nothing tells us
		}
		if rt.now-p.at >= wait {
			rt.stats.Resends++
			rt.sendAsk(p)
		}
	}
}

// acked takes in the outcomes of pushes. A receipt that says less than the one before is old,
// unless it answers a probe. A gap is repaired at once, if pushes have not been sent a moment ago.
func (rt *routes) acked(r *route, m *wire.Message) {
	acks, err := wire.DecodeAcks(m.Payload)
	if err != nil {
		rt.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch, err.Error())
		return
	}
	a := m.Receipt()
	rt.took(r, a.Received)
	if a.Probed && a.Received < r.received {
		// The primary lacks pushes that it once said it had: it is the one that knows.
		r.received = a.Received
		r.passCommitted()
		rt.resend(r)
	}
	for i := range acks.Len() {
		seq, o := acks.At(i)
		rt.commit(r, seq, o)
	}
	if a.Gap && r.flight.Len() > 0 && rt.now-r.sent >= rt.me.Timing.Resend/8 {
		rt.resend(r)
	}
	rt.pump(r)
}

// took notes that the primary has taken in all pushes up to seq, which returns their credit: credit
// is for bytes on their way, and so workers that push in different orders never wait for each
// other.
func (rt *routes) took(r *route, seq uint64) {
	if seq <= r.received || seq >= r.next {
		return
	}
	for s := max(r.received+1, r.flight.First); s <= seq; s++ {
		if p := r.flight.At(s); p != nil {
			r.bytes -= len(p.payload)
		}
	}
	r.received = seq
	r.passCommitted()
	if r.bytes < 0 || seq == r.next-1 {
		r.bytes = 0
	}
}

// commit ends the push half of a part. Its slice may send the next push, and the credit of a push
// that was never said to be received returns.
func (rt *routes) commit(r *route, seq uint64, o wire.Outcome) {
	p := r.flight.At(seq)
	if p == nil {
		return
	}
	if seq > r.received {
		r.bytes = max(0, r.bytes-len(p.payload))
	}
	r.flight.commit(seq)
	r.passCommitted()
	rt.stats.Pushes++
	if o == wire.Late {
		rt.stats.Late++
	}
	p.final = true
	p.call.outcome = max(p.call.outcome, o)
	p.call.clock = max(p.call.clock, p.clock)
	if sl := p.slice; sl != nil {
		sl.flying--
		if !sl.key.direct {
			rt.closed(p.clock)
		}
		rt.turn(sl)
	}
	if p.kind != wire.TypePushPull || p.out == nil {
		rt.finish(p)
		return
	}
	// The value is on its way; if not, it is asked for by name. Meanwhile the caller's values are
	// not needed any more.
	rt.fused(p)
}

// fused lets a part whose push is committed wait for its value under a name: it has left the
// flight, in which the value would have found it. A value that is under way finds it by sequence
// (calls.waiting).
func (rt *routes) fused(p *part) {
	rt.name(p)
	p.at = rt.now
}

// meant returns the part that a server's word about a message is about: one of a type and a number.
func (rt *routes) meant(r *route, t wire.Type, seq uint64) *part {
	switch t {
	case wire.TypePush, wire.TypePushPull, wire.TypeProbe:
		return r.flight.At(seq)
	}
	return rt.asking(seq)
}

// tally counts things by clock. It is made for few clocks at a time, as many as rounds are open,
// and so looks through them.
type tally []tallied

type tallied struct {
	clock uint64
	n     int // above 0
}

// add counts one more.
func (t *tally) add(clock uint64) {
	for i := range *t {
		if (*t)[i].clock == clock {
			(*t)[i].n++
			return
		}
	}
	*t = append(*t, tallied{clock, 1})
}

// drop counts one less.
func (t *tally) drop(clock uint64) {
	list := *t
	for i := range list {
		if list[i].clock != clock {
			continue
		}
		if list[i].n--; list[i].n == 0 {
			list[i] = list[len(list)-1]
			*t = list[:len(list)-1]
		}
		return
	}
}

// count returns how many there are.
func (t tally) count(clock uint64) int {
	for i := range t {
		if t[i].clock == clock {
			return t[i].n
		}
	}
	return 0
}

// waitingFor returns the call that a server's word about a message is about, nil if it has ended.
func (rt *routes) waitingFor(r *route, m *wire.Message) *call {
	x := m.Wait()
	p := rt.meant(r, x.Of, x.Seq)
	if p == nil || p.shard != r.id {
		return nil
	}
	return p.call
}
