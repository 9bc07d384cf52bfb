package worker

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// snapshotting is the snapshot that a worker has asked for. The scheduler makes it; the worker only
// repeats the question, and waits. Training goes on meanwhile, but for a snapshot of everything.
type snapshotting struct {
	*agent
	*calls
	snap     *call              // nil: none is under way
	order    wire.SnapshotOrder // of the call; the answer names its clock
	repeatAt ps.Time            // when the scheduler is asked again
}

// askFor asks for a snapshot, as Snapshot and SnapshotAll say. One call is under way at a time.
func (sn *snapshotting) askFor(now ps.Time, order wire.SnapshotOrder, deadline ps.Time,
) (uint64, error) {
	if err := sn.usable("snapshot", ps.NoKey); err != nil {
		return 0, err
	}
	if sn.snap != nil {
		return 0, usage("snapshot", ps.NoKey, "the one before has not ended")
	}
	c := sn.newCall(now, "snapshot", ps.NoKey, deadline)
	c.left = 1
	c.single = single{place: &sn.snap, peer: node.Scheduler}
	sn.snap, sn.order = c, order
	sn.sendSnapshot()
	return c.id, nil
}

// sendSnapshot tells the scheduler of the call, for the first time or again.
func (sn *snapshotting) sendSnapshot() {
	m := sn.me.Message(wire.TypeSnapshot)
	m.SetSnapshotOrder(sn.order)
	sn.repeatAt = sn.now + sn.me.Timing.Resend
	sn.me.Send(node.Scheduler, m, nil)
}

// snapshotDone ends the call if the scheduler speaks about its snapshot, and not about an earlier
// one.
func (sn *snapshotting) snapshotDone(m *wire.Message) {
	c, r := sn.snap, m.SnapshotResult()
	if c == nil || r.Clock != sn.order.Clock {
		return
	}
	c.left = 0
	switch r.Failure {
	case 0:
		sn.end(c, nil)
	case wire.FailureLate:
		sn.end(c, &ps.Error{Op: c.op, Key: c.key, Peer: node.Scheduler,
			Err: fmt.Errorf("%w: a key has passed clock %d", ps.ErrRejected, r.Clock)})
	default:
		sn.end(c, &ps.Error{Op: c.op, Key: c.key, Peer: node.Scheduler,
			Err: fmt.Errorf("%w: a server could not write its part", ps.ErrRejected)})
	}
}

// repeatSnapshot asks the scheduler again when it is time. The scheduler gives up a snapshot that
// nobody asks for, so the question is repeated for as long as the call waits.
func (sn *snapshotting) repeatSnapshot() {
	if sn.snap != nil && sn.now >= sn.repeatAt {
		sn.sendSnapshot()
	}
}
