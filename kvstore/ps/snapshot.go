package ps

import (
	"encoding/binary"
	"fmt"

	"gomx/kvstore/wire"
)

// snapshot collects one shard's state at one clock, while training goes on: every entry is taken when its round of that clock is
// applied, or at once when it has just been. Values are taken by reference, for they are not changed any more.
type snapshot struct {
	clock uint64
	try   uint32 // attempt at a snapshot of this clock
	all   bool   // everything as it is: nobody pushes meanwhile
	begun uint64 // index of the last entry applied when it began: what is created later is not part of it
	left  int
	taken map[ID][]byte // nil when all has been handed over
	saved bool
	done  wire.Message // what the scheduler is told
}

// startSnapshot begins a snapshot of all shards that the server leads. A repeated request is answered again.
func (s *Server) startSnapshot(order wire.SnapshotOrder) {
	for _, sh := range s.shards {
		if sh == nil || sh.role != primary {
			continue
		}
		if sh.snap != nil && sh.snap.clock == order.Clock && sh.snap.try == order.Try {
			if sh.snap.saved {
				sh.snap.done.Epoch = sh.epoch // a backup may have been lost since
				s.send(scheduler, sh.snap.done, nil)
			}
			continue
		}
		sh.snap = &snapshot{clock: order.Clock, try: order.Try, all: order.All, begun: sh.commit, left: len(sh.order), taken: map[ID][]byte{}}
		for _, e := range sh.order {
			s.capture(sh, e)
		}
		s.finishSnapshot(sh)
	}
}

// capture takes an entry into the snapshot if it is at the snapshot's clock.
func (s *Server) capture(sh *shard, e *entry) {
	snap := sh.snap
	if snap == nil || snap.taken == nil || snap.taken[e.id] != nil || e.since > snap.begun {
		return
	}
	switch {
	case e.direct || snap.all || e.version == snap.clock:
		snap.taken[e.id] = appendPart(nil, e, e.version, e.value.data(), nil, sh.updater.AppendState(nil, e.id))
	case e.version > snap.clock:
		s.out.event(EventSnapshot, s.self, sh.id, sh.epoch, fmt.Sprintf("key %d is at clock %d, too late for a snapshot at %d", e.id.Key, e.version, snap.clock))
		s.failSnapshot(sh, wire.FailureLate)
		return
	default:
		return
	}
	snap.left--
	s.finishSnapshot(sh)
}

const (
	snapshotMagic   = "gomxshrd"
	snapshotVersion = 1
)

// finishSnapshot hands a complete snapshot to who writes it.
func (s *Server) finishSnapshot(sh *shard) {
	snap := sh.snap
	if snap == nil || snap.left > 0 || snap.taken == nil {
		return
	}
	le := binary.LittleEndian
	b := append([]byte(nil), snapshotMagic...)
	b = le.AppendUint32(b, snapshotVersion)
	b = le.AppendUint32(b, sh.id)
	b = le.AppendUint64(b, s.job)
	b = le.AppendUint64(b, snap.clock)
	b = le.AppendUint32(b, uint32(len(snap.taken)))
	head := sh.appendHead(nil)
	b = append(b, head...)
	for _, e := range sh.order {
		b = append(b, snap.taken[e.id]...)
	}
	b = le.AppendUint32(b, wire.Checksum(b))
	snap.taken = nil
	s.out.Saves = append(s.out.Saves, Save{Shard: sh.id, Clock: snap.clock, Try: snap.try, Data: b})
}

// Saved says that a shard's part of a snapshot is durable in a file of that name.
func (s *Server) Saved(save *Save, name string) {
	if int(save.Shard) >= len(s.shards) {
		return
	}
	sh := s.shards[save.Shard]
	m := s.message(wire.TypeSnapshotDone)
	m.Shard, m.Payload = save.Shard, []byte(name)
	r := wire.SnapshotResult{Clock: save.Clock, Try: save.Try}
	m.SetSnapshotResult(r)
	if sh == nil || sh.snap == nil || sh.snap.clock != save.Clock || sh.snap.try != save.Try {
		s.send(scheduler, m, nil) // given up meanwhile: it may be removed
		return
	}
	m.Epoch, r.Size, r.Checksum = sh.epoch, uint64(len(save.Data)), wire.Checksum(save.Data)
	m.SetSnapshotResult(r)
	sh.snap.saved, sh.snap.done = true, m
	s.send(scheduler, m, nil)
}

// failSnapshot ends a snapshot that cannot be completed.
func (s *Server) failSnapshot(sh *shard, why wire.Failure) {
	m := s.message(wire.TypeSnapshotDone)
	m.Shard, m.Epoch = sh.id, sh.epoch
	m.SetSnapshotResult(wire.SnapshotResult{Clock: sh.snap.clock, Try: sh.snap.try, Failure: why})
	sh.snap = nil
	s.send(scheduler, m, nil)
}

// SaveFailed says that a shard's part of a snapshot could not be written: the snapshot fails for all.
func (s *Server) SaveFailed(save *Save) {
	if int(save.Shard) >= len(s.shards) {
		return
	}
	if sh := s.shards[save.Shard]; sh != nil && sh.snap != nil && sh.snap.clock == save.Clock && sh.snap.try == save.Try {
		s.failSnapshot(sh, wire.FailureUnwritten)
	}
}

// CheckSnapshot verifies a shard's part of a snapshot without using it.
func CheckSnapshot(b []byte) (shard uint32, clock uint64, err error) {
	const fixed = len(snapshotMagic) + 4 + 4 + 8 + 8 + 4
	le := binary.LittleEndian
	switch {
	case len(b) < fixed+4 || string(b[:len(snapshotMagic)]) != snapshotMagic:
		return 0, 0, fmt.Errorf("%w: not a snapshot", errState)
	case le.Uint32(b[8:]) != snapshotVersion:
		return 0, 0, fmt.Errorf("%w: snapshot of version %d, want %d", errState, le.Uint32(b[8:]), snapshotVersion)
	}
	if got, want := wire.Checksum(b[:len(b)-4]), le.Uint32(b[len(b)-4:]); got != want {
		return 0, 0, fmt.Errorf("%w: snapshot with checksum %#x, it says %#x", errState, got, want)
	}
	return le.Uint32(b[12:]), le.Uint64(b[24:]), nil
}

// RestoredVersion is the version of an optimizer from a snapshot: a job that continues sets its own under higher numbers.
const RestoredVersion = 1

// restore fills a fresh shard from the snapshot that the job continues from. Incarnations start anew: sequences of the old run
// mean nothing, clocks stay.
func (s *Server) restore(sh *shard) {
	if s.cfg.Restore == nil {
		return
	}
	b := s.cfg.Restore(sh.id)
	if b == nil {
		return
	}
	if err := s.load(sh, b); err != nil {
		s.out.event(EventLost, s.self, sh.id, sh.epoch, err.Error())
	}
}

func (s *Server) load(sh *shard, b []byte) error {
	id, _, err := CheckSnapshot(b)
	if err != nil {
		return err
	}
	if id != sh.id {
		return fmt.Errorf("%w: snapshot of shard %d for shard %d", errState, id, sh.id)
	}
	n := binary.LittleEndian.Uint32(b[32:])
	sh.restoring = true
	rest, err := s.setHead(sh, b[36:len(b)-4])
	sh.restoring = false
	if err != nil {
		return err
	}
	for range n {
		if rest, err = s.setPart(sh, rest); err != nil {
			return err
		}
	}
	if len(rest) != 0 {
		return fmt.Errorf("%w: %d bytes too many", errState, len(rest))
	}
	for i := range sh.ranks {
		sh.ranks[i].join(0)
		sh.ranks[i].away = false
	}
	for _, e := range sh.order {
		clear(e.starts)
	}
	return nil
}
