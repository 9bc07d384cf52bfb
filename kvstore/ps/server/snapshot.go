package server

import (
	"encoding/binary"
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// snapshot collects one shard's state at one clock, while training goes on: every entry is taken
// when its round of that clock is applied, or at once when it has just been. So the parts of
// one snapshot are of different moments and of one clock: no worker waits for a snapshot.
type snapshot struct {
	clock uint64 // round of which every entry is taken
	try   uint32 // attempt at a snapshot of this clock
	all   bool   // everything as it is: nobody pushes meanwhile
	// index of the last entry applied when it began: entries that are created later are not part of
	// it
	begun uint64
	left  int              // entries that are not taken yet
	taken map[ps.ID][]byte // encoded entries; nil when all has been handed over
	saved bool             // the driver has written it
	done  wire.Message     // report to the scheduler, repeated when it asks again
}

// snapshots makes one shard's parts of snapshots.
type snapshots struct {
	*host
	*seat
	*replica
	snap *snapshot // nil: none is being made
}

// startSnapshot begins a snapshot of the shard. A repeated request is answered again; one for
// another clock or attempt replaces the snapshot that was being made, which the scheduler has given
// up.
func (sn *snapshots) startSnapshot(order wire.SnapshotOrder) {
	if old := sn.snap; old != nil && old.clock == order.Clock && old.try == order.Try {
		if old.saved {
			old.done.Epoch = sn.epoch // a backup may have been lost since
			sn.me.Send(node.Scheduler, old.done, nil)
		}
		return
	}
	sn.snap = &snapshot{clock: order.Clock, try: order.Try, all: order.All, begun: sn.commit,
		left: len(sn.order), taken: map[ps.ID][]byte{}}
	for _, e := range sn.order {
		sn.capture(e)
	}
	sn.finishSnapshot()
}

// capture takes an entry into the snapshot if it is at the snapshot's clock. Entries without rounds
// have no common clock: they are taken as they are. An entry that has passed the clock makes the
// snapshot impossible, because older versions are gone.
func (sn *snapshots) capture(e *entry) {
	snap := sn.snap
	if snap == nil || snap.taken == nil || snap.taken[e.id] != nil || e.since > snap.begun {
		return
	}
	switch {
	case e.direct || snap.all || e.version == snap.clock:
		b := appendPart(nil, e, e.version, e.value.data(), nil, sn.updater.AppendState(nil, e.id))
		if e.sparse != nil {
			b = e.sparse.Append(b, 0, e.sparse.Len(), false)
		}
		snap.taken[e.id] = b
	case e.version > snap.clock:
		sn.me.Out.Report(ps.EventSnapshot, sn.me.Self, sn.id, sn.epoch,
			fmt.Sprintf("key %d is at clock %d, too late for a snapshot at %d", e.id.Key, e.version,
				snap.clock))
		sn.failSnapshot(wire.FailureLate)
		return
	default:
		return
	}
	snap.left--
	sn.finishSnapshot()
}

// The beginning of a part's file.
const (
	snapshotMagic   = "gomxshrd"
	snapshotVersion = 1
)

// finishSnapshot hands a complete snapshot to the driver. It holds the head as it is now: sequences
// mean nothing to a job that continues from it, and clocks are in the parts.
func (sn *snapshots) finishSnapshot() {
	snap := sn.snap
	if snap == nil || snap.left > 0 || snap.taken == nil {
		return
	}
	le := binary.LittleEndian
	b := append([]byte(nil), snapshotMagic...)
	b = le.AppendUint32(b, snapshotVersion)
	b = le.AppendUint32(b, sn.id)
	b = le.AppendUint64(b, sn.me.Job)
	b = le.AppendUint64(b, snap.clock)
	b = le.AppendUint32(b, uint32(len(snap.taken)))
	head := sn.appendHead(nil)
	b = append(b, head...)
	for _, e := range sn.order {
		b = append(b, snap.taken[e.id]...)
	}
	b = le.AppendUint32(b, wire.Checksum(b))
	snap.taken = nil
	sn.me.Out.Saves = append(sn.me.Out.Saves, ps.Save{Shard: sn.id, Clock: snap.clock,
		Try:  snap.try,
		Data: b})
}

// savedMessage tells the scheduler that a shard's part of a snapshot is in a file.
func (h *host) savedMessage(save *ps.Save, name string) wire.Message {
	m := h.me.Message(wire.TypeSnapshotDone)
	m.Shard, m.Payload = save.Shard, []byte(name)
	m.SetSnapshotResult(wire.SnapshotResult{Clock: save.Clock, Try: save.Try})
	return m
}

// current reports whether a part is of the snapshot that is being made. The driver writes parts in
// its own time: the attempt may have failed meanwhile.
func (sn *snapshots) current(save *ps.Save) bool {
	return sn.snap != nil && sn.snap.clock == save.Clock && sn.snap.try == save.Try
}

// saved notes that the shard's part of a snapshot is durable, and tells the scheduler, with the
// size and checksum by which a reader finds out whether the file is the one.
func (sn *snapshots) saved(save *ps.Save, name string) {
	m := sn.savedMessage(save, name)
	if sn.current(save) { // otherwise it has been given up meanwhile, and may be removed
		m.Epoch = sn.epoch
		m.SetSnapshotResult(wire.SnapshotResult{Clock: save.Clock, Try: save.Try,
			Size: uint64(len(save.Data)), Checksum: SnapshotChecksum(save.Data)})
		sn.snap.saved, sn.snap.done = true, m
	}
	sn.me.Send(node.Scheduler, m, nil)
}

// saveFailed ends a snapshot whose part cannot be written.
func (sn *snapshots) saveFailed(save *ps.Save) {
	if sn.current(save) {
		sn.failSnapshot(wire.FailureUnwritten)
	}
}

// failSnapshot ends a snapshot that cannot be completed, and tells the scheduler the reason.
func (sn *snapshots) failSnapshot(why wire.Failure) {
	m := sn.me.Message(wire.TypeSnapshotDone)
	m.Shard, m.Epoch = sn.id, sn.epoch
	m.SetSnapshotResult(wire.SnapshotResult{Clock: sn.snap.clock, Try: sn.snap.try, Failure: why})
	sn.snap = nil
	sn.me.Send(node.Scheduler, m, nil)
}
