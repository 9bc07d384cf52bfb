package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// SchedulerConfig says how a job is made up.
type SchedulerConfig struct {
	Job      uint64
	Servers  int
	Workers  int
	Shards   int // 4 for each server when 0; fixed for the life of the job
	Replicas int // copies of each shard: 1 or 2
	Policy   Policy
	Timing   Timing
	// View is the last one made durable by an earlier scheduler of the same job, nil for a new job.
	View *wire.View
}

// Scheduler decides who is in the job and where every shard lives. Nothing else depends on it: values and gradients flow while it is
// away. It is a state machine that one goroutine drives.
//
// A view is durable before anybody hears of it (Outbox.View). That makes at most one server commit to a shard in an epoch:
//  1. Only a copy that the durable view calls in sync is promoted, and promotion raises the epoch.
//  2. A primary commits without its backup only when a durable view says that the backup may not be promoted.
//  3. A backup takes log entries of its own epoch only.
//  4. When the copies of a shard change places the old primary is a backup in sync from then on: it commits nothing any more, and
//     has all that the other may have committed.
type Scheduler struct {
	cfg     SchedulerConfig
	out     Outbox
	now     Time
	view    *wire.View
	last    map[wire.Node]Time // when each node was heard of, or given time to be heard of
	met     map[wire.Node]bool // who has been heard of by this process
	beats   map[wire.Node]wire.Heartbeat
	retired map[uint64]bool // nonces of processes that were replaced: their late hellos mean nothing
	entered []uint64        // barriers, by worker
	snap    *collection
	changed bool
	started bool
	body    []byte
	load    []int     // shards that each server leads, while balance counts
	ways    []reached // on which it looks for one who leads less

	promised map[wire.Node]promise // places that guests have been told to take
}

// NewScheduler returns a scheduler for a new job, or one that goes on where another one stopped.
func NewScheduler(c SchedulerConfig) (*Scheduler, error) {
	c.Timing.fill()
	if c.Shards == 0 {
		c.Shards = 4 * c.Servers
	}
	switch {
	case c.Servers < 1 || c.Servers > 1<<16-1 || c.Workers < 1 || c.Workers > 1<<16-1:
		return nil, fmt.Errorf("ps: %d servers and %d workers, want 1 to 65535 of each: %w", c.Servers, c.Workers, ErrUsage)
	case c.Replicas != 1 && c.Replicas != 2:
		return nil, fmt.Errorf("ps: %d replicas, want 1 or 2: %w", c.Replicas, ErrUsage)
	case c.Replicas > c.Servers:
		return nil, fmt.Errorf("ps: %d replicas on %d servers: %w", c.Replicas, c.Servers, ErrUsage)
	}
	s := &Scheduler{
		cfg: c, last: map[wire.Node]Time{}, met: map[wire.Node]bool{}, beats: map[wire.Node]wire.Heartbeat{}, retired: map[uint64]bool{}, entered: make([]uint64, c.Workers),
	}
	if c.View == nil {
		s.view = &wire.View{Job: c.Job, Next: 1}
		for i := range c.Servers {
			s.view.Servers = append(s.view.Servers, wire.Member{Node: wire.Node{Role: wire.Server, Rank: uint16(i)}})
		}
		for i := range c.Workers {
			s.view.Workers = append(s.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker, Rank: uint16(i)}})
		}
		return s, nil
	}
	s.view = c.View.Clone()
	if v := s.view; v.Job != c.Job || len(v.Servers) != c.Servers || len(v.Workers) != c.Workers {
		return nil, fmt.Errorf("ps: view of job %#x with %d servers and %d workers, want job %#x with %d and %d: %w",
			v.Job, len(v.Servers), len(v.Workers), c.Job, c.Servers, c.Workers, ErrUsage)
	}
	return s, nil
}

// Out returns what the scheduler wants done. The caller carries it out and resets it.
func (s *Scheduler) Out() *Outbox { return &s.out }

// View returns the current view. It must not be changed.
func (s *Scheduler) View() *wire.View { return s.view }

// Heartbeat returns what a node said of itself last, and when.
func (s *Scheduler) Heartbeat(n wire.Node) (wire.Heartbeat, Time) { return s.beats[n], s.last[n] }

// Done reports whether all workers have said goodbye: the job is over.
func (s *Scheduler) Done() bool {
	for i := range s.view.Workers {
		if !s.view.Workers[i].Left {
			return false
		}
	}
	return true
}

// start begins a step. A scheduler that took over gives everybody time to be heard of.
func (s *Scheduler) start(now Time) {
	s.now = now
	if s.started {
		return
	}
	s.started = true
	s.each(func(m *wire.Member) { s.last[m.Node] = now })
}

// each calls f for all places.
func (s *Scheduler) each(f func(m *wire.Member)) {
	for i := range s.view.Servers {
		f(&s.view.Servers[i])
	}
	for i := range s.view.Workers {
		f(&s.view.Workers[i])
	}
}

// Handle takes in a message that a transport received from a node. The message and its payload are not kept.
func (s *Scheduler) Handle(now Time, from wire.Node, m *wire.Message) {
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
		s.tell(from) // it sees in the view that it has been replaced
		return
	}
	s.heard(me)
	switch m.Type {
	case wire.TypeHeartbeat:
		s.heartbeat(me, m)
	case wire.TypeBye:
		if !me.Left {
			me.Left, me.Alive, s.changed = true, false, true
			s.out.event(EventLeft, from, 0, 0, "")
		}
		s.settle()
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

// hello gives a process its place. A process that takes over a place ends the incarnation before it.
func (s *Scheduler) hello(me *wire.Member, m *wire.Message) {
	h, err := wire.DecodeHello(m.Payload)
	if err != nil || h.Rank != int32(me.Node.Rank) {
		s.out.event(EventRefused, m.From, 0, 0, fmt.Sprintf("hello for rank %d: %v", h.Rank, err))
		return
	}
	if me.Nonce == h.Nonce {
		s.heard(me)
		s.tell(me.Node)
		return
	}
	if s.retired[h.Nonce] || s.Done() {
		return // replaced, or too late: the job is over
	}
	if me.Nonce != 0 {
		s.retired[me.Nonce] = true
	}
	*me = wire.Member{Node: me.Node, Incarnation: s.view.Next, Alive: true, Nonce: h.Nonce, Addr: h.Addr}
	s.view.Next++
	s.last[me.Node], s.met[me.Node] = s.now, true
	s.changed = true
	s.out.event(EventJoined, me.Node, 0, 0, fmt.Sprintf("incarnation %d at %s", me.Incarnation, me.Addr))
}

// heard notes a sign of life. A node that was given up and had no successor comes back, but for workers under Shrink, whose rounds
// have been closed without them.
func (s *Scheduler) heard(me *wire.Member) {
	s.last[me.Node], s.met[me.Node] = s.now, true
	if me.Alive || me.Left || me.Node.Role == wire.Worker && s.cfg.Policy == Shrink {
		return
	}
	me.Alive, s.changed = true, true
	s.out.event(EventDead, me.Node, 0, 0, "alive again")
}

func (s *Scheduler) heartbeat(me *wire.Member, m *wire.Message) {
	if h, err := wire.DecodeHeartbeat(m.Payload); err == nil {
		s.beats[me.Node] = h
	}
	if m.Seq < s.view.Number {
		s.tell(me.Node)
	}
}

// tell sends the current view to a node.
func (s *Scheduler) tell(n wire.Node) {
	if s.changed || s.view.Number == 0 {
		return // everybody is told in a moment
	}
	s.body = s.view.Append(nil)
	s.sendView(n)
}

func (s *Scheduler) sendView(n wire.Node) {
	m := s.message(wire.TypeView)
	m.Seq, m.Payload = s.view.Number, s.body
	s.out.Sends = append(s.out.Sends, Send{To: n, Msg: m})
}

func (s *Scheduler) message(t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: s.cfg.Job, From: scheduler}
}

// settle makes a changed view durable and tells everybody.
func (s *Scheduler) settle() {
	s.place()
	s.passBarriers()
	if !s.changed {
		return
	}
	s.changed = false
	s.view.Number++
	s.out.View = s.view.Clone()
	s.body = s.view.Append(nil)
	s.each(func(m *wire.Member) {
		if m.Incarnation != 0 && !m.Left {
			s.sendView(m.Node)
		}
	})
}

// Tick lets time pass: nodes that have been silent for too long are given up.
func (s *Scheduler) Tick(now Time) {
	s.start(now)
	s.each(func(m *wire.Member) {
		if m.Alive && now-s.last[m.Node] > s.cfg.Timing.Dead {
			m.Alive, s.changed = false, true
			s.out.event(EventDead, m.Node, 0, 0, "silent for too long")
		}
	})
	s.tickSnapshot()
	s.settle()
}

// barrier notes that a worker has entered a barrier, or tells it that the barrier is passed.
func (s *Scheduler) barrier(me *wire.Member, m *wire.Message) {
	n := m.Seq
	if me.Node.Role != wire.Worker || n > s.view.Barrier+1 {
		return // nobody enters a barrier before the one in front of it is passed
	}
	again := s.entered[me.Node.Rank] >= n
	s.entered[me.Node.Rank] = max(s.entered[me.Node.Rank], n)
	if n <= s.view.Barrier {
		m := s.message(wire.TypeBarrierDone)
		m.Seq = s.view.Barrier
		s.out.Sends = append(s.out.Sends, Send{To: me.Node, Msg: m})
		return
	}
	s.passBarriers()
	if again && n > s.view.Barrier {
		s.tellWaiting(me.Node, m, s.blameBarrier())
	}
}

// passBarriers lets workers pass barriers that all have entered who count.
func (s *Scheduler) passBarriers() {
	for {
		waiting, counted := false, 0
		for i := range s.view.Workers {
			if s.counts(&s.view.Workers[i]) {
				counted++
				waiting = waiting || s.awaits(i)
			}
		}
		if waiting || counted == 0 {
			return
		}
		s.view.Barrier++
		s.changed = true
		for i := range s.view.Workers {
			if w := &s.view.Workers[i]; w.Incarnation != 0 && !w.Left {
				m := s.message(wire.TypeBarrierDone)
				m.Seq = s.view.Barrier
				s.out.Sends = append(s.out.Sends, Send{To: w.Node, Msg: m})
			}
		}
	}
}

// awaits reports whether the barrier which is not passed waits for a worker.
func (s *Scheduler) awaits(rank int) bool {
	m := &s.view.Workers[rank]
	return s.counts(m) && s.entered[rank] <= s.view.Barrier
}

// counts reports whether others wait for a worker.
func (s *Scheduler) counts(m *wire.Member) bool {
	return !m.Left && (m.Alive || s.cfg.Policy != Shrink)
}
