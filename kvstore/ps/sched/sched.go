package sched

import (
	"fmt"

	"gomx/kvstore/ps"
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
	Products string // see wire.View; of a new job
	// View is the last one made durable by an earlier scheduler of the same job, nil for a new job.
	View *wire.View
	// Term is the number of the scheduler's lead, greater than the terms of earlier schedulers of
	// the job that may still run. Nodes refuse messages of lower terms. 0: there can be only one
	// scheduler at a time.
	Term uint64
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
	*desk
	members
	guests
	barriers
	groups
	collector
	placement
}

// New returns a scheduler for a new job, or one that goes on where another one stopped.
func New(c Config) (*Scheduler, error) {
	c.Timing.Fill()
	if c.Shards == 0 {
		c.Shards = 4 * c.Servers
	}
	switch {
	case c.Servers < 0 || c.Servers > 1<<16-1 || c.Workers < 1 || c.Workers > 1<<16-1:
		return nil, fmt.Errorf("ps: %d servers and %d workers, want 0 to 65535 servers and 1 to "+
			"65535 workers: %w", c.Servers, c.Workers, ps.ErrUsage)
	case c.Replicas != 1 && c.Replicas != 2:
		return nil, fmt.Errorf("ps: %d replicas, want 1 or 2: %w", c.Replicas, ps.ErrUsage)
	case c.Replicas > max(1, c.Servers):
		return nil, fmt.Errorf("ps: %d replicas on %d servers: %w", c.Replicas, c.Servers,
			ps.ErrUsage)
	}
	if v := c.View; v != nil && (v.Job != c.Job || len(v.Servers) < c.Servers ||
		len(v.Workers) < c.Workers) {
		return nil, fmt.Errorf("ps: view of job %#x with %d servers and %d workers, want job "+
			"%#x with at least %d and %d: %w",
			v.Job, len(v.Servers), len(v.Workers), c.Job, c.Servers, c.Workers, ps.ErrUsage)
	}
	s := &Scheduler{desk: newDesk(c)}
	d, ms, co := s.desk, &s.members, &s.collector
	s.members = newMembers(d)
	s.guests = guests{desk: d, promised: map[wire.Node]promise{}}
	s.barriers = barriers{desk: d, members: ms, entered: make([]entered, len(d.view.Workers))}
	s.groups = groups{desk: d, members: ms, calls: map[uint16]groupCall{}}
	s.collector = collector{desk: d}
	s.placement = placement{desk: d, members: ms, collector: co}
	return s, nil
}

// Out returns the scheduler's outbox. The caller carries it out and resets it.
func (s *Scheduler) Out() *ps.Outbox { return &s.out }

// Term returns the number of the scheduler's lead, see Config.
func (s *Scheduler) Term() uint64 { return s.cfg.Term }

// View returns the last view that is durable. It must not be changed.
func (s *Scheduler) View() *wire.View { return s.told }

// Heartbeat returns the last heartbeat of a node, and for how long the node has been silent while
// the scheduler was awake.
func (s *Scheduler) Heartbeat(n wire.Node) (wire.Heartbeat, ps.Time) {
	return s.beats[n], s.silence(n)
}

// Done reports whether all workers have said goodbye, and everybody has been told: the job is over.
func (s *Scheduler) Done() bool { return s.told.Over() }

// start begins a reaction. A scheduler that took over, or has stood still, gives everybody time to
// be heard of.
func (s *Scheduler) start(now ps.Time) {
	s.now = now
	began := s.awake.Began
	if stood := s.awake.React(now, &s.cfg.Timing); began && !stood {
		return
	}
	s.forgive(began)
	if s.snap != nil {
		s.snap.heard = s.awake.Time
	}
	if len(s.view.Shards) > 0 {
		s.prove()
	}
}

// Handle takes in a message that a transport received from a node. The message and its payload are
// not kept.
func (s *Scheduler) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	s.start(now)
	if m.Type == wire.TypeHello && m.Job == s.cfg.Job && m.From == from {
		s.addPlace(m)
	}
	me := s.view.Member(from)
	if m.Job == s.cfg.Job && m.From == from && me == nil && m.Type == wire.TypeHello {
		s.guest(from, m)
	}
	if m.Job != s.cfg.Job || m.From != from || me == nil {
		return
	}
	if m.Type == wire.TypeHello {
		s.hello(me, m)
		s.conclude()
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
	case wire.TypeRegroup:
		s.regroup(me, m)
	case wire.TypeInSync:
		s.inSync(me, m)
	case wire.TypeDiverged:
		s.diverged(me, m)
	case wire.TypeSnapshot:
		s.askSnapshot(me, m)
	case wire.TypeSnapshotDone:
		s.collect(me, m)
	}
	s.conclude()
}

// conclude draws the consequences of changes, and has the view made durable unless one is being
// made so.
func (s *Scheduler) conclude() {
	s.place()
	s.changeGroup()
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
		s.conclude()
		return
	}
	before := s.told
	s.told, s.writing = s.writing, nil
	s.body = s.told.Append(nil)
	s.each(func(m *wire.Member) {
		now, old := s.told.Member(m.Node), before.Member(m.Node)
		if now != nil && now.Incarnation != 0 && !(now.Left && old != nil && old.Left) {
			s.tell(m.Node)
		}
	})
	for i := range before.Workers {
		if now, old := &s.told.Workers[i], &before.Workers[i]; now.Calls.Done > old.Calls.Done &&
			now.Incarnation == old.Incarnation {
			s.endBarrier(now)
		}
	}
	if len(s.answer) > 0 && s.told.Snapshot == s.view.Snapshot {
		s.snapshotDone(s.answer, s.told.Snapshot, 0)
		s.answer = nil
	}
	s.conclude()
}

// Tick lets time pass: nodes that have been silent for too long are given up.
func (s *Scheduler) Tick(now ps.Time) {
	s.start(now)
	s.giveUp()
	s.look()
	s.tickSnapshot()
	s.conclude()
}

// Recorded says that the manifest of Outbox.Manifest is durable, or why it is not: then the
// snapshot has failed. Workers hear of one that exists when the view says so.
func (s *Scheduler) Recorded(now ps.Time, clock uint64, err error) {
	s.start(now)
	if s.recorded(clock, err) {
		s.conclude()
	}
}

// Unreachable says that a message to a node could not be sent because there is no connection to it.
func (s *Scheduler) Unreachable(n wire.Node) { s.unreachable(n) }

// Swap lets the copies of a shard change places now, if they may. It reports whether they do.
func (s *Scheduler) Swap(now ps.Time, shard int) bool {
	s.start(now)
	if shard >= len(s.view.Shards) || s.writing != nil || !s.swappable(&s.view.Shards[shard]) {
		return false
	}
	s.swap(uint32(shard))
	s.conclude()
	return true
}

// Scale says how many workers and servers the job is to have; 0 leaves a number as it is. Workers
// and servers with higher ranks leave when they can; processes for new places are started by
// others.
func (s *Scheduler) Scale(now ps.Time, workers, servers int) error {
	s.start(now)
	err := s.scale(workers, servers)
	s.conclude()
	return err
}

// Drain asks a process to leave: a worker with the next change of the group, a server when its
// copies are elsewhere.
func (s *Scheduler) Drain(now ps.Time, n wire.Node) error {
	s.start(now)
	err := s.drain(n)
	s.conclude()
	return err
}
