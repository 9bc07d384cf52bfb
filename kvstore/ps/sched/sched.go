package sched

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Config says how a job is made up.
type Config struct {
	Job      uint64
	Servers  int
	Workers  int
	Shards   int // 4 for each server when 0; fixed for the life of the job
	Replicas int // copies of each shard: 1 or 2
	Policy   ps.Policy
	Timing   ps.Timing
	// View is the last one made durable by an earlier scheduler of the same job, nil for a new job.
	View *wire.View
}

// Scheduler decides which processes are in the job and where every shard lives. Nothing else
// depends on it: values and gradients flow while it is away. It is a state machine that one
// goroutine drives.
//
// A view is durable before anybody hears of it: Outbox.View asks for that, and Persisted says that
// it is done. One view at a time is being made durable; meanwhile the scheduler goes on, and
// changes go into the next one. At most one server commits to a shard in an epoch:
//  1. Only a copy that the durable view calls in sync is promoted, and promotion raises the epoch.
//  2. A primary commits without its backup only when a durable view says that the backup may not be
//     promoted.
//  3. A backup takes log entries of its own epoch only.
//  4. When the copies of a shard change places the old primary is a backup in sync from then on: it
//     commits nothing any more, and has all that the other may have committed.
//
// A copy that is silent is given up only for the sake of one whose server is there for certain. Two
// rules make it certain:
//  5. Silence counts only while the scheduler itself is awake, and counts anew for all when it has
//     stood still.
//  6. A server is there when it has named, in a heartbeat, a view that was made after the last
//     server was given up, and after the scheduler stood still or began. A heartbeat that has
//     waited in a queue names an older one.
type Scheduler struct {
	cfg     Config
	out     ps.Outbox
	now     ps.Time
	awake   node.Wakefulness
	view    *wire.View // as it is decided
	told    *wire.View // the last one that is durable, which others know
	body    []byte     // its encoding
	writing *wire.View // is being made durable, nil when none is
	changed bool       // view has changed since the last one that was written
	// number of a view of which nobody is to hear: the next one takes something in it back
	hushed uint64
	proof  uint64 // a server that is there has named this view or a later one

	// awake time at which each node was heard of, or given time to be heard of
	last   map[wire.Node]ps.Time
	seen   map[wire.Node]uint64 // view that each node has named in a heartbeat
	buried map[wire.Node]uint64 // view in which a node was given up: a node that names it is back
	beats  map[wire.Node]wire.Heartbeat
	// nonces of processes that were replaced: their late hellos mean nothing
	retired map[uint64]bool
	// nonces of processes that ask for a place which is taken, and since which awake time
	asking  map[uint64]ps.Time
	ends    ends
	entered []entered // barriers, by worker
	snap    *collection
	tries   uint32      // snapshots begun
	answer  []wire.Node // workers that wait for the snapshot of the view that is being written
	// awake time at which a node first named a view that this scheduler cannot know
	forgot ps.Time
	load   []int     // shards that each server leads, while balance counts
	ways   []reached // of balance, from the server that leads too many shards

	promised map[wire.Node]promise // places that guests have been told to take
}

// New returns a scheduler for a new job, or one that goes on where another one stopped.
func New(c Config) (*Scheduler, error) {
	c.Timing.Fill()
	if c.Shards == 0 {
		c.Shards = 4 * c.Servers
	}
	switch {
	case c.Servers < 1 || c.Servers > 1<<16-1 || c.Workers < 1 || c.Workers > 1<<16-1:
		return nil, fmt.Errorf("ps: %d servers and %d workers, want 1 to 65535 of each: %w",
			c.Servers, c.Workers, ps.ErrUsage)
	case c.Replicas != 1 && c.Replicas != 2:
		return nil, fmt.Errorf("ps: %d replicas, want 1 or 2: %w", c.Replicas, ps.ErrUsage)
	case c.Replicas > c.Servers:
		return nil, fmt.Errorf("ps: %d replicas on %d servers: %w", c.Replicas, c.Servers,
			ps.ErrUsage)
	}
	s := &Scheduler{
		cfg: c, last: map[wire.Node]ps.Time{}, seen: map[wire.Node]uint64{},
		buried: map[wire.Node]uint64{},
		beats:  map[wire.Node]wire.Heartbeat{}, retired: map[uint64]bool{},
		asking: map[uint64]ps.Time{}, ends: newEnds(), entered: make([]entered, c.Workers),
		forgot: -1,
	}
	if c.View == nil {
		s.view = &wire.View{Job: c.Job, Next: 1}
		for i := range c.Servers {
			s.view.Servers = append(s.view.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
				Rank: uint16(i)}})
		}
		for i := range c.Workers {
			s.view.Workers = append(s.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
				Rank: uint16(i)}})
		}
		s.told = s.view.Clone()
		return s, nil
	}
	s.view, s.told = c.View.Clone(), c.View.Clone()
	s.body = s.told.Append(nil)
	if v := s.view; v.Job != c.Job || len(v.Servers) != c.Servers || len(v.Workers) != c.Workers {
		return nil, fmt.Errorf("ps: view of job %#x with %d servers and %d workers, want job "+
			"%#x with %d and %d: %w",
			v.Job, len(v.Servers), len(v.Workers), c.Job, c.Servers, c.Workers, ps.ErrUsage)
	}
	return s, nil
}

// Out returns the scheduler's outbox. The caller carries it out and resets it.
func (s *Scheduler) Out() *ps.Outbox { return &s.out }

// View returns the last view that is durable. It must not be changed.
func (s *Scheduler) View() *wire.View { return s.told }

// Heartbeat returns the last heartbeat of a node, and for how long the node has been silent while
// the scheduler was awake.
func (s *Scheduler) Heartbeat(n wire.Node) (wire.Heartbeat, ps.Time) {
	return s.beats[n], s.silence(n)
}

// Done reports whether all workers have said goodbye, and everybody has been told: the job is over.
func (s *Scheduler) Done() bool { return s.told.Over() }

// start begins a step. A scheduler that took over, or has stood still, gives everybody time to be
// heard of.
func (s *Scheduler) start(now ps.Time) {
	s.now = now
	began := s.awake.Began
	if stood := s.awake.Step(now, &s.cfg.Timing); began && !stood {
		return
	}
	s.ends.forget()
	clear(s.asking) // nobody has been heard of since
	s.each(func(m *wire.Member) {
		s.last[m.Node] = s.awake.Time
		if !began && !m.Alive {
			s.buried[m.Node] = s.view.Number + 1
			// it can come back only with the view that it is to name
			s.changed = s.changed || m.Incarnation != 0 && !m.Left
		}
	})
	if s.snap != nil {
		s.snap.heard = s.awake.Time
	}
	if len(s.view.Shards) > 0 {
		s.prove()
	}
}

// prove wants servers to name a view that is yet to be made before anything is decided for their
// sake.
func (s *Scheduler) prove() {
	s.proof, s.changed = s.view.Number+1, true
}

// silence returns how long a node has not been heard of while the scheduler was awake.
func (s *Scheduler) silence(n wire.Node) ps.Time { return s.awake.Time - s.last[n] }

// each calls f for all places.
func (s *Scheduler) each(f func(m *wire.Member)) {
	for i := range s.view.Servers {
		f(&s.view.Servers[i])
	}
	for i := range s.view.Workers {
		f(&s.view.Workers[i])
	}
}

// Handle takes in a message that a transport received from a node. The message and its payload are
// not kept.
func (s *Scheduler) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	s.start(now)
	me := s.view.Member(from)
	if m.Job == s.cfg.Job && m.From == from && me == nil && m.Type == wire.TypeHello {
		s.guest(from, m)
	}
	if m.Job != s.cfg.Job || m.From != from || me == nil {
		return
	}
	if m.Type == wire.TypeHello {
		s.hello(me, m)
		s.settle()
		return
	}
	if m.Incarnation == 0 || m.Incarnation != me.Incarnation {
		s.replaced(me, m)
		return
	}
	s.last[from] = s.awake.Time
	s.ends.hear(from)
	switch m.Type {
	case wire.TypeHeartbeat:
		s.heartbeat(me, m)
	case wire.TypeBye:
		if !me.Left {
			me.Left, me.Alive, s.changed = true, false, true
			s.out.Report(ps.EventLeft, from, 0, 0, "")
		}
		s.tell(from) // until it has heard it repeats itself
	case wire.TypeBarrier:
		s.barrier(me, m)
	case wire.TypeInSync:
		s.inSync(me, m)
	case wire.TypeDiverged:
		s.diverged(me, m)
	case wire.TypeSnapshot:
		s.askSnapshot(me, m)
	case wire.TypeSnapshotDone:
		s.collect(me, m)
	}
	s.settle()
}

// replaced handles a message of a process that does not hold its place: it sees in the view that it
// has been replaced. One that names a view which this scheduler has not made knows of another
// scheduler, whose view is lost.
func (s *Scheduler) replaced(me *wire.Member, m *wire.Message) {
	s.tell(me.Node)
	if m.Type == wire.TypeHeartbeat && m.ViewNumber() > s.view.Number && len(s.view.Shards) == 0 &&
		s.forgot < 0 {
		s.forgot = s.awake.Time
		s.out.Report(ps.EventViewFailed, m.From, 0, 0,
			fmt.Sprintf("it knows view %d, this scheduler has made %d", m.ViewNumber(),
				s.view.Number))
	}
}

// hello gives a process its place. A process that takes over a place ends the incarnation before
// it.
func (s *Scheduler) hello(me *wire.Member, m *wire.Message) {
	h, err := wire.DecodeHello(m.Payload)
	if err != nil || h.Rank != int32(me.Node.Rank) {
		s.out.Report(ps.EventRefused, m.From, 0, 0, fmt.Sprintf("hello for rank %d: %v", h.Rank,
			err))
		return
	}
	if me.Nonce == h.Nonce {
		s.last[me.Node] = s.awake.Time
		s.ends.hear(me.Node)
		s.tell(me.Node)
		return
	}
	if s.retired[h.Nonce] {
		return
	}
	if s.view.Over() {
		s.tell(me.Node) // too late: it sees that the job is over
		return
	}
	if s.held(me, h.Nonce) {
		return
	}
	if me.Nonce != 0 {
		s.retired[me.Nonce] = true
	}
	calls := me.Calls
	calls.Done = 0
	*me = wire.Member{Node: me.Node, Incarnation: s.view.Next, Alive: true, Nonce: h.Nonce,
		Addr: h.Addr, Calls: calls}
	s.view.Next++
	s.last[me.Node], s.seen[me.Node] = s.awake.Time, 0
	s.ends.hear(me.Node)
	delete(s.beats, me.Node)
	s.changed = true
	s.out.Report(ps.EventJoined, me.Node, 0, 0, fmt.Sprintf("incarnation %d at %s", me.Incarnation,
		me.Addr))
}

// heartbeat takes in a sign of life. A node that was given up and had no successor comes back when
// it knows that it was, but for workers under Shrink, whose rounds have been closed without them.
func (s *Scheduler) heartbeat(me *wire.Member, m *wire.Message) {
	if h, err := wire.DecodeHeartbeat(m.Payload); err == nil {
		s.beats[me.Node] = h
	}
	s.seen[me.Node] = max(s.seen[me.Node], m.ViewNumber())
	if m.ViewNumber() < s.told.Number {
		s.tell(me.Node)
	} else {
		a := s.message(wire.TypeHeartbeat)
		a.SetViewNumber(s.told.Number)
		s.send(me.Node, a)
	}
	if me.Alive || me.Left || m.ViewNumber() < s.buried[me.Node] || me.Node.Role == wire.Worker &&
		s.cfg.Policy == ps.Shrink {
		return
	}
	me.Alive, s.changed = true, true
	s.out.Report(ps.EventDead, me.Node, 0, 0, "alive again")
}

// tell sends the view that is durable to a node.
func (s *Scheduler) tell(n wire.Node) {
	if s.told.Number == 0 {
		return // everybody is told when there is one
	}
	m := s.message(wire.TypeView)
	m.Payload = s.body
	m.SetViewNumber(s.told.Number)
	s.send(n, m)
}

func (s *Scheduler) message(t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: s.cfg.Job, From: node.Scheduler}
}

func (s *Scheduler) send(to wire.Node, m wire.Message) {
	s.out.Sends = append(s.out.Sends, ps.Send{To: to, Msg: m})
}

// settle draws the consequences of changes, and has the view made durable unless one is being made
// so.
func (s *Scheduler) settle() {
	s.place()
	s.passBarriers()
	if !s.changed || s.writing != nil {
		return
	}
	s.changed = false
	s.view.Number++
	s.writing = s.view.Clone()
	s.out.View = s.writing
}

// Persisted says that the view of Outbox.View with a number is durable. Now everybody is told.
func (s *Scheduler) Persisted(now ps.Time, number uint64) {
	if s.writing == nil || s.writing.Number != number {
		return
	}
	s.start(now)
	if number == s.hushed {
		s.writing = nil
		s.settle()
		return
	}
	before := s.told
	s.told, s.writing = s.writing, nil
	s.body = s.told.Append(nil)
	s.each(func(m *wire.Member) {
		if now, old := s.told.Member(m.Node), before.Member(m.Node); now.Incarnation != 0 &&
			!(now.Left && old.Left) {
			s.tell(m.Node)
		}
	})
	for i := range s.told.Workers {
		if now, old := &s.told.Workers[i], &before.Workers[i]; now.Calls.Done > old.Calls.Done &&
			now.Incarnation == old.Incarnation {
			s.endBarrier(now)
		}
	}
	if len(s.answer) > 0 && s.told.Snapshot == s.view.Snapshot {
		s.snapshotDone(s.answer, s.told.Snapshot, 0)
		s.answer = nil
	}
	s.settle()
}

// Tick lets time pass: nodes that have been silent for too long are given up.
func (s *Scheduler) Tick(now ps.Time) {
	s.start(now)
	s.each(func(m *wire.Member) {
		if m.Alive && s.silence(m.Node) > s.cfg.Timing.Dead {
			m.Alive, s.changed = false, true
			s.buried[m.Node] = s.view.Number + 1
			s.out.Report(ps.EventDead, m.Node, 0, 0, "silent for too long")
			if m.Node.Role == wire.Server {
				s.prove()
			}
		}
	})
	if s.forgot >= 0 && s.awake.Time-s.forgot > s.cfg.Timing.Dead && len(s.view.Shards) == 0 {
		s.out.Fatal = errForgot
	}
	s.look()
	s.tickSnapshot()
	s.settle()
}

// errForgot ends a scheduler that was started without the view of the one before it.
var errForgot = fmt.Errorf("%w: the job's processes know a later view than this scheduler, "+
	"which was started without the view of the one before it",
	ps.ErrViewChanged)

// tellWaiting tells a worker for which node a message of it waits.
func (s *Scheduler) tellWaiting(to wire.Node, m *wire.Message, on wire.Node) {
	if on.IsZero() {
		return
	}
	r := s.message(wire.TypeWaiting)
	r.Target = m.Incarnation
	r.SetWait(wire.Wait{On: on, Of: m.Type, Seq: m.Seq})
	s.send(to, r)
}
