package worker

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// call is something that a program waits for. It ends when all its parts have.
//
// Invariants:
//  1. left counts the parts that belong to the call, and the reasons beside them that keep it open.
//  2. held counts the parts among them that are done but for memory that a transport reads.
//  3. A call is in calls.open until it is reported (ended).
type call struct {
	id       uint64       // that the program was given
	op       string       // name of the call in errors
	key      uint32       // that it is about, or ps.NoKey
	began    ps.Time      // clock at which it was made
	deadline ps.Time      // clock at which it fails
	left     int          // parts that have not ended
	held     int          // parts whose memory, the caller's, a transport reads
	err      error        // it has failed, and ends when nothing of it is held
	outcome  wire.Outcome // highest outcome of its pushes so far
	clock    uint64       // highest round or version of its parts so far
	ended    bool         // reported; parts that are left go on without it
	waits    wire.Node    // node that the peer waits for, as it has said last
	told     bool         // of a long wait
	over     bool         // its deadline has passed, and all that is missing is its memory
	single   single
}

// single marks a call of which there is one at a time: the join, a barrier, a snapshot. Such a call
// has no parts on shards, or one part more than these: it ends when the scheduler has answered.
type single struct {
	place **call           // where its part of the worker keeps it; nil: the call is none of these
	peer  wire.Node        // waited for, nobody while the shards are
	waits func() wire.Node // node for which the peer waits, when it has not said so; nil: unknown
}

// vacate leaves the place of a call of which there is one at a time. It reports whether the call
// had it.
func (c *call) vacate() bool {
	if c.single.place == nil {
		return false
	}
	*c.single.place = nil // another call may have it now
	c.single.place = nil
	return true
}

// part is the share of one shard in a call.
//
// A push has a sequence and waits for its outcome; all other parts have a name and wait for an
// answer. A fused push and pull is a push first, and gets a name when it is committed before its
// value came.
type part struct {
	call *call // nil once the part has left it
	// TypePush, TypePushPull, TypePull, TypeInit, TypeOptimizer, TypeAskCursor
	kind  wire.Type
	slice *slice // of the key; nil where the call is about a whole shard
	shard uint32
	seq   uint64 // of a push, once it has its turn; 0 before
	slot  int    // place in calls.slots of a part whose answer names it; -1: none
	req   uint64 // name of the part in its answer
	demand
	prio  int8    // higher goes first
	order uint64  // number of the part among all parts of the worker: older ones go first
	at    ps.Time // last transmission
	done  bool    // nothing is to be sent or awaited any more
	final bool    // committed; a fused part then waits for its value
	borrowed
}

// demand is the content of a part's messages beside the values, as wire.Message has it.
type demand struct {
	clock uint64 // of a push: its number for the slice
	need  uint64 // of a pull: lowest version that answers it
	// of a pull: pushes of this worker that the answer must contain; of a table's init: steps
	// before
	own   uint64
	flags wire.Flags
	codec uint8 // encoding of the payload
}

// borrowed is the memory of a part. It is the caller's, and lent on to the transport, unless the
// worker has made a copy.
type borrowed struct {
	payload []byte   // values of a push
	out     []byte   // room for the value of a pull; nil: the value is dropped
	index   []uint32 // of a read of rows: places in out, in rows (reading)
	loan    ps.Loan  // of payload, which messages under way hold
	refs    int      // messages under way that refer to payload
	// servers that messages with the payload have gone to since it was last lent to nobody
	lent []uint16
	kept bool // payload is the worker's own
}

// lend notes that a message to a server refers to the payload.
func (b *borrowed) lend(server uint16) *ps.Loan {
	if b.refs == 0 {
		b.lent = b.lent[:0]
	}
	b.refs++
	if !slices.Contains(b.lent, server) {
		b.lent = append(b.lent, server)
	}
	return &b.loan
}

// Returned takes back one reference of a transport to the payload.
func (b *borrowed) Returned() {
	b.refs--
}

// calls keeps the calls that have not ended, and the parts that they are made of. Memory of both is
// used again, so that pushing and pulling allocate nothing.
//
// A part is in one place at a time: in the queue of its slice, ready on its route, in flight, in a
// slot, among the lent ones, or unused (Worker.Audit checks it).
type calls struct {
	*agent
	open      []*call // in no order
	idleCalls []*call // not in use
	lastID    uint64  // identifier of the last call
	slots     []*part // parts that wait for an answer which names them; nil: free
	unused    []int   // free slots
	lastReq   uint64  // names given
	lent      []*part // parts that are done, whose memory a transport still reads
	idle      []*part // not in use
	order     uint64  // parts made
}

// start begins a reaction. Where the worker has stood still, answers wait that its calls must see
// before they run out of time: deadlines are put off by the time in which others would have given
// the worker up.
func (cs *calls) start(now ps.Time) {
	cs.now = now
	if cs.me.Wake(now) {
		for _, c := range cs.open {
			c.deadline = max(c.deadline, now+cs.me.Timing.Dead)
		}
	}
	if len(cs.lent) > 0 {
		cs.reap()
	}
}

// newPart makes a part of a call. Parts are numbered, so that among pushes of one priority the
// older one leaves first.
func (cs *calls) newPart(c *call, kind wire.Type, shard uint32) *part {
	var p *part
	if n := len(cs.idle); n > 0 {
		p = cs.idle[n-1]
		cs.idle = cs.idle[:n-1]
	} else {
		p = &part{}
	}
	*p = part{call: c, kind: kind, shard: shard, slot: -1, borrowed: borrowed{index: p.index[:0],
		lent: p.lent[:0], loan: ps.Loan{Back: p.loan.Back}}}
	p.loan.Lender = &p.borrowed
	c.left++
	cs.order++
	p.order = cs.order
	return p
}

// newCall begins a call. A deadline of 0 or less is the default one, Config.Timeout from now.
func (cs *calls) newCall(now ps.Time, op string, key uint32, deadline ps.Time) *call {
	cs.start(now)
	var c *call
	if n := len(cs.idleCalls); n > 0 {
		c = cs.idleCalls[n-1]
		cs.idleCalls = cs.idleCalls[:n-1]
	} else {
		c = &call{}
	}
	if deadline <= 0 {
		deadline = now + cs.cfg.Timeout
	}
	cs.lastID++
	*c = call{id: cs.lastID, op: op, key: key, began: now, deadline: deadline}
	cs.open = append(cs.open, c)
	return c
}

// finish ends a part. Where a transport still reads the caller's memory its call goes on until that
// is back. Memory of the worker's own holds up no call, only the part.
func (cs *calls) finish(p *part) {
	p.done = true
	if p.slot >= 0 {
		cs.slots[p.slot] = nil
		cs.unused = append(cs.unused, p.slot)
		p.slot = -1
	}
	// A message that refers to the payload has not come back: the part must not be used again yet.
	lent := p.refs > 0
	if lent {
		cs.lent = append(cs.lent, p)
	}
	if lent && !p.kept {
		p.call.held++
		return
	}
	cs.leave(p)
	if !lent {
		cs.retire(p)
	}
}

// leave takes a part out of its call, which ends with its last part, or, if it has failed, when
// none of its memory is read any more.
func (cs *calls) leave(p *part) {
	c := p.call
	p.call = nil
	c.left--
	if c.left == 0 || c.err != nil && c.held == 0 {
		cs.end(c, c.err)
	}
}

// retire takes back a part that is done and lent to nobody, and forgets the memory of its caller.
func (cs *calls) retire(p *part) {
	p.payload, p.out, p.slice = nil, nil, nil
	cs.idle = append(cs.idle, p)
}

// reap retires parts whose memory has come back, and ends the calls that waited for it. It runs
// whenever the driver has released something, and with every reaction.
func (cs *calls) reap() {
	kept := cs.lent[:0]
	for _, p := range cs.lent {
		if p.refs > 0 {
			kept = append(kept, p)
			continue
		}
		if p.call != nil {
			p.call.held--
			cs.leave(p)
		}
		cs.retire(p)
	}
	cs.lent = kept
}

// end reports how a call ended, once. Parts of a failed call that go on, such as pushes that cannot
// be taken back, keep it alive after that; it is used again when the last of them has ended.
func (cs *calls) end(c *call, err error) {
	if !c.ended {
		c.ended = true
		c.vacate()
		cs.me.Out.Done = append(cs.me.Out.Done, ps.Done{ID: c.id, Err: err, Outcome: c.outcome,
			Clock: c.clock})
		// The last call takes its place: the order of open calls means nothing.
		for i, other := range cs.open {
			if other == c {
				last := len(cs.open) - 1
				cs.open[i] = cs.open[last]
				cs.open[last] = nil
				cs.open = cs.open[:last]
				break
			}
		}
	}
	if c.left == 0 {
		cs.idleCalls = append(cs.idleCalls, c)
	}
}

// name gives a part the name by which an answer finds it: the slot, and a number that is never used
// again, so that a late answer to the part before finds nothing.
func (cs *calls) name(p *part) {
	if n := len(cs.unused); n > 0 {
		p.slot = cs.unused[n-1]
		cs.unused = cs.unused[:n-1]
	} else {
		p.slot = len(cs.slots)
		cs.slots = append(cs.slots, nil)
	}
	cs.slots[p.slot] = p
	cs.lastReq++
	p.req = cs.lastReq<<20 | uint64(p.slot)
}

// asking returns the part that an answer names, nil if it has been answered.
func (cs *calls) asking(req uint64) *part {
	slot := int(req & (1<<20 - 1))
	if slot >= len(cs.slots) || cs.slots[slot] == nil || cs.slots[slot].req != req {
		return nil
	}
	return cs.slots[slot]
}

// waiting returns the fused part whose push had a sequence and is committed: its value may come
// under the sequence or under the part's name, whichever message was not lost.
func (cs *calls) waiting(shard uint32, seq uint64) *part {
	for _, p := range cs.slots {
		if p != nil && p.kind == wire.TypePushPull && p.shard == shard && p.seq == seq {
			return p
		}
	}
	return nil
}

// usage makes an error for a call that makes no sense: it wraps ps.ErrUsage.
func usage(op string, key uint32, format string, args ...any) error {
	return &ps.Error{Op: op, Key: key, Err: fmt.Errorf("%w: %s", ps.ErrUsage,
		fmt.Sprintf(format, args...))}
}

// slowCall is how long a call may wait before a line in the log names the node that it waits for:
// longer than it takes to give up a dead node with the default Timing.
const slowCall = 5 * ps.Second

// hearWaiting notes the node that a call waits for. A call that waits for long is reported once, so
// that a job that hangs explains itself before its deadlines pass.
func (cs *calls) hearWaiting(c *call, on wire.Node) {
	if c == nil || c.ended || on.IsZero() {
		return
	}
	c.waits = on
	if d := cs.now - c.began; d >= slowCall && !c.told {
		c.told = true
		cs.me.Out.Report(ps.EventWaiting, on, 0, 0, fmt.Sprintf("%s for %.1f s",
			ps.CallName(c.op, c.key),
			float64(d)/float64(ps.Second)))
	}
}

// waitsFor returns the worker that one of the calls waits for, -1 if none does as far as is known.
func (cs *calls) waitsFor() int32 {
	for _, c := range cs.open {
		if c.waits.Role == wire.Worker {
			return int32(c.waits.Rank)
		}
	}
	return -1
}
