package sched

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// collection is a snapshot that is being made.
type collection struct {
	clock uint64
	try   uint32 // tells attempts at a snapshot of one clock from each other
	all   bool   // begins when all workers have asked
	files map[uint32]wire.SnapshotFile
	asked []wire.Node
	again ps.Time
	heard ps.Time // awake time at which somebody asked for it last
	whole bool    // its manifest is being written
}

// askSnapshot begins a snapshot at a clock for a worker.
func (s *Scheduler) askSnapshot(me *wire.Member, m *wire.Message) {
	order := m.SnapshotOrder()
	clock, all := order.Clock, order.All
	if me.Node.Role != wire.Worker || len(s.view.Shards) == 0 {
		return
	}
	if s.snap == nil || s.snap.clock != clock {
		if clock != 0 && (s.told.Snapshot == clock && s.snap == nil || all &&
			clock <= s.told.Snapshot) {
			s.snapshotDone([]wire.Node{me.Node}, clock, 0)
			return
		}
		if clock != 0 && (s.view.Snapshot == clock && s.snap == nil || all &&
			clock <= s.view.Snapshot) {
			s.answer = append(s.answer, me.Node)
			return
		}
		if s.snap != nil && s.snap.whole {
			return // one after the other
		}
		s.tries++
		s.snap = &collection{clock: clock, try: uint32(s.told.Number)<<12 | s.tries&0xfff, all: all,
			files: map[uint32]wire.SnapshotFile{}}
	}
	s.snap.heard = s.awake.Time
	if s.snap.has(me.Node) {
		s.tellWaiting(me.Node, m, s.blameSnapshot())
		return
	}
	s.snap.asked = append(s.snap.asked, me.Node)
	if s.gathered() && s.snap.again == 0 {
		s.sendSnapshot()
	}
}

// tickSnapshot repeats orders that servers have not answered. A snapshot that no worker asks for
// any more is given up.
func (s *Scheduler) tickSnapshot() {
	switch {
	case s.snap == nil || s.snap.whole:
	case s.awake.Time-s.snap.heard > s.cfg.Timing.Dead:
		s.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0,
			fmt.Sprintf("given up at clock %d: no worker waits for it", s.snap.clock))
		s.discard(s.snap)
		s.snap = nil
	case s.now >= s.snap.again && s.gathered():
		s.sendSnapshot()
	}
}

// has reports whether a worker has asked for the snapshot.
func (c *collection) has(n wire.Node) bool { return slices.Contains(c.asked, n) }

// absent returns the first worker that a snapshot of everything waits for, nobody if there is none.
func (s *Scheduler) absent() wire.Node {
	for i := range s.view.Workers {
		if m := &s.view.Workers[i]; s.snap.all && s.counts(m) && !s.snap.has(m.Node) {
			return m.Node
		}
	}
	return wire.Node{}
}

func (s *Scheduler) gathered() bool { return s.absent().IsZero() }

func (s *Scheduler) sendSnapshot() {
	s.snap.again = s.now + s.cfg.Timing.Resend
	for i := range s.view.Servers {
		if n := &s.view.Servers[i]; n.Alive {
			m := s.message(wire.TypeSnapshot)
			m.SetSnapshotOrder(wire.SnapshotOrder{Clock: s.snap.clock, Try: s.snap.try,
				All: s.snap.all})
			s.send(n.Node, m)
		}
	}
}

func (s *Scheduler) snapshotDone(to []wire.Node, clock uint64, failed wire.Failure) {
	for _, n := range to {
		m := s.message(wire.TypeSnapshotDone)
		m.SetSnapshotResult(wire.SnapshotResult{Clock: clock, Failure: failed})
		s.send(n, m)
	}
}

// collect takes in one shard's part of a snapshot. With the last the snapshot is whole, and exists
// when its manifest is durable.
func (s *Scheduler) collect(me *wire.Member, m *wire.Message) {
	c, r := s.snap, m.SnapshotResult()
	if c == nil || r.Clock != c.clock || r.Try != c.try {
		if r.Failure == 0 && r.Clock > s.view.Snapshot {
			// the attempt has failed meanwhile
			s.out.Discard = append(s.out.Discard, ps.Part{Clock: r.Clock, Name: string(m.Payload)})
		}
		return
	}
	if c.whole || int(m.Shard) >= len(s.view.Shards) {
		return
	}
	place := &s.view.Shards[m.Shard]
	if place.Primary != (wire.Replica{Server: me.Node.Rank, Incarnation: me.Incarnation}) ||
		m.Epoch != place.Epoch {
		return
	}
	if r.Failure != 0 {
		s.failCollection(r.Failure)
		return
	}
	c.files[m.Shard] = wire.SnapshotFile{Shard: m.Shard, Checksum: r.Checksum, Size: r.Size,
		Name: string(m.Payload)}
	if len(c.files) < len(s.view.Shards) {
		return
	}
	manifest := &wire.Manifest{Job: s.cfg.Job, Clock: c.clock}
	for i := range s.view.Shards {
		manifest.Files = append(manifest.Files, c.files[uint32(i)])
	}
	s.out.Manifest, c.whole = manifest, true
}

// failCollection gives up a snapshot, and says why.
func (s *Scheduler) failCollection(why wire.Failure) {
	c := s.snap
	s.snap = nil
	s.discard(c)
	s.snapshotDone(c.asked, c.clock, why)
}

// discard has the parts removed of a snapshot that has failed. Parts that are reported later are
// removed then.
func (s *Scheduler) discard(c *collection) {
	for i := range s.view.Shards {
		if f, ok := c.files[uint32(i)]; ok {
			s.out.Discard = append(s.out.Discard, ps.Part{Clock: c.clock, Name: f.Name})
		}
	}
}

// Recorded says that the manifest of Outbox.Manifest is durable, or why it is not: then the
// snapshot has failed. Workers hear of one that exists when the view says so.
func (s *Scheduler) Recorded(now ps.Time, clock uint64, err error) {
	s.start(now)
	c := s.snap
	if c == nil || !c.whole || c.clock != clock {
		return
	}
	if err != nil {
		s.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("failed at clock %d: %v",
			clock,
			err))
		s.failCollection(wire.FailureUnwritten)
		s.settle()
		return
	}
	s.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("complete at clock %d", clock))
	s.answer = append(s.answer, c.asked...)
	s.view.Snapshot, s.changed, s.snap = clock, true, nil
	s.settle()
}

// blameSnapshot returns the first worker that has not asked for the snapshot, or the primary of the
// first shard whose part is missing.
func (s *Scheduler) blameSnapshot() wire.Node {
	if n := s.absent(); !n.IsZero() {
		return n
	}
	for i := range s.view.Shards {
		if _, ok := s.snap.files[uint32(i)]; !ok {
			return wire.Node{Role: wire.Server, Rank: s.view.Shards[i].Primary.Server}
		}
	}
	return wire.Node{}
}
