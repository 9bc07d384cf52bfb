package worker

import (
	"bytes"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// failing ends calls that cannot end well.
//
// The memory of a call is the caller's again when the call ends. So a failed call ends only when no
// transport reads that memory. The worker cannot make a transport hurry: it asks the driver to drop
// the connection (Outbox.Recall), and goes on with copies.
type failing struct {
	*agent
	*calls
	*routes
}

// fail gives a call an error. It ends when no transport reads its memory any more, which is
// recalled: at once, or when connections have been dropped. The error names the node that the call
// waits for, and the node for which that one waits, as far as is known.
func (fa *failing) fail(c *call, err error) {
	if c.ended || c.err != nil {
		return
	}
	e := &ps.Error{Op: c.op, Key: c.key, Peer: fa.blame(c), Waits: c.waits, Err: err}
	if w := c.single.waits; w != nil && e.Waits.IsZero() {
		e.Waits = w()
	}
	c.err = e
	// The parts end one by one below, and the last of them would end the call.
	c.left, c.held = c.left+1, c.held+1 // so that it does not end while its parts do
	fa.detach(c)
	c.left, c.held = c.left-1, c.held-1
	if c.held == 0 {
		fa.end(c, c.err)
		return
	}
	fa.recall(c)
}

// recall asks for the memory of a call that a transport reads: the driver drops the connections to
// the servers that messages with it have gone to.
func (fa *failing) recall(c *call) {
	for _, p := range fa.lent {
		if p.call == c {
			fa.me.Out.TakeBack(p.lent)
		}
	}
}

// expire ends a call whose deadline has passed. One that is done but for its memory does not fail:
// its result is there, and the memory is called back.
func (fa *failing) expire(c *call) {
	switch {
	case c.left > c.held:
		fa.fail(c, ps.ErrTimeout)
	case !c.over:
		c.over = true
		fa.recall(c)
	}
}

// failAll ends all calls. Ending one may end others, or begin none: the list is gone through from
// the last on.
func (fa *failing) failAll(err error) {
	for i := len(fa.open) - 1; i >= 0; i-- {
		if i < len(fa.open) {
			fa.fail(fa.open[i], err)
		}
	}
}

// blame returns the node that a call waits for: the server of the first push that is not committed,
// or of the first question without an answer.
func (fa *failing) blame(c *call) wire.Node {
	if !c.single.peer.IsZero() {
		return c.single.peer
	}
	for _, r := range fa.shards {
		for i := range r.flight.Len() {
			if p := r.flight.At(r.flight.First + uint64(i)); p != nil && p.call == c && !p.done {
				return wire.Node{Role: wire.Server, Rank: r.primary.Server}
			}
		}
		for _, p := range r.ready { // that wait for credit
			if p.call == c {
				return wire.Node{Role: wire.Server, Rank: r.primary.Server}
			}
		}
	}
	for _, p := range fa.slots {
		if p != nil && p.call == c {
			return wire.Node{Role: wire.Server, Rank: fa.shards[p.shard].primary.Server}
		}
	}
	for _, sl := range fa.slices {
		for _, p := range sl.queue {
			if p.call == c {
				return wire.Node{Role: wire.Server, Rank: fa.inFront(p).primary.Server}
			}
		}
	}
	return wire.Node{}
}

// inFront returns the shard that a push waits for before it may leave: the first with a push of an
// earlier clock that is not committed, or else its own.
func (fa *failing) inFront(p *part) *route {
	for _, r := range fa.shards {
		for i := range r.flight.Len() {
			q := r.flight.At(r.flight.First + uint64(i))
			if q != nil && q.slice != nil && !q.slice.key.direct && q.clock < p.clock {
				return r
			}
		}
	}
	return fa.shards[p.shard]
}

// detach frees the caller's memory of a call that ends early. Pulls are forgotten; pushes go on
// with a copy of their values, because a sequence that a server waits for cannot be taken back.
func (fa *failing) detach(c *call) {
	if c.vacate() {
		c.left--
	}
	// Pulls and questions have no effect on servers: their answers will find nothing.
	for i := range fa.slots {
		if p := fa.slots[i]; p != nil && p.call == c {
			fa.finish(p)
		}
	}
	for _, r := range fa.shards {
		for i := range r.flight.Len() {
			seq := r.flight.First + uint64(i)
			if p := r.flight.At(seq); p != nil && p.call == c {
				r.flight.Set(seq, fa.keep(p))
			}
		}
		fa.keepAll(c, r.ready)
	}
	for _, sl := range fa.slices {
		fa.keepAll(c, sl.queue)
	}
}

// keepAll keeps the pushes of a call in a list of pushes that have not been sent, in their places.
func (fa *failing) keepAll(c *call, list []*part) {
	for i, p := range list {
		if p.call == c {
			list[i] = fa.keep(p)
		}
	}
}

// keep lets a push whose call has failed go on with a copy of its values. When a transport still
// reads the caller's, a twin goes on in its stead, with the same sequence, clock and place in the
// order. The result has nowhere to go, and is not asked for.
func (fa *failing) keep(p *part) *part {
	p.out = nil
	switch {
	case p.kept:
		return p
	case p.refs == 0:
		p.payload, p.kept = bytes.Clone(p.payload), true
		return p
	}
	// The part itself stays with the transport that reads its memory, until that comes back.
	t := fa.newPart(p.call, p.kind, p.shard)
	t.slice, t.seq, t.clock, t.need, t.own = p.slice, p.seq, p.clock, p.need, p.own
	t.flags, t.codec, t.prio, t.order, t.at = p.flags, p.codec, p.prio, p.order, p.at
	t.payload, t.kept = bytes.Clone(p.payload), true
	fa.finish(p)
	return t
}
