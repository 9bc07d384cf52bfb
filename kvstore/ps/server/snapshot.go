package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
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
	left  int                 // entries that are not taken yet
	taken map[ps.ID]*captured // entries; nil when all has been handed over
	file  *stream             // the file, which is handed over piece by piece
	epoch uint64              // of the shard when the file was handed over
	saved bool                // the driver has written it
	done  wire.Message        // report to the scheduler, repeated when it asks again
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
	sn.dropSnapshot()
	sn.snap = &snapshot{clock: order.Clock, try: order.Try, all: order.All, begun: sn.commit,
		left: len(sn.order), taken: map[ps.ID]*captured{}}
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
		c := &captured{bytes: appendPart(nil, e, e.version, nil, nil,
			sn.updater.AppendState(nil, e.id)), value: e.value.hold()}
		if e.sparse != nil {
			c.rows = e.sparse.Store.Cut()
			c.bytes = e.sparse.AppendHead(c.bytes, c.rows.Len(), false)
		}
		snap.taken[e.id] = c
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

// captured is an entry that has been taken. It refers to the value, which is not written while it
// does, and to the rows.
type captured struct {
	bytes []byte
	value *buffer   // follows; nil: it has been handed over
	rows  *rows.Cut // records of a sparse entry, which follow then; nil: there are none
}

// stream is the file of a shard, whose values and rows are read while it is written: no second copy
// of them is made but of those that change meanwhile.
type stream struct {
	list []*captured // entries that are not read to their end
	busy *buffer     // value that the driver is writing
	size uint64      // bytes so far
	sum  uint32      // of the bytes so far
	over bool        // the checksum, which ends the file, has been handed over
	gone bool        // the snapshot has been given up
}

// errGone says that a part of a snapshot cannot be read to its end.
var errGone = errors.New("the snapshot has been given up")

// pieceSize is about how many bytes of rows are handed over at once.
const pieceSize = 1 << 20

// next is ps.Save.Rest.
func (st *stream) next() ([]byte, error) {
	st.busy.release()
	if st.busy = nil; st.gone {
		return nil, errGone
	}
	for len(st.list) > 0 {
		c := st.list[0]
		piece := c.bytes
		if c.bytes = nil; len(piece) == 0 && c.value != nil {
			piece, st.busy, c.value = c.value.data(), c.value, nil
		}
		if len(piece) == 0 && c.rows != nil {
			// It fails when the server has given the shard up meanwhile.
			var err error
			if piece, err = c.rows.Next(pieceSize); err != nil {
				return nil, err
			}
		}
		if len(piece) > 0 {
			st.size, st.sum = st.size+uint64(len(piece)), wire.ChecksumMore(st.sum, piece)
			return piece, nil
		}
		if st.list = st.list[1:]; st.busy != nil { // an empty value
			st.busy.release()
			st.busy = nil
		}
	}
	if st.over {
		return nil, nil
	}
	st.over, st.size = true, st.size+4
	return binary.LittleEndian.AppendUint32(nil, st.sum), nil
}

// drop gives up the rest of a file. The driver may be writing the last piece: its memory comes back
// with the next call of next.
func (st *stream) drop() {
	release(st.list)
	st.list, st.gone = nil, true
}

// release lets go of the values of entries.
func release(list []*captured) {
	for _, c := range list {
		c.value.release()
		c.value = nil
	}
}

// dropSnapshot gives up the snapshot that is being made.
func (sn *snapshots) dropSnapshot() {
	if sn.snap == nil {
		return
	}
	release(slices.Collect(maps.Values(sn.snap.taken)))
	if sn.snap.file != nil {
		sn.snap.file.drop()
	}
	sn.snap = nil
}

// The beginning of a part's file. Files without sparse entries are of version 1, which earlier
// releases read.
const (
	snapshotMagic   = "gomxshrd"
	snapshotVersion = 1
	snapshotSparse  = 2
)

// finishSnapshot hands a complete snapshot to the driver, as a stream. It holds the head as it is
// now: sequences mean nothing to a job that continues from it, and clocks are in the parts.
func (sn *snapshots) finishSnapshot() {
	snap := sn.snap
	if snap == nil || snap.left > 0 || snap.taken == nil {
		return
	}
	le := binary.LittleEndian
	// A shard with a sparse entry has a file that earlier releases refuse by its version, even
	// where nobody has pushed a row.
	version := uint32(snapshotVersion)
	var list []*captured
	for _, e := range sn.order {
		if c := snap.taken[e.id]; c != nil {
			list = append(list, c)
		}
		if e.sparse != nil {
			version = snapshotSparse
		}
	}
	b := append([]byte(nil), snapshotMagic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, sn.id)
	b = le.AppendUint64(b, sn.me.Job)
	b = le.AppendUint64(b, snap.clock)
	b = le.AppendUint32(b, uint32(len(snap.taken)))
	head := sn.appendHead(nil)
	b = append(b, head...)
	snap.taken = nil
	snap.epoch = sn.epoch
	snap.file = &stream{list: list, size: uint64(len(b)), sum: wire.Checksum(b)}
	sn.me.Out.Saves = append(sn.me.Out.Saves, ps.Save{Shard: sn.id, Clock: snap.clock,
		Epoch: snap.epoch, Try: snap.try, Data: b, Rest: snap.file.next})
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
	return sn.snap != nil && sn.snap.clock == save.Clock && sn.snap.try == save.Try &&
		sn.snap.epoch == save.Epoch
}

// saved notes that the shard's part of a snapshot is durable, and tells the scheduler, with the
// size and checksum by which a reader finds out whether the file is the one.
func (sn *snapshots) saved(save *ps.Save, name string) {
	m := sn.savedMessage(save, name)
	if sn.current(save) { // otherwise it has been given up meanwhile, and may be removed
		m.Epoch = sn.epoch
		// The bytes have gone through the stream, and are nowhere else.
		m.SetSnapshotResult(wire.SnapshotResult{Clock: save.Clock, Try: save.Try,
			Size: sn.snap.file.size, Checksum: sn.snap.file.sum})
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
	sn.dropSnapshot()
	sn.me.Send(node.Scheduler, m, nil)
}
