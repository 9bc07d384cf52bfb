package ps

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/wire"
)

// Armed is a push that a server waits for, described so exactly that a transport's receive loop can recognize it and add its payload
// where it belongs, without a copy and without asking. Whatever differs in any way goes through Handle.
type Armed struct {
	Shard       uint32
	Epoch       uint64
	ID          ID
	Rank        uint16
	Incarnation uint32
	Seq         uint64
	Clock       uint64
	DType       dtype.Type
	Store       bool   // the payload is the first of its round: it is stored, not added
	Dst         []byte // memory of the sum, as long as the plain payload
}

// Matches reports whether a message is the push that is waited for, plain and complete.
func (a *Armed) Matches(m *wire.Message) bool {
	return (m.Type == wire.TypePush || m.Type == wire.TypePushPull) && m.Flags&^(wire.FlagRetry|wire.FlagExact) == 0 &&
		m.Shard == a.Shard && m.Epoch == a.Epoch && m.Key == a.ID.Key && m.Slice == a.ID.Slice && m.Seq == a.Seq && m.Clock == a.Clock &&
		m.From == (wire.Node{Role: wire.Worker, Rank: a.Rank}) && m.Incarnation == a.Incarnation &&
		m.Codec == 0 && m.DType == uint8(a.DType) && len(m.Payload) == len(a.Dst)
}

// Arm returns the next push of the open round of a slice: that of the lowest rank which is expected and has not contributed. It is
// valid until the server is used again. There is none when the server does not lead the shard, when the key has no rounds, or when
// the worker has not been let in.
func (s *Server) Arm(shard uint32, id ID) (Armed, bool) {
	if s.fenced || int(shard) >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != primary || s.cfg.Backups > 0 {
		return Armed{}, false
	}
	sh := s.shards[shard]
	e := sh.entries[id]
	if e == nil || e.direct {
		return Armed{}, false
	}
	rd := e.open(e.closed + 1)
	if rd == nil {
		rd = s.newRound(e, e.closed+1)
		e.insert(rd)
	}
	rank := rd.done
	for rank < len(rd.have) && !rd.have[rank].in && !s.expects(e, rank, rd.clock) {
		rank++
	}
	if rank == len(rd.have) || rd.have[rank].in || sh.ranks[rank].incarnation == 0 || e.clocks[rank] >= rd.clock {
		return Armed{}, false
	}
	rc, rk := &sh.receipts[rank], &sh.ranks[rank]
	seq := max(rc.received, rk.low) + 1
	for rk.has(seq) {
		seq++
	}
	return Armed{
		Shard: shard, Epoch: sh.epoch, ID: id, Rank: uint16(rank), Incarnation: rk.incarnation, Seq: seq, Clock: rd.clock,
		DType: e.dtype, Store: rd.empty, Dst: rd.sum.data(),
	}, true
}

// Absorb takes in an armed push whose payload has been added to Dst already. It does with the message what Handle does, but for the
// sum. It returns an error, and changes nothing, when the push is not the one that is armed: then the sum is spoilt, and the server
// must end.
func (s *Server) Absorb(now Time, m *wire.Message) error {
	s.start(now)
	a, ok := s.Arm(m.Shard, ID{m.Key, m.Slice})
	if !ok || !a.Matches(m) {
		return fmt.Errorf("ps: %s was added to a sum that does not wait for it", m)
	}
	s.absorbing = true
	s.dispatch(m)
	s.absorbing = false
	return nil
}
