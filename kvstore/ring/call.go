package ring

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// PushOp is a worker's part in the next round of a key.
type PushOp struct {
	Key uint32
	// Value is the contribution, and Out the room for the sum; both have the size of the key and
	// may be the same memory. They belong to the group until the call ends.
	Value, Out []byte
	// Keep says that Out stays as it is when the call has ended, until the next call for the key
	// with another Out: the group reads it to help workers that lack sums. With the same Out it
	// reads the old sums until the first new one comes, because every worker has all old ones then.
	Keep     bool
	Priority int8
	Deadline ps.Time // 0: Config.Timeout from now
}

// call is something that the program waits for: a round, the last sum, or the start.
//
// A call ends when it has the sums of all slices, and no transport reads its memory.
type call struct {
	id       uint64
	op       string
	key      *key // nil for the start
	round    uint64
	deadline ps.Time
	askAt    ps.Time // when to ask for slices that are missing
	asked    int     // questions since the last progress
	priority int8
	memory
	single
	begun bool   // its contributions may leave
	have  []bool // slices whose sums are in out
	left  int    // slices whose sums are missing
	waits wire.Node
	err   error // it has failed, and ends when no transport reads its memory
}

// single marks a call that is about no key.
type single struct {
	place **call           // where the group keeps it; nil: it is about a key
	peer  func() wire.Node // worker that it waits for
}

// memory is the memory of a call.
type memory struct {
	value, out []byte
	keep       bool
	loan       ps.Loan
	refs       int         // messages under way that refer to value
	lent       []wire.Node // receivers of such messages
}

// Returned implements ps.Lender.
func (b *memory) Returned() { b.refs-- }

// lend notes that a message to a worker refers to the contribution.
func (b *memory) lend(to wire.Node) *ps.Loan {
	b.refs++
	if !slices.Contains(b.lent, to) {
		b.lent = append(b.lent, to)
	}
	return &b.loan
}

// priorityOr returns the priority of a call, def for nil.
func (c *call) priorityOr(def int8) int8 {
	if c == nil {
		return def
	}
	return c.priority
}

// newCall makes a call.
func (g *calls) newCall(now ps.Time, op string, k *key, deadline ps.Time) *call {
	var c *call
	if n := len(g.idle); n > 0 {
		c = g.idle[n-1]
		g.idle = g.idle[:n-1]
	} else {
		c = &call{}
	}
	if deadline <= 0 {
		deadline = now + g.cfg.Timeout
	}
	g.lastID++
	back, have, lent := c.loan.Back, c.have[:0], c.lent[:0]
	*c = call{id: firstID | g.lastID, op: op, key: k, deadline: deadline, have: have}
	c.lent, c.loan.Back = lent, back
	c.loan.Lender = &c.memory
	g.open = append(g.open, c)
	return c
}

// firstID is a bit of all identifiers of calls. Calls of the machines in package ps do not have it.
const firstID = 1 << 62

// Push begins the next round of a key with this worker's contribution. It ends when Out holds the
// sum of the contributions of all workers, added up in the order of their ranks.
//
// The contribution leaves when the rounds with lower numbers, of other keys, are complete here: a
// process that takes over a place then needs values of at most two rounds.
func (g *calls) Push(now ps.Time, p PushOp) (uint64, error) {
	g.awaken(now)
	k := g.keys[p.Key]
	switch {
	case g.err != nil:
		return 0, &ps.Error{Op: "push", Key: p.Key, Err: g.err}
	case k == nil:
		return 0, usage("push", p.Key, "the key does not exist")
	case k.broken != nil:
		return 0, &ps.Error{Op: "push", Key: p.Key, Err: fmt.Errorf("an earlier round failed: %w",
			k.broken)}
	case k.call != nil || k.pull != nil:
		return 0, usage("push", p.Key, "the call before has not ended")
	case uint64(len(p.Value)) != k.spec.Total || uint64(len(p.Out)) != k.spec.Total:
		return 0, usage("push", p.Key, "%d bytes and room for %d, want %d", len(p.Value),
			len(p.Out), k.spec.Total)
	}
	g.full = true
	c := g.newCall(now, "push", k, p.Deadline)
	c.round, c.priority, c.value, c.out, c.keep = k.done+1, p.Priority, p.Value, p.Out, p.Keep
	k.call = c
	if len(p.Out) == 0 || len(k.kept) == 0 || &p.Out[0] != &k.kept[0] {
		k.kept = nil
	}
	c.expect(k)
	if k.done == g.start || k.spec.Aside && k.done == 0 {
		// Contributions may have come before the key existed, or belong to a predecessor.
		c.askAt = now + g.cfg.Timing.Resend/16
	} else {
		c.askAt = now + g.cfg.Timing.Resend
	}
	g.admit(c)
	g.pumpAll()
	return c.id, nil
}

// Collect reads the sum of the last round of a key, which this worker has taken part in, into out.
// Every worker has a part of it until the round after the next.
func (g *calls) Collect(now ps.Time, id uint32, out []byte, deadline ps.Time) (uint64, error) {
	g.awaken(now)
	k := g.keys[id]
	switch {
	case g.err != nil:
		return 0, &ps.Error{Op: "pull", Key: id, Err: g.err}
	case k == nil || k.call != nil || k.pull != nil || uint64(len(out)) != k.spec.Total:
		return 0, usage("pull", id, "room for %d bytes, of a key that no other call uses", len(out))
	}
	c := g.newCall(now, "pull", k, deadline)
	c.round, c.out, c.askAt, c.begun = k.done, out, now, true
	k.pull = c
	c.expect(k)
	for i := range k.slices {
		if v := k.sum(k.done, i); v != nil && !c.have[i] {
			g.arrived(c, i, v)
		}
	}
	if c.left > 0 {
		g.ask(c)
	}
	g.settle(c)
	return c.id, nil
}

// expect notes which slices of a key are missing. Empty ones never are.
func (c *call) expect(k *key) {
	c.left = 0
	for i := range k.slices {
		lo, hi := k.span(i)
		c.have = append(c.have, lo == hi)
		if lo < hi {
			c.left++
		}
	}
}

// admit begins a call when calls of rounds with lower numbers have ended, and the keys that leave
// together with its key are there.
func (g *calls) admit(c *call) {
	if !c.key.spec.Aside && g.behind(c.round) {
		g.deferred = append(g.deferred, c)
		return
	}
	if b := c.key.bucket; b != nil && !b.loose {
		g.gather(b, c)
		return
	}
	g.begin(c)
}

// behind reports whether a round with a lower number is under way.
func (g *calls) behind(round uint64) bool {
	for _, c := range g.open {
		if c.key != nil && !c.key.spec.Aside && c.round < round && c.err == nil && c.key.call == c {
			return true
		}
	}
	return false
}

// begin lets the contributions of a call leave.
func (g *calls) begin(c *call) {
	k := c.key
	c.begun = true
	r := k.round(c.round)
	if c.left == 0 {
		g.settle(c)
		return
	}
	for step := range g.cfg.Workers - 1 {
		// Each worker begins with another receiver.
		l := g.links[(int(g.cfg.Rank)+1+step)%g.cfg.Workers]
		g.contribute(c, l)
	}
	g.pumpAll() // before the sum is complete, which may end the call
	for i := range k.count {
		slice := k.first + i
		if lo, hi := k.span(slice); lo == hi {
			continue
		}
		if s := &r.slices[i]; s.complete {
			g.arrived(c, slice, k.added(r, slice))
		} else {
			g.feed(k, r, slice)
		}
	}
	g.settle(c)
}

// contribute queues the contributions of a call that another worker adds up.
func (g *base) contribute(c *call, l *link) {
	k := c.key
	first, count := uint16(0), k.slices
	if k.each > 0 {
		first, count = l.place*k.each, k.each
	}
	for i := range count {
		slice := first + i
		if lo, hi := k.span(slice); lo < hi && (k.each == 0 || !c.have[slice]) {
			g.enqueue(l, item{key: k, round: c.round, slice: slice, kind: wire.TypeContribution,
				priority: c.priority})
		}
	}
}

// take takes in the sum of a slice that another worker has sent. A sum that its sender has
// overwritten meanwhile is as good as lost.
func (g *calls) take(c *call, m *wire.Message) {
	if c.err != nil {
		return
	}
	c.write(m.Slice, m.Payload, g.cfg.Arithmetic)
	if wire.Intact(m.Owner) {
		g.arrived(c, m.Slice, nil)
	}
}

// write writes the sum of a slice to the call's memory; nil if it is there.
func (c *call) write(slice uint16, sum []byte, a Arithmetic) {
	k := c.key
	if k.call == c {
		k.kept = nil
	}
	if sum == nil {
		return
	}
	if out := k.part(c.out, slice); k.long {
		a.Stream(out, sum)
	} else {
		copy(out, sum)
	}
}

// arrived takes in the sum of a slice for a call; nil if the call's memory has it.
func (g *calls) arrived(c *call, slice uint16, sum []byte) {
	if c.have[slice] || c.err != nil {
		return
	}
	c.write(slice, sum, g.cfg.Arithmetic)
	c.have[slice] = true
	c.left--
	g.progressOf(c)
	g.settle(c)
}

// progress notes that values of a round have come.
func (g *calls) progress(k *key, round uint64) {
	if c := k.call; c != nil && c.round == round {
		g.progressOf(c)
	}
}

func (g *calls) progressOf(c *call) {
	c.askAt, c.asked, c.waits = g.now+g.cfg.Timing.Resend, 0, wire.Node{}
}

// settle ends a call that has all sums, and whose memory no transport reads.
func (g *calls) settle(c *call) {
	if c.left > 0 || c.err != nil || !c.begun {
		return
	}
	k := c.key
	if k != nil && k.call == c && k.done < c.round { // the round is complete
		k.done = c.round
		g.stats.Rounds++
	}
	if c.refs > 0 {
		return // the end follows when the memory is back
	}
	if k != nil {
		switch {
		case k.pull == c:
			k.pull = nil
		case k.call == c:
			k.call = nil
			if c.keep {
				k.kept = c.out
			}
		}
	}
	g.end(c, nil)
	g.resume()
}

// resume begins calls that have waited for rounds with lower numbers.
func (g *calls) resume() {
	if len(g.deferred) == 0 {
		return
	}
	waiting := g.deferred
	g.deferred = nil
	for _, c := range waiting {
		if c.err == nil {
			g.admit(c)
		}
	}
}

// end reports how a call ended.
func (g *calls) end(c *call, err error) {
	i := slices.Index(g.open, c)
	if i < 0 {
		return
	}
	last := len(g.open) - 1
	g.open[i] = g.open[last]
	g.open[last] = nil
	g.open = g.open[:last]
	g.out.Done = append(g.out.Done, ps.Done{ID: c.id, Err: err, Clock: c.round})
	c.value, c.out, c.key = nil, nil, nil
	if err == nil { // nothing refers to a call that has ended well
		g.idle = append(g.idle, c)
	}
}

// fail gives a call an error. It ends when no transport reads its memory, which is recalled.
func (g *calls) fail(c *call, err error) {
	if c.err != nil {
		return
	}
	e := &ps.Error{Op: c.op, Key: ps.NoKey, Peer: g.blame(c), Waits: c.waits, Err: err}
	if c.key != nil {
		e.Key = c.key.id
	}
	if e.Waits == e.Peer {
		e.Waits = wire.Node{}
	}
	c.err = e
	if k := c.key; k != nil {
		if k.pull == c {
			k.pull = nil
		}
		if k.call == c {
			k.call, k.broken = nil, err
		}
	}
	if c.place != nil {
		*c.place = nil
	}
	g.unwait(c)
	if c.refs == 0 {
		g.end(c, c.err)
		return
	}
	g.recall(c)
}

// recall asks for the memory of a call that transports read.
func (g *calls) recall(c *call) {
	for _, n := range c.lent {
		if !slices.Contains(g.out.Recall, n) {
			g.out.Recall = append(g.out.Recall, n)
		}
	}
}

// FailAll ends all calls with an error, which later calls return too.
func (g *calls) FailAll(err error) {
	if g.err == nil || g.err == ErrRegrouped {
		g.err = err
	}
	for _, c := range slices.Clone(g.open) {
		g.fail(c, err)
	}
}

// blame returns the first worker whose values a call lacks.
func (g *calls) blame(c *call) wire.Node {
	if c.key == nil {
		return c.peer()
	}
	k := c.key
	for i := range k.slices {
		if c.have[i] {
			continue
		}
		if n := g.lacks(k, c.round, i); !n.IsZero() {
			return n
		}
	}
	return wire.Node{}
}

// lacks returns the worker whose values the sum of a slice waits for.
func (g *base) lacks(k *key, round uint64, slice uint16) wire.Node {
	if o := k.owner(slice, g.cfg.Rank); o != g.cfg.Rank {
		return g.links[o].node
	}
	r := &k.rounds[round&1]
	if r.number != round {
		return wire.Node{}
	}
	s := &r.slices[slice-k.first]
	for rank := s.next; int(rank) < g.cfg.Workers; rank++ { // places
		if rank != g.cfg.Rank && s.held[rank].values == nil {
			return g.links[rank].node
		}
	}
	return wire.Node{}
}
