package ring

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Group is a worker's part in the collective rounds of a job. It is a state machine that one
// goroutine drives. Its calls return an identifier at once; their ends are in the Outbox, by their
// deadlines at the latest.
type Group struct {
	*base
	*calls
	joiner
}

// base is the common ground of all parts of a group: its settings, its keys, and the links to the
// other workers.
type base struct {
	cfg    Config
	self   wire.Node
	inc    uint32 // incarnation of this process; 0: it has no place yet
	now    ps.Time
	awake  node.Wakefulness
	out    ps.Outbox
	links  []*link // by place; nil: this worker
	others []*link // to all other workers, by place
	keys   map[uint32]*key
	epoch  uint64 // highest incarnation of a worker that this process knows
	joined bool   // start is known
	start  uint64 // rounds that were complete when this process began
	stats  Stats
	spare  buffers
	generation
}

// calls are the calls of a group.
type calls struct {
	*base
	open     []*call // in no order
	deferred []*call // wait for rounds with lower numbers, in the order of the program
	idle     []*call // not in use
	lastID   uint64
	err      error // all calls fail with it; nil: they do not
	buckets  []*bucket
	filling  *bucket  // bucket that takes in the next small key; nil: none does
	parts    [][]byte // contributions that are added up at once, used again
}

// Stats counts the work of a group.
type Stats struct {
	Rounds  uint64 // complete rounds of all keys
	Resends uint64 // slices sent again
	Refused uint64 // messages that made no sense
	Calls   int    // calls that have not ended
	Queued  int    // slices that wait for their turn
}

// New returns a group that knows no other worker yet: see SetMembers.
func New(c Config) (*Group, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	b := &base{cfg: c, self: wire.Node{Role: wire.Worker, Rank: c.Rank}, keys: map[uint32]*key{}}
	g := &Group{base: b, calls: &calls{base: b}}
	g.joiner = joiner{base: b, calls: g.calls}
	if !c.Elastic {
		ranks := make([]uint16, c.Workers)
		for i := range ranks {
			ranks[i] = uint16(i)
		}
		b.connect(ranks)
	}
	return g, nil
}

// Out returns the outbox, which the caller carries out and resets.
func (g *Group) Out() *ps.Outbox { return &g.out }

// Stats returns the figures so far. Calls and Queued are of now, the others grow.
func (g *Group) Stats() Stats {
	s := g.stats
	s.Calls = len(g.open)
	for _, l := range g.others {
		s.Queued += len(l.queue)
	}
	return s
}

// Waiting returns the worker for which the oldest call waits, the zero Node if no call waits.
func (g *Group) Waiting() wire.Node { return g.cause() }

// Release takes back the Hold of a Send.
func (g *Group) Release(l *ps.Loan) {
	l.Return()
	g.Reap()
}

// Reap ends calls that have waited for memory which has been returned since.
func (g *calls) Reap() {
	for i := len(g.open) - 1; i >= 0; i-- {
		if i >= len(g.open) {
			continue
		}
		switch c := g.open[i]; {
		case c.refs > 0 || c.key == nil:
		case c.err != nil:
			g.end(c, c.err)
		default:
			g.settle(c)
		}
	}
	g.pumpAll()
}

// awaken begins a reaction. Where the worker has stood still, answers wait that its calls must see
// before they run out of time: deadlines are put off by the time in which others would have given
// the worker up.
func (g *calls) awaken(now ps.Time) {
	g.now = now
	if g.awake.React(now, &g.cfg.Timing) {
		for _, c := range g.open {
			c.deadline = max(c.deadline, now+g.cfg.Timing.Dead)
		}
	}
}

// SetMembers takes in the job's view. Values go to a process that has taken over another worker's
// place as if nothing had been sent to its predecessor, and sums that are not complete wait for its
// contributions instead of the predecessor's.
func (g *Group) SetMembers(now ps.Time, v *wire.View) {
	g.awaken(now)
	if me := v.Member(g.self); me != nil && g.inc == 0 {
		g.inc = me.Incarnation
		g.epoch = max(g.epoch, uint64(g.inc))
	}
	if g.cfg.Elastic {
		g.view = v
		if g.entered && v.Group.Number != g.number {
			g.endGeneration()
		} else if g.entered {
			g.meet()
		}
		return
	}
	for _, l := range g.others {
		m := v.Member(l.node)
		if m == nil {
			continue
		}
		l.left = m.Left
		if m.Incarnation == l.inc {
			continue
		}
		if l.inc != 0 {
			for _, k := range g.keys {
				k.forget(l.place)
			}
		}
		g.epoch = max(g.epoch, uint64(m.Incarnation))
		g.reset(l, v, m)
		l.left = m.Left
		for _, c := range g.open {
			if c.key != nil && c.key.call == c && c.begun && c.err == nil && c.left > 0 {
				g.contribute(c, l)
			}
		}
	}
	g.greet()
	g.join()
	g.part()
	g.pumpAll()
}

// Handle takes in a message from another worker. The message and its payload are not kept, unless
// the payload has an owner.
func (g *Group) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	g.awaken(now)
	if m.Job != g.cfg.Job || m.From != from || from.Role != wire.Worker || g.inc == 0 ||
		m.Target != 0 && m.Target != g.inc || !g.current(m) {
		return
	}
	l := g.linkTo(from.Rank)
	if l == nil || m.Incarnation != l.inc || l.inc == 0 {
		return // of a process that has been replaced, or that no view has named yet
	}
	if m.Type != wire.TypeBatch {
		g.dispatch(l, m)
	} else if err := g.unpack(l, m); err != nil {
		g.refuse(l, m)
	}
	g.pumpAll()
	g.confirm(l)
}

// unpack takes in the items of a batch.
func (g *Group) unpack(l *link, m *wire.Message) error {
	items := m.Items()
	var one wire.Message
	for {
		if ok, err := items.Next(&one); !ok {
			return err
		}
		g.dispatch(l, &one)
	}
}

// dispatch takes in one message.
func (g *Group) dispatch(l *link, m *wire.Message) {
	switch m.Type {
	case wire.TypeContribution, wire.TypeSum:
		p := wire.CollectivePlaceOf(m)
		g.hear(l, p.Sent, p.Received)
		if m.Epoch > g.epoch {
			return // of a worker that knows of a process which this one is yet to hear of
		}
		if m.Type == wire.TypeSum {
			g.sumCame(l, m)
		} else {
			g.contribution(l, m)
		}
	case wire.TypeReceived:
		g.hear(l, 0, wire.CollectivePlaceOf(m).Received)
	case wire.TypeMissing:
		g.missing(l, m)
	case wire.TypeGreet:
		g.greeted(l)
	case wire.TypeGreeting:
		g.answered(l, m)
	case wire.TypeWaiting:
		g.waiting(l, m)
	}
}

// refuse drops a message that makes no sense.
func (g *base) refuse(l *link, m *wire.Message) {
	g.stats.Refused++
	g.out.Report(ps.EventRefused, l.node, 0, 0,
		fmt.Sprintf("%s of key %d, slice %d of %d, round %d",
			m.Type, m.Key, m.Slice, m.Slices, m.Clock))
}

// Tick lets time pass: questions and deadlines. It should be called every few milliseconds.
func (g *Group) Tick(now ps.Time) {
	g.awaken(now)
	g.greet()
	g.tickBuckets()
	g.tickCalls()
	for _, l := range g.others {
		g.unblock(l)
	}
	g.pumpAll()
}

// pumpAll sends values on all links.
func (g *base) pumpAll() {
	for _, l := range g.others {
		g.pump(l)
	}
}

// wrapUsage makes the error below a usage error.
func wrapUsage(format string, args []any) error {
	return fmt.Errorf("%w: %s", ps.ErrUsage, fmt.Sprintf(format, args...))
}
