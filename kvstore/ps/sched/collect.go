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
	try   uint32                       // tells attempts at a snapshot of one clock from each other
	all   bool                         // begins when all workers have asked
	files map[uint32]wire.SnapshotFile // parts that servers have written, by shard
	asked []wire.Node                  // workers that wait for it
	again ps.Time                      // when servers are told again; 0: they have not been told
	heard ps.Time                      // awake time at which a worker asked for it last
	whole bool                         // its manifest is being written
}

// collector collects the parts of snapshots, one snapshot after the other. A snapshot exists when
// all parts and the manifest that names them are durable, and workers hear of it when a durable
// view names its clock.
type collector struct {
	*desk
	snap   *collection // nil: none is being made
	tries  uint32      // snapshots begun
	answer []wire.Node // workers that wait for the snapshot of the view that is being written
}

// askSnapshot begins a snapshot at a clock for a worker.
func (co *collector) askSnapshot(me *wire.Member, m *wire.Message) {
	order := m.SnapshotOrder()
	clock, all := order.Clock, order.All
	if me.Node.Role != wire.Worker || len(co.view.Shards) == 0 {
		return
	}
	if co.snap == nil || co.snap.clock != clock {
		if clock != 0 && (co.told.Snapshot == clock && co.snap == nil || all &&
			clock <= co.told.Snapshot) {
			co.snapshotDone([]wire.Node{me.Node}, clock, 0)
			return
		}
		if clock != 0 && (co.view.Snapshot == clock && co.snap == nil || all &&
			clock <= co.view.Snapshot) {
			co.answer = append(co.answer, me.Node)
			return
		}
		if co.snap != nil && !co.makesWay(me, m) {
			return
		}
		// The number of the view keeps attempts of a scheduler apart from attempts of the one
		// before.
		co.tries++
		co.snap = &collection{clock: clock, try: uint32(co.told.Number)<<12 | co.tries&0xfff,
			all:   all,
			files: map[uint32]wire.SnapshotFile{}}
	}
	co.snap.heard = co.awake.Time
	if co.snap.has(me.Node) {
		co.tellWaiting(me.Node, m, co.blameSnapshot())
		return
	}
	co.snap.asked = append(co.snap.asked, me.Node)
	if co.gathered() && co.snap.again == 0 {
		co.sendSnapshot()
	}
}

// makesWay decides between the snapshot that is being made and a request for another one. It
// reports whether the request takes its place now. Snapshots are made one after the other: the
// worker repeats its request. Only a snapshot of everything that waits for workers must not wait
// for one that asks for another number, because numbers grow: the lower number fails, its callers
// are told, and the higher one goes on.
func (co *collector) makesWay(me *wire.Member, m *wire.Message) bool {
	c, order := co.snap, m.SnapshotOrder()
	switch {
	case !c.all || !order.All || c.again != 0 || c.whole:
		co.tellWaiting(me.Node, m, co.blameSnapshot())
		return false
	case order.Clock < c.clock:
		co.snapshotDone([]wire.Node{me.Node}, order.Clock, wire.FailureLate)
		return false
	}
	co.failCollection(wire.FailureLate)
	return true
}

// tickSnapshot repeats orders that servers have not answered. A snapshot that no worker asks for
// any more is given up.
func (co *collector) tickSnapshot() {
	switch {
	case co.snap == nil || co.snap.whole:
	case co.awake.Time-co.snap.heard > co.cfg.Timing.Dead:
		co.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0,
			fmt.Sprintf("given up at clock %d: no worker waits for it", co.snap.clock))
		co.discard(co.snap)
		co.snap = nil
	case co.now >= co.snap.again && co.gathered():
		co.sendSnapshot()
	}
}

// has reports whether a worker has asked for the snapshot.
func (c *collection) has(n wire.Node) bool { return slices.Contains(c.asked, n) }

// absent returns the first worker that a snapshot of everything waits for, nobody if there is none.
func (co *collector) absent() wire.Node {
	for i := range co.view.Workers {
		if m := &co.view.Workers[i]; co.snap.all && co.counts(m) && !co.snap.has(m.Node) {
			return m.Node
		}
	}
	return wire.Node{}
}

// gathered reports whether servers may be told of the snapshot: all workers that it waits for have
// asked.
func (co *collector) gathered() bool { return co.absent().IsZero() }

// sendSnapshot tells all live servers to take the snapshot. Servers repeat the report of a part
// that is written, so that a lost report costs one interval.
func (co *collector) sendSnapshot() {
	co.snap.again = co.now + co.cfg.Timing.Resend
	for i := range co.view.Servers {
		if n := &co.view.Servers[i]; n.Alive {
			m := co.message(wire.TypeSnapshot)
			m.SetSnapshotOrder(wire.SnapshotOrder{Clock: co.snap.clock, Try: co.snap.try,
				All: co.snap.all})
			co.send(n.Node, m)
		}
	}
}

// snapshotDone tells workers that a snapshot exists, or the reason for which it does not.
func (co *collector) snapshotDone(to []wire.Node, clock uint64, failed wire.Failure) {
	for _, n := range to {
		m := co.message(wire.TypeSnapshotDone)
		m.SetSnapshotResult(wire.SnapshotResult{Clock: clock, Failure: failed})
		co.send(n, m)
	}
}

// collect takes in one shard's part of a snapshot. With the last the snapshot is whole, and exists
// when its manifest is durable.
func (co *collector) collect(me *wire.Member, m *wire.Message) {
	c, r := co.snap, m.SnapshotResult()
	// Reports of an attempt that was given up may come late: their files are of no use.
	if c == nil || r.Clock != c.clock || r.Try != c.try {
		if r.Failure == 0 && r.Clock > co.view.Snapshot {
			// the attempt has failed meanwhile
			co.out.Discard = append(co.out.Discard, ps.Part{Clock: r.Clock,
				Name: string(m.Payload)})
		}
		return
	}
	if int(m.Shard) >= len(co.view.Shards) {
		return
	}
	// A server that leads a shard again writes its part again. One of the two files is of no use.
	old, have := c.files[m.Shard]
	other := have && old.Name != string(m.Payload) && r.Failure == 0
	if c.whole {
		if other {
			co.out.Discard = append(co.out.Discard, ps.Part{Clock: r.Clock, Name: string(m.Payload)})
		}
		return
	}
	place := &co.view.Shards[m.Shard]
	if place.Primary != (wire.Replica{Server: me.Node.Rank, Incarnation: me.Incarnation}) ||
		m.Epoch != place.Epoch {
		return
	}
	if r.Failure != 0 {
		co.failCollection(r.Failure)
		return
	}
	if other {
		co.out.Discard = append(co.out.Discard, ps.Part{Clock: r.Clock, Name: old.Name})
	}
	c.files[m.Shard] = wire.SnapshotFile{Shard: m.Shard, Checksum: r.Checksum, Size: r.Size,
		Name: string(m.Payload)}
	if len(c.files) < len(co.view.Shards) {
		return
	}
	manifest := &wire.Manifest{Job: co.cfg.Job, Clock: c.clock}
	for i := range co.view.Shards {
		manifest.Files = append(manifest.Files, c.files[uint32(i)])
	}
	co.out.Manifest, c.whole = manifest, true
}

// failCollection gives up a snapshot, and says why.
func (co *collector) failCollection(why wire.Failure) {
	c := co.snap
	co.snap = nil
	co.discard(c)
	co.snapshotDone(c.asked, c.clock, why)
}

// discard has the parts removed of a snapshot that has failed. Parts that are reported later are
// removed then.
func (co *collector) discard(c *collection) {
	for i := range co.view.Shards {
		if f, ok := c.files[uint32(i)]; ok {
			co.out.Discard = append(co.out.Discard, ps.Part{Clock: c.clock, Name: f.Name})
		}
	}
}

// recorded ends a snapshot whose manifest is durable, or could not be made so. It reports whether
// the view or the outbox has changed.
func (co *collector) recorded(clock uint64, err error) bool {
	c := co.snap
	if c == nil || !c.whole || c.clock != clock {
		return false
	}
	if err != nil {
		co.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("failed at clock %d: %v",
			clock, err))
		co.failCollection(wire.FailureUnwritten)
		return true
	}
	co.out.Report(ps.EventSnapshot, wire.Node{}, 0, 0, fmt.Sprintf("complete at clock %d", clock))
	co.answer = append(co.answer, c.asked...)
	co.view.Snapshot, co.changed, co.snap = clock, true, nil
	return true
}

// blameSnapshot returns the first worker that has not asked for the snapshot, or the primary of the
// first shard whose part is missing.
func (co *collector) blameSnapshot() wire.Node {
	if n := co.absent(); !n.IsZero() {
		return n
	}
	for i := range co.view.Shards {
		if _, ok := co.snap.files[uint32(i)]; !ok {
			return wire.Node{Role: wire.Server, Rank: co.view.Shards[i].Primary.Server}
		}
	}
	return wire.Node{}
}
