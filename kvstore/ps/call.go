package ps

import (
	"bytes"
	"fmt"
	"slices"

	"gomx/kvstore/wire"
)

// call is something that a program waits for. It ends when all its parts have.
type call struct {
	id       uint64
	op       string
	key      uint32
	began    Time
	deadline Time
	left     int
	held     int   // parts whose memory, the caller's, a transport reads
	err      error // it has failed, and ends when nothing of it is held
	outcome  wire.Outcome
	clock    uint64
	ended    bool // reported; parts that are left go on without it
	waits    wire.Node
	told     bool // of a long wait
	over     bool // its deadline has passed, and all that is missing is its memory
}

// part is what a call wants of one shard.
type part struct {
	call    *call
	kind    wire.Type // TypePush, TypePushPull, TypeTick, TypePull, TypeInit, TypeOptimizer, TypeAskCursor
	slice   *slice
	shard   uint32
	seq     uint64 // of a push, once it has its turn
	slot    int    // of what is answered by name, -1 for pushes
	req     uint64 // name of that
	clock   uint64
	need    uint64
	own     uint64
	flags   wire.Flags
	codec   uint8
	prio    int8
	order   uint64
	payload []byte
	out     []byte // where a value goes
	index   []uint32
	at      Time // last transmission
	done    bool
	final   bool // committed; a fused part then waits for its value
	buf     Buffer
	lent    []uint16 // servers that messages with the payload have gone to since it was last lent to nobody
	kept    bool     // the payload is the worker's own
}

func (w *Worker) newPart(c *call, kind wire.Type, shard uint32) *part {
	var p *part
	if n := len(w.parts); n > 0 {
		p = w.parts[n-1]
		w.parts = w.parts[:n-1]
	} else {
		p = &part{}
	}
	*p = part{call: c, kind: kind, shard: shard, slot: -1, index: p.index[:0], lent: p.lent[:0], buf: Buffer{Back: p.buf.Back}}
	p.buf.part = p
	c.left++
	w.order++
	p.order = w.order
	return p
}

func (w *Worker) newCall(now Time, op string, key uint32, deadline Time) *call {
	w.start(now)
	var c *call
	if n := len(w.spare); n > 0 {
		c = w.spare[n-1]
		w.spare = w.spare[:n-1]
	} else {
		c = &call{}
	}
	if deadline <= 0 {
		deadline = now + w.cfg.Timeout
	}
	w.lastID++
	*c = call{id: w.lastID, op: op, key: key, began: now, deadline: deadline}
	w.calls = append(w.calls, c)
	return c
}

// lend notes that a message to a server refers to the part's memory.
func (p *part) lend(server uint16) *Buffer {
	if p.buf.refs == 0 {
		p.lent = p.lent[:0]
	}
	p.buf.refs++
	if !slices.Contains(p.lent, server) {
		p.lent = append(p.lent, server)
	}
	return &p.buf
}

// sent gives back one reference of a transport to the part's memory.
func (p *part) sent() {
	p.buf.refs--
}

// finish ends a part. Where a transport still reads the caller's memory its call goes on until that is back.
func (w *Worker) finish(p *part) {
	p.done = true
	if p.slot >= 0 {
		w.slots[p.slot] = nil
		w.unused = append(w.unused, p.slot)
		p.slot = -1
	}
	lent := p.buf.refs > 0
	if lent {
		w.lent = append(w.lent, p)
	}
	if lent && !p.kept {
		p.call.held++
		return
	}
	w.leave(p)
	if !lent {
		w.retire(p)
	}
}

// leave ends what a part has to do with its call.
func (w *Worker) leave(p *part) {
	c := p.call
	p.call = nil
	c.left--
	if c.left == 0 || c.err != nil && c.held == 0 {
		w.end(c, c.err)
	}
}

// retire takes back a part that is done and lent to nobody.
func (w *Worker) retire(p *part) {
	p.payload, p.out, p.slice = nil, nil, nil
	w.parts = append(w.parts, p)
}

// reap retires parts whose memory has come back.
func (w *Worker) reap() {
	kept := w.lent[:0]
	for _, p := range w.lent {
		if p.buf.refs > 0 {
			kept = append(kept, p)
			continue
		}
		if p.call != nil {
			p.call.held--
			w.leave(p)
		}
		w.retire(p)
	}
	w.lent = kept
}

// end reports how a call ended.
func (w *Worker) end(c *call, err error) {
	if !c.ended {
		c.ended = true
		if c == w.joining {
			w.joining = nil // who has it next is another call
		}
		w.out.Done = append(w.out.Done, Done{ID: c.id, Err: err, Outcome: c.outcome, Clock: c.clock})
		for i, other := range w.calls {
			if other == c {
				last := len(w.calls) - 1
				w.calls[i] = w.calls[last]
				w.calls[last] = nil
				w.calls = w.calls[:last]
				break
			}
		}
	}
	if c.left == 0 {
		w.spare = append(w.spare, c)
	}
}

// fail gives a call an error. It ends when no transport reads its memory any more, which is recalled: at once, or when connections
// have been dropped.
func (w *Worker) fail(c *call, err error) {
	if c.ended || c.err != nil {
		return
	}
	e := &Error{Op: c.op, Key: c.key, Peer: w.blame(c), Waits: c.waits, Err: err}
	if c == w.joining && e.Waits.IsZero() {
		e.Waits = w.blameJoin()
	}
	c.err = e
	c.left, c.held = c.left+1, c.held+1 // so that it does not end while its parts do
	w.detach(c)
	c.left, c.held = c.left-1, c.held-1
	if c.held == 0 {
		w.end(c, c.err)
		return
	}
	w.recall(c)
}

// recall asks for the memory of a call that a transport reads.
func (w *Worker) recall(c *call) {
	for _, p := range w.lent {
		if p.call == c {
			w.out.recall(p.lent)
		}
	}
}

// expire ends a call whose deadline has passed. One that is done but for its memory does not fail.
func (w *Worker) expire(c *call) {
	switch {
	case c.left > c.held:
		w.fail(c, ErrTimeout)
	case !c.over:
		c.over = true
		w.recall(c)
	}
}

// failAll ends all calls.
func (w *Worker) failAll(err error) {
	for i := len(w.calls) - 1; i >= 0; i-- {
		if i < len(w.calls) {
			w.fail(w.calls[i], err)
		}
	}
}

// blame returns the node that a call waits for.
func (w *Worker) blame(c *call) wire.Node {
	if c == w.barrier || c == w.snap || c == w.joining && len(w.shards) == 0 {
		return scheduler
	}
	for _, r := range w.shards {
		for i := range r.flight.n {
			if p := r.flight.at(r.flight.first + uint64(i)); p != nil && p.call == c && !p.done {
				return wire.Node{Role: wire.Server, Rank: r.primary.Server}
			}
		}
	}
	for _, p := range w.slots {
		if p != nil && p.call == c {
			return wire.Node{Role: wire.Server, Rank: w.shards[p.shard].primary.Server}
		}
	}
	return wire.Node{}
}

// detach frees the caller's memory of a call that ends early. What is pulled is forgotten; pushes go on with a copy of their
// values, because a sequence that a server waits for cannot be taken back.
func (w *Worker) detach(c *call) {
	switch c {
	case w.barrier:
		w.barrier = nil
		c.left--
	case w.snap:
		w.snap = nil
		c.left--
	case w.joining:
		w.joining = nil
		c.left--
	}
	for i := range w.slots {
		if p := w.slots[i]; p != nil && p.call == c {
			w.finish(p)
		}
	}
	for _, r := range w.shards {
		for i := range r.flight.n {
			seq := r.flight.first + uint64(i)
			if p := r.flight.at(seq); p != nil && p.call == c {
				r.flight.set(seq, w.keep(p))
			}
		}
		w.keepAll(c, r.ready)
	}
	for _, k := range w.keys {
		for _, sl := range k.slices {
			w.keepAll(c, sl.queue)
		}
	}
}

// keepAll keeps those pushes of a list that are of a call. They have not been sent.
func (w *Worker) keepAll(c *call, list []*part) {
	for i, p := range list {
		if p.call == c {
			list[i] = w.keep(p)
		}
	}
}

// keep lets a push whose call has failed go on with a copy of its values. When a transport still reads the caller's a twin goes on in
// its stead.
func (w *Worker) keep(p *part) *part {
	p.out = nil
	switch {
	case p.kept:
		return p
	case p.buf.refs == 0:
		p.payload, p.kept = bytes.Clone(p.payload), true
		return p
	}
	t := w.newPart(p.call, p.kind, p.shard)
	t.slice, t.seq, t.clock, t.need, t.own = p.slice, p.seq, p.clock, p.need, p.own
	t.flags, t.codec, t.prio, t.order, t.at = p.flags, p.codec, p.prio, p.order, p.at
	t.payload, t.kept = bytes.Clone(p.payload), true
	w.finish(p)
	return t
}

// ask registers a part that is answered by name and sends it.
func (w *Worker) ask(p *part) {
	w.name(p)
	w.sendAsk(p)
}

// name gives a part the name by which an answer finds it.
func (w *Worker) name(p *part) {
	if n := len(w.unused); n > 0 {
		p.slot = w.unused[n-1]
		w.unused = w.unused[:n-1]
	} else {
		p.slot = len(w.slots)
		w.slots = append(w.slots, nil)
	}
	w.slots[p.slot] = p
	w.lastReq++
	p.req = w.lastReq<<20 | uint64(p.slot)
}

// asking returns the part that an answer names.
func (w *Worker) asking(req uint64) *part {
	slot := int(req & (1<<20 - 1))
	if slot >= len(w.slots) || w.slots[slot] == nil || w.slots[slot].req != req {
		return nil
	}
	return w.slots[slot]
}

// meant returns the part that a server's word about a message is about: one of a type and a number.
func (w *Worker) meant(r *route, t wire.Type, seq uint64) *part {
	switch t {
	case wire.TypePush, wire.TypePushPull, wire.TypeTick, wire.TypeProbe:
		return r.flight.at(seq)
	}
	return w.asking(seq)
}

// usage makes an error for a call that makes no sense.
func usage(op string, key uint32, format string, args ...any) error {
	return &Error{Op: op, Key: key, Err: fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))}
}
