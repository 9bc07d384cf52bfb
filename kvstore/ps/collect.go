package ps

import (
	"fmt"
	"slices"

	"gomx/kvstore/wire"
)

// collection is a snapshot that is being made.
type collection struct {
	clock uint64
	all   bool // begins when all workers have asked
	files map[uint32]wire.SnapshotFile
	asked []wire.Node
	again Time
	heard Time // when somebody asked for it last
}

// askSnapshot begins a snapshot at a clock for a worker.
func (s *Scheduler) askSnapshot(me *wire.Member, m *wire.Message) {
	clock, all := m.Clock, m.Flags&wire.FlagLast != 0
	if me.Node.Role != wire.Worker || len(s.view.Shards) == 0 {
		return
	}
	if s.snap == nil || s.snap.clock != clock {
		if clock != 0 && (s.view.Snapshot == clock && s.snap == nil || all && clock <= s.view.Snapshot) {
			s.snapshotDone([]wire.Node{me.Node}, clock, 0)
			return
		}
		s.snap = &collection{clock: clock, all: all, files: map[uint32]wire.SnapshotFile{}}
	}
	s.snap.heard = s.now
	if s.snap.has(me.Node) {
		s.tellWaiting(me.Node, m, s.blameSnapshot())
		return
	}
	s.snap.asked = append(s.snap.asked, me.Node)
	if s.gathered() && s.snap.again == 0 {
		s.sendSnapshot()
	}
}

// tickSnapshot repeats what servers have not answered. A snapshot that nobody asks for any more is given up.
func (s *Scheduler) tickSnapshot() {
	switch {
	case s.snap == nil:
	case s.now-s.snap.heard > s.cfg.Timing.Dead:
		s.out.event(EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("given up at clock %d: no worker waits for it", s.snap.clock))
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
			m.Clock = s.snap.clock
			if s.snap.all {
				m.Flags = wire.FlagLast
			}
			s.out.Sends = append(s.out.Sends, Send{To: n.Node, Msg: m})
		}
	}
}

func (s *Scheduler) snapshotDone(to []wire.Node, clock, failed uint64) {
	for _, n := range to {
		m := s.message(wire.TypeSnapshotDone)
		m.Clock, m.Need = clock, failed
		s.out.Sends = append(s.out.Sends, Send{To: n, Msg: m})
	}
}

// collect takes in one shard's part of a snapshot. With the last the snapshot exists.
func (s *Scheduler) collect(me *wire.Member, m *wire.Message) {
	c := s.snap
	if c == nil || m.Clock != c.clock || int(m.Shard) >= len(s.view.Shards) {
		return
	}
	place := &s.view.Shards[m.Shard]
	if place.Primary != (wire.Replica{Server: me.Node.Rank, Incarnation: me.Incarnation}) || m.Epoch != place.Epoch {
		return
	}
	if m.Need != 0 {
		s.snap = nil
		s.snapshotDone(c.asked, c.clock, m.Need)
		return
	}
	c.files[m.Shard] = wire.SnapshotFile{Shard: m.Shard, Checksum: uint32(m.Seq), Size: m.Total, Name: string(m.Payload)}
	if len(c.files) < len(s.view.Shards) {
		return
	}
	manifest := &wire.Manifest{Job: s.cfg.Job, Clock: c.clock}
	for i := range s.view.Shards {
		manifest.Files = append(manifest.Files, c.files[uint32(i)])
	}
	s.out.Manifest = manifest
	s.out.event(EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("complete at clock %d", c.clock))
	s.view.Snapshot, s.changed, s.snap = c.clock, true, nil
	s.snapshotDone(c.asked, c.clock, 0)
}
