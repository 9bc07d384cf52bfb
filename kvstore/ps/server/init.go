package server

import (
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// creation creates entries and sets optimizers. Worker 0 gives the value or the optimizer; the
// others ask for the same, and are answered when it is there.
type creation struct {
	*host
	*seat
	*replica
	*journal
	*questions
}

// init creates an entry, or says that it exists. Only a message with FlagCreate creates. A worker
// that asks for another shape than the entry has is refused: its program differs from the others'.
func (cr *creation) init(m *wire.Message) {
	id := ps.ID{Key: m.Key, Slice: m.Slice}
	if e := cr.entries[id]; e != nil {
		if e.total != m.Total || e.slices != m.Slices || uint8(e.dtype) != m.DType ||
			e.direct != (m.Flags&wire.FlagDirect != 0) ||
			(e.sparse != nil) != (m.Flags&wire.FlagSparse != 0) ||
			e.table != (m.Flags&wire.FlagRows != 0) || sparseDiffers(e, m) {
			cr.reject(m, wire.ReasonShape)
			return
		}
		cr.answerInit(e, m)
		return
	}
	if m.Flags&wire.FlagCreate == 0 {
		cr.park(m, wire.Node{Role: wire.Worker}) // until the lowest rank has created it
		return
	}
	size, err := initSize(m)
	if err != nil {
		cr.refuse(m, err.Error())
		cr.reject(m, wire.ReasonShape)
		return
	}
	if !cr.affords(size) {
		cr.reject(m, wire.ReasonMemory)
		return
	}
	// Created, and not committed: the answer must wait, because a promoted backup might not have
	// it.
	for i := cr.commit + 1; i <= cr.next; i++ {
		if le := cr.log.At(i); le.kind == kindInit && le.id == id {
			cr.park(m, cr.behind()) // on its way to the backup
			return
		}
	}
	if cr.crowded(m) {
		return
	}
	le := cr.newEntry(kindInit)
	le.head()
	le.own = append(le.own, m.Payload...)
	le.id, le.slices, le.dtype, le.total, le.direct = id, m.Slices, m.DType, m.Total,
		m.Flags&wire.FlagDirect != 0
	le.sparse, le.table = m.Flags&wire.FlagSparse != 0, m.Flags&wire.FlagRows != 0
	if le.table {
		le.clock = m.Clock
	}
	cr.park(m, cr.behind())
	cr.append(le)
}

// sparseDiffers reports whether a worker describes the rows of a sparse key otherwise than they
// are. A question that has waited has no description any more.
func sparseDiffers(e *entry, m *wire.Message) bool {
	if e.sparse == nil || len(m.Payload) == 0 {
		return false
	}
	spec, _, err := rows.DecodeSpec(e.id, e.slices, e.dtype, m.Payload)
	return err != nil || spec.Rows != e.sparse.Store.Rows || spec.Row != e.sparse.Store.Spec.Row
}

// initSize returns the bytes of the slice that a message creates, and checks its description and
// value. The size of a slice follows from the key's total and the number of slices, so that workers
// and servers never disagree; a slice of a sparse key has none. A table is a sparse key without
// rounds.
func initSize(m *wire.Message) (int, error) {
	t := dtype.Type(int8(m.DType))
	if !t.Valid() || m.Slices == 0 {
		return 0, fmt.Errorf("element type %d, %d slices", m.DType, m.Slices)
	}
	if m.Flags&wire.FlagRows != 0 && (m.Flags&wire.FlagDirect == 0 ||
		m.Flags&wire.FlagSparse == 0) {
		return 0, errors.New("table with rounds, or without rows")
	}
	if m.Flags&wire.FlagSparse != 0 {
		_, _, err := rows.DecodeSpec(ps.ID{Key: m.Key, Slice: m.Slice}, m.Slices, t, m.Payload)
		return 0, err
	}
	lo, hi := wire.Range(m.Total, m.Slice, m.Slices)
	if hi-lo > node.MaxSlice {
		return 0, fmt.Errorf("slice of %d bytes, want at most %d", hi-lo, node.MaxSlice)
	}
	return int(hi - lo), (ps.Plain{}).Check(m.Payload, int(hi-lo), t, m.Codec)
}

// affords reports whether the server can take one round of one more entry from every worker, with
// everything it has promised: of each entry the value, the version before, and for every open round
// a push of every worker that waits for lower ranks. So memory runs out when a key is created,
// where a program can be told, and never in the middle of training.
func (cr *creation) affords(size int) bool {
	if cr.cfg.Memory == 0 {
		return true
	}
	return (cr.mem.slices+uint64(size))*uint64(2+cr.cfg.Ahead*cr.workers()) <= cr.cfg.Memory
}

// answerInit tells a worker that an entry exists.
func (cr *creation) answerInit(e *entry, m *wire.Message) {
	a := cr.me.Message(wire.TypeInit)
	a.Shard, a.Epoch, a.Seq, a.Key, a.Slice, a.Slices = cr.id, cr.epoch, m.Seq, e.id.Key,
		e.id.Slice, e.slices
	a.Target = m.Incarnation
	cr.me.Send(m.From, a, nil)
}

// crowded reports whether a message that creates something has to wait until the backup has more of
// the log, and says so: other than pushes, which have their windows, such messages are bounded by
// nothing else.
func (cr *creation) crowded(m *wire.Message) bool {
	bytes := 0
	for i := cr.commit + 1; i <= cr.next; i++ {
		if le := cr.log.At(i); le.kind == kindInit || le.kind == kindSpec {
			bytes += len(le.own)
		}
	}
	if cr.log.Len() < cr.workers()*cr.cfg.Window &&
		(bytes == 0 || bytes+len(m.Payload) <= logBytes) {
		return false
	}
	cr.tellWaiting(m, cr.behind())
	return true
}

// logBytes is the number of bytes of new entries and optimizers that may be in the log of a shard
// and not committed.
const logBytes = 64 << 20

// setOptimizer puts an optimizer into the log, unless it is known. Versions order the calls of a
// program: a repeated or late message with a lower version changes nothing.
func (cr *creation) setOptimizer(m *wire.Message) {
	spec, err := wire.DecodeSpec(m.Payload)
	if err != nil {
		cr.refuse(m, err.Error())
		return
	}
	if cr.spec.Version >= spec.Version {
		cr.answerOptimizer(m)
		return
	}
	m.SetSpecVersion(spec.Version) // for answerable
	for i := cr.commit + 1; i <= cr.next; i++ {
		if le := cr.log.At(i); le.kind == kindSpec && le.clock >= spec.Version {
			cr.park(m, cr.behind())
			return
		}
	}
	if m.Flags&wire.FlagCreate == 0 {
		cr.park(m, wire.Node{Role: wire.Worker}) // until worker 0 has set it
		return
	}
	if cr.crowded(m) {
		return
	}
	le := cr.newEntry(kindSpec)
	le.head()
	le.own = append(le.own, m.Payload...)
	le.clock = spec.Version
	cr.park(m, cr.behind())
	cr.append(le)
}

// answerOptimizer tells a worker the version of the optimizer that is set.
func (cr *creation) answerOptimizer(m *wire.Message) {
	a := cr.me.Message(wire.TypeOptimizer)
	a.Shard, a.Epoch, a.Seq, a.Target = cr.id, cr.epoch, m.Seq, m.Incarnation
	a.SetSpecVersion(cr.spec.Version)
	cr.me.Send(m.From, a, nil)
}
