package ps

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/wire"
)

// init creates an entry, or says that it exists. Only a message with FlagCreate creates. A block of a
// table (FlagRows) begins with zeros when it has no payload.
func (s *Server) init(sh *shard, m *wire.Message) {
	id := ID{m.Key, m.Slice}
	if e := sh.entries[id]; e != nil {
		if e.total != m.Total || e.slices != m.Slices || uint8(e.dtype) != m.DType || e.direct != (m.Flags&wire.FlagDirect != 0) {
			s.reject(m, wire.ReasonShape)
			return
		}
		s.answerInit(sh, e, m)
		return
	}
	if m.Flags&wire.FlagCreate == 0 {
		s.park(sh, m, wire.Node{Role: wire.Worker}) // until worker 0 has created it
		return
	}
	size, err := initSize(m)
	if err != nil {
		s.refuse(m, err.Error())
		s.reject(m, wire.ReasonShape)
		return
	}
	if !s.affords(size) {
		s.reject(m, wire.ReasonMemory)
		return
	}
	for i := sh.commit + 1; i <= sh.next; i++ {
		if le := sh.log.at(i); le.kind == kindInit && le.id == id {
			s.park(sh, m, s.behind(sh)) // on its way to the backup
			return
		}
	}
	if s.crowded(sh, m) {
		return
	}
	le := s.newEntry(kindInit)
	le.head()
	le.own = append(le.own, m.Payload...)
	le.id, le.slices, le.dtype, le.total, le.direct = id, m.Slices, m.DType, m.Total, m.Flags&wire.FlagDirect != 0
	if m.Flags&wire.FlagRows != 0 {
		le.rows, le.clock = true, m.Block().Size
	}
	s.park(sh, m, s.behind(sh))
	s.append(sh, le)
}

// maxSlice is the largest slice that a server accepts.
const maxSlice = 1 << 28

// initSize returns the bytes of the slice that a message creates.
func initSize(m *wire.Message) (int, error) {
	t := dtype.Type(int8(m.DType))
	if !t.Valid() || m.Slices == 0 {
		return 0, fmt.Errorf("element type %d, %d slices", m.DType, m.Slices)
	}
	if m.Flags&wire.FlagRows != 0 {
		b := m.Block()
		if b.Row == 0 || b.Size > maxSlice || b.Size%b.Row != 0 || b.Row%uint64(t.Size()) != 0 || m.Flags&wire.FlagDirect == 0 {
			return 0, fmt.Errorf("block of %d bytes with rows of %d bytes of %s", b.Size, b.Row, t)
		}
		if len(m.Payload) == 0 {
			return int(b.Size), nil
		}
		return int(b.Size), (Plain{}).Check(m.Payload, int(b.Size), t, m.Codec)
	}
	lo, hi := wire.Range(m.Total, m.Slice, m.Slices)
	if hi-lo > maxSlice {
		return 0, fmt.Errorf("slice of %d bytes, want at most %d", hi-lo, maxSlice)
	}
	return int(hi - lo), (Plain{}).Check(m.Payload, int(hi-lo), t, m.Codec)
}

// affords reports whether the server can take one round of one more entry from every worker, with everything it has promised.
func (s *Server) affords(size int) bool {
	if s.cfg.Memory == 0 {
		return true
	}
	each := func(n int) uint64 { return uint64(n) * uint64(2+s.cfg.Ahead*s.cfg.Workers) }
	need := each(size)
	for _, other := range s.shards {
		if other == nil {
			continue
		}
		for _, e := range other.order {
			need += each(e.size)
		}
	}
	return need <= s.cfg.Memory
}

func (s *Server) answerInit(sh *shard, e *entry, m *wire.Message) {
	a := s.message(wire.TypeInit)
	a.Shard, a.Epoch, a.Seq, a.Key, a.Slice, a.Slices = sh.id, sh.epoch, m.Seq, e.id.Key, e.id.Slice, e.slices
	a.Target = m.Incarnation
	s.send(m.From, a, nil)
}

// crowded reports whether a message that creates something has to wait until the backup has more of the log, and says so: other than
// pushes, which have their windows, such messages are bounded by nothing else.
func (s *Server) crowded(sh *shard, m *wire.Message) bool {
	bytes := 0
	for i := sh.commit + 1; i <= sh.next; i++ {
		if le := sh.log.at(i); le.kind == kindInit || le.kind == kindSpec {
			bytes += len(le.own)
		}
	}
	if sh.log.len() < s.cfg.Workers*s.cfg.Window && (bytes == 0 || bytes+len(m.Payload) <= logBytes) {
		return false
	}
	s.tellWaiting(sh, m, s.behind(sh))
	return true
}

// logBytes is how much of what creates something may be in the log of a shard and not committed.
const logBytes = 64 << 20

// setOptimizer puts an optimizer into the log, unless it is known.
func (s *Server) setOptimizer(sh *shard, m *wire.Message) {
	spec, err := wire.DecodeSpec(m.Payload)
	if err != nil {
		s.refuse(m, err.Error())
		return
	}
	if sh.spec.Version >= spec.Version {
		s.answerOptimizer(sh, m)
		return
	}
	m.SetSpecVersion(spec.Version) // for answerable
	for i := sh.commit + 1; i <= sh.next; i++ {
		if le := sh.log.at(i); le.kind == kindSpec && le.clock >= spec.Version {
			s.park(sh, m, s.behind(sh))
			return
		}
	}
	if m.Flags&wire.FlagCreate == 0 {
		s.park(sh, m, wire.Node{Role: wire.Worker}) // until worker 0 has set it
		return
	}
	if s.crowded(sh, m) {
		return
	}
	le := s.newEntry(kindSpec)
	le.head()
	le.own = append(le.own, m.Payload...)
	le.clock = spec.Version
	s.park(sh, m, s.behind(sh))
	s.append(sh, le)
}

func (s *Server) answerOptimizer(sh *shard, m *wire.Message) {
	a := s.message(wire.TypeOptimizer)
	a.Shard, a.Epoch, a.Seq, a.Target = sh.id, sh.epoch, m.Seq, m.Incarnation
	a.SetSpecVersion(sh.spec.Version)
	s.send(m.From, a, nil)
}
