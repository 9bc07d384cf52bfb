package ps

import (
	"encoding/binary"

	"gomx/dtype"
	"gomx/kvstore/wire"
)

// kind says what a log entry does (wire.LogPlace.Kind).
type kind uint8

const (
	kindInit   kind = iota + 1 // creates an entry; the payload is its value
	kindRound                  // closes a round; the payload is the sum
	kindDirect                 // one push of a key without rounds
	kindSkip                   // a push that changes nothing, because it is late or known
	kindTick                   // ends a worker's clock
	kindJoin                   // a new incarnation of a worker
	kindSpec                   // sets the optimizer
	kindStart                  // where that begins, when rounds have closed without it
	kindBegin                  // a transfer begins: the backup forgets what it has
	kindPart                   // the state of one entry, for a new backup
	kindEnd                    // a transfer ends; the payload is the rest of the shard's state
	kindTurn                   // the log of a primary begins that was the backup, and whose backup was the primary
	lastKind   = kindTurn
)

// logEntry is a change of a shard's replicated state, on its way to all copies.
type logEntry struct {
	kind   kind
	index  uint64
	id     ID
	slices uint16
	dtype  uint8
	codec  uint8
	rows   bool
	direct bool
	total  uint64
	clock  uint64
	n      int     // contributors, in the head of the payload
	buf    *Buffer // head and payload; small kinds use own
	own    []byte  // head and payload of small kinds
	entry  *entry
}

// body returns head and payload.
func (le *logEntry) body() []byte {
	if le.buf != nil {
		return le.buf.entry(le.n)
	}
	return le.own
}

// logRing is a queue of log entries with consecutive indices.
type logRing struct{ window[logEntry] }

// reset says that the next entry will have index after+1.
func (q *logRing) reset(after uint64) { q.first = after + 1 }

func (q *logRing) push(le *logEntry) {
	if q.empty() {
		q.first = le.index
	}
	q.window.push(le)
}

// newEntry returns a blank log entry.
func (s *Server) newEntry(k kind) *logEntry {
	n := len(s.spare)
	if n == 0 {
		return &logEntry{kind: k}
	}
	le := s.spare[n-1]
	s.spare = s.spare[:n-1]
	*le = logEntry{kind: k, own: le.own[:0]}
	return le
}

// recycle takes back a log entry that nobody needs any more.
func (s *Server) recycle(le *logEntry) {
	le.buf.release()
	*le = logEntry{own: le.own[:0]}
	if cap(le.own) > 1<<16 {
		le.own = nil
	}
	s.spare = append(s.spare, le)
}

// head prepares the own body of a small entry: contributors first, then payload.
func (le *logEntry) head(cs ...wire.Contributor) {
	le.n = len(cs)
	size := wire.EntrySize(le.n)
	for len(le.own) < size {
		le.own = append(le.own, 0)
	}
	wire.PutEntry(le.own[:size], le.n, 0)
	for i, c := range cs {
		wire.PutContributor(le.own[:size], i, c)
	}
}

// append adds an entry to the log, sends it to the backup, and commits what may be committed.
func (s *Server) append(sh *shard, le *logEntry) {
	sh.next++
	le.index = sh.next
	sh.log.push(le)
	if sh.peer != nil {
		s.sendEntry(sh, le)
	}
	s.advance(sh)
}

// appendTo adds an entry that concerns e.
func (s *Server) appendTo(sh *shard, e *entry, le *logEntry) {
	le.entry, le.id, le.slices, le.dtype, le.total, le.direct = e, e.id, e.slices, uint8(e.dtype), e.total, e.direct
	s.append(sh, le)
}

// sendEntry passes a log entry to the backup.
func (s *Server) sendEntry(sh *shard, le *logEntry) {
	m := s.message(wire.TypeReplicate)
	m.Shard, m.Epoch = sh.id, sh.epoch
	m.SetLogPlace(wire.LogPlace{Index: le.index, Clock: le.clock, Kind: uint8(le.kind)})
	m.Key, m.Slice, m.Slices, m.DType, m.Codec, m.Total = le.id.Key, le.id.Slice, le.slices, le.dtype, le.codec, le.total
	if le.rows {
		m.Flags |= wire.FlagRows
	}
	if le.direct {
		m.Flags |= wire.FlagDirect
	}
	m.Payload = le.body()
	var hold *Buffer
	if le.buf != nil {
		hold = le.buf.hold()
	} else {
		// The entry may be recycled before the outbox is emptied.
		m.Payload = s.keep(m.Payload)
	}
	s.send(wire.Node{Role: wire.Server, Rank: sh.place.Backup.Server}, m, hold)
	sh.peer.sent = s.now
}

// limit returns up to which index the primary may commit.
func (sh *shard) limit() uint64 {
	if sh.peer != nil && sh.peer.phase >= ended {
		return min(sh.next, max(sh.commit, sh.peer.acked))
	}
	return sh.next
}

// advance applies what may be committed, and forgets what all copies have.
func (s *Server) advance(sh *shard) {
	if sh.busy {
		return
	}
	sh.busy = true
	for more := true; more; more = s.pump(sh) {
		for sh.commit < sh.limit() {
			le := sh.log.at(sh.commit + 1)
			sh.commit++
			s.apply(sh, le)
			s.committed(sh, le)
			s.checkpoint(sh, le)
		}
		keep := sh.commit
		if sh.peer != nil {
			keep = min(keep, sh.peer.acked)
		}
		for !sh.log.empty() && sh.log.first <= keep {
			s.recycle(sh.log.pop())
		}
	}
	sh.busy = false
}

// apply changes the replicated state. It is the only function that does, on all copies.
func (s *Server) apply(sh *shard, le *logEntry) {
	s.stats.Entries++
	body, err := wire.DecodeEntry(le.body())
	if err != nil {
		panic("ps: log entry without a head: " + err.Error())
	}
	e := le.entry
	for i := range body.Len() {
		c := body.At(i)
		rk := &sh.ranks[c.Rank]
		if c.Incarnation == rk.incarnation {
			rk.mark(c.Seq, c.Outcome)
		}
		if e != nil {
			e.clocks[c.Rank] = max(e.clocks[c.Rank], le.clock)
		}
		if le.kind == kindTick {
			rk.tick = max(rk.tick, le.clock)
		}
	}
	switch le.kind {
	case kindInit:
		s.create(sh, le, body.Payload)
	case kindRound:
		s.applyRound(sh, le, body.Len(), body.Payload)
	case kindDirect:
		s.applyDirect(sh, le, body.Payload)
	case kindTick:
		s.applyRows(sh, body.Payload)
	case kindJoin:
		s.applyJoin(sh, le)
	case kindStart:
		s.applyStart(sh, le, body.Payload)
	case kindSpec:
		s.applySpec(sh, body.Payload)
	}
}

// applyRound makes the sum the new value, or lets the optimizer make it.
func (s *Server) applyRound(sh *shard, le *logEntry, contributors int, sum []byte) {
	e := le.entry
	e.prev.release()
	e.prev = e.value
	e.version = le.clock
	e.closed = max(e.closed, le.clock)
	if !sh.updater.Active() {
		e.value = le.buf.hold()
		return
	}
	e.value = e.pool.get()
	sh.updater.Update(Update{
		ID: e.id, DType: e.dtype, Dst: e.value.data(), Value: e.prev.data(), Grad: sum,
		Contributors: contributors, Count: s.cfg.Workers, Version: e.version,
	})
}

// writable returns the value's memory for a change in place, or a copy if somebody still reads it.
func (e *entry) writable() []byte {
	if e.value.refs > 1 {
		b := e.pool.get()
		copy(b.data(), e.value.data())
		e.value.release()
		e.value = b
	}
	return e.value.data()
}

// applyDirect applies one push.
func (s *Server) applyDirect(sh *shard, le *logEntry, payload []byte) {
	e := le.entry
	e.version++
	value := e.writable()
	switch {
	case !sh.updater.Active():
		s.cfg.Arithmetic.Add(value, payload, e.dtype, le.codec)
	default:
		grad := payload
		if le.codec != 0 {
			b := e.pool.get()
			defer b.release()
			grad = b.data()
			s.cfg.Arithmetic.Store(grad, payload, e.dtype, le.codec)
		}
		sh.updater.Update(Update{
			ID: e.id, DType: e.dtype, Dst: value, Value: value, Grad: grad,
			Contributors: 1, Count: s.cfg.Workers, Version: e.version,
		})
	}
}

// applyJoin begins the sequences of a worker's new incarnation. When rounds may close without it, nobody waits for it until it has
// said where it starts.
func (s *Server) applyJoin(sh *shard, le *logEntry) {
	rank := int(le.id.Key)
	rk := &sh.ranks[rank]
	if inc := uint32(le.clock); inc > rk.incarnation {
		rk.join(inc)
	}
	if le.total == 0 {
		return
	}
	rk.away = true
	for _, e := range sh.order {
		e.starts[rank] = never
	}
}

// applyStart says where a worker starts: behind a round, behind a push of keys without rounds, and behind a step of tables.
func (s *Server) applyStart(sh *shard, le *logEntry, payload []byte) {
	rank := int(le.id.Key)
	rk := &sh.ranks[rank]
	if rk.incarnation != uint32(le.clock) || len(payload) != 24 {
		return
	}
	clock := binary.LittleEndian.Uint64(payload)
	direct := binary.LittleEndian.Uint64(payload[8:])
	rk.tick = max(rk.tick, binary.LittleEndian.Uint64(payload[16:]))
	rk.away = false
	for _, e := range sh.order {
		if e.direct {
			e.starts[rank], e.clocks[rank] = direct, max(e.clocks[rank], direct)
		} else {
			e.starts[rank], e.clocks[rank] = clock, max(e.clocks[rank], clock)
		}
	}
}

// applySpec sets the optimizer.
func (s *Server) applySpec(sh *shard, payload []byte) {
	spec, err := wire.DecodeSpec(payload)
	if err != nil || spec.Version <= sh.spec.Version {
		return
	}
	sh.spec = spec
	if err := sh.updater.SetSpec(spec); err != nil {
		s.out.event(EventRefused, s.self, sh.id, sh.epoch, "optimizer: "+err.Error())
	}
}

// create makes an entry. A second creation changes nothing.
func (s *Server) create(sh *shard, le *logEntry, value []byte) {
	if sh.entries[le.id] != nil {
		return
	}
	e := &entry{id: le.id, slices: le.slices, dtype: dtype.Type(int8(le.dtype)), total: le.total, direct: le.direct, since: le.index}
	lo, hi := wire.Range(le.total, le.id.Slice, le.slices)
	e.size = int(hi - lo)
	if le.rows {
		e.row, e.size = int(le.total), int(le.clock)
	}
	s.addSlice(sh, e)
	clear(e.value.data())
	copy(e.value.data(), value)
}

// addSlice adds an entry with room for its value.
func (s *Server) addSlice(sh *shard, e *entry) {
	e.clocks, e.starts = make([]uint64, s.cfg.Workers), make([]uint64, s.cfg.Workers)
	e.pool = &pool{mem: &s.mem, head: wire.EntrySize(s.cfg.Workers), size: e.size}
	e.value = e.pool.get()
	sh.entries[e.id] = e
	sh.order = append(sh.order, e)
}
