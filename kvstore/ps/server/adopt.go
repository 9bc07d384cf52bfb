package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// adoptShards makes the server's copies agree with its view. It looks at roles first and then at
// members, because a new primary lets new incarnations of workers in.
func (s *Server) adoptShards() {
	me := s.replica()
	for len(s.shards) < len(s.me.View.Shards) {
		s.shards, s.had = append(s.shards, nil), append(s.had, false)
	}
	for i := range s.me.View.Shards {
		place := s.me.View.Shards[i]
		sh := s.shards[i]
		switch {
		case place.Primary == me:
			s.lead(uint32(i), place)
		case place.Backup == me, place.Third == me:
			s.follow(uint32(i), place)
		case sh != nil:
			s.me.Out.Report(ps.EventDropped, s.me.Self, uint32(i), place.Epoch, "")
			sh.close()
			s.shards[i] = nil
		}
	}
	for _, sh := range s.shards {
		if sh != nil && sh.role == primary {
			sh.membersChanged()
		}
	}
}

// replica returns the name of copies on this server.
func (h *host) replica() wire.Replica {
	return wire.Replica{Server: h.me.Self.Rank, Incarnation: h.me.Inc}
}

// fresh puts an empty copy of a shard in the place of the one before. From now on an empty copy of
// this shard is never taken for a complete one.
func (s *Server) fresh(id uint32, place wire.Shard) *shard {
	sh := newShard(s.host, s.rounds, id, place)
	s.shards[id], s.had[id] = sh, true
	return sh
}

// lead makes the server the primary of a shard, or lets it stay so in a new view. A server whose
// copy is not complete must not serve: it would show a state that lacks committed pushes. It
// reports the shard as lost.
func (s *Server) lead(id uint32, place wire.Shard) {
	sh := s.shards[id]
	switch {
	case sh == nil && !s.had[id]:
		// We have never acknowledged anything about this shard. So it has been ours in sync since
		// the beginning, and nothing can have been committed without us: the empty copy is
		// complete.
		sh = s.fresh(id, place)
		sh.restore()
		sh.role = primary
		sh.next = sh.commit
	case sh == nil || sh.role == backup && !sh.whole():
		s.me.Out.Report(ps.EventLost, s.me.Self, id, place.Epoch,
			"made primary without a complete copy")
		if sh != nil {
			sh.close()
			s.shards[id] = nil
		}
		return
	case sh.role == backup:
		sh.promote()
	}
	sh.keepPeers(place)
	sh.epoch, sh.place = place.Epoch, place
	if sh.third == nil && !place.Third.IsZero() {
		sh.third = &peer{replica: place.Third, attempt: place.Attempt, acked: sh.next}
	}
	switch {
	case place.Backup.IsZero():
		// The view says that no other copy may be promoted: this one commits alone.
	case sh.peer == nil:
		sh.peer = newPeer(place, sh.next)
		if place.Swapped {
			sh.turn()
		}
	case place.InSync:
		sh.peer.phase = inSync
	}
}

// keepPeers keeps what a primary knows of copies that stay in a new view. A third copy that is in
// sync has taken the place of the backup, in the same epoch. In a new epoch nothing is known of
// other copies: they may have dropped theirs in the meantime.
func (sh *shard) keepPeers(place wire.Shard) {
	same := sh.epoch == place.Epoch
	if t := sh.third; t != nil && same && t.replica == place.Backup {
		sh.peer, sh.third = t, nil
		sh.checks = [len(sh.checks)]checkpoint{}
	}
	if sh.peer != nil && (!same || sh.peer.replica != place.Backup) {
		sh.peer = nil
	}
	if t := sh.third; t != nil && (!same || t.replica != place.Third ||
		t.attempt != place.Attempt) {
		sh.third = nil
	}
}

// follow makes the server a backup of a shard, or a third copy. It keeps its copy if that belongs
// to the same log: in the same epoch, or in the next one after a swap, in which it was the primary.
// Any other copy may hold entries that were never committed, and is made anew from a transfer. So
// is a third copy whose attempt is new: its primary sends the whole state.
func (s *Server) follow(id uint32, place wire.Shard) {
	sh := s.shards[id]
	third := place.Third == s.replica()
	initial := sh == nil && !s.had[id] && place.InSync && !third // as in lead
	keep := sh != nil && sh.role == backup && sh.epoch == place.Epoch &&
		(!third || sh.place.Attempt == place.Attempt)
	if sh != nil && sh.role == primary && place.Swapped && place.Epoch == sh.epoch+1 {
		sh.demote()
		keep = true
	}
	if !keep {
		if sh != nil {
			sh.close()
		}
		sh = s.fresh(id, place)
		sh.role = backup
		sh.blank = !initial
		if initial {
			sh.restore()
		}
	}
	sh.epoch, sh.place = place.Epoch, place
}

// earlyBytes is the number of bytes kept of messages that came before the view that they need, of
// all workers together. Messages beyond that are dropped, and repeated by their senders.
const earlyBytes = 1 << 20

// early keeps a message of a worker that knows a newer view than the server, which asks for it.
// Pushes are repeated from the first gap on: keeping one of them would help little.
func (s *Server) early(m *wire.Message) {
	s.me.Asked = true
	if m.From.Role != wire.Worker || m.Type == wire.TypePush || m.Type == wire.TypePushPull {
		return
	}
	bytes := wire.HeaderSize + len(m.Payload)
	for i := range s.ahead {
		if a := &s.ahead[i]; a.From == m.From && a.Seq == m.Seq && a.Type == m.Type &&
			a.Incarnation == m.Incarnation {
			return
		}
		bytes += wire.HeaderSize + len(s.ahead[i].Payload)
	}
	if bytes > earlyBytes {
		return
	}
	c := *m
	c.Payload, c.Owner = append([]byte(nil), m.Payload...), nil
	s.ahead = append(s.ahead, c)
}

// catchUp handles the messages that came before the view that they need. A message that needs a
// newer view still is kept once more.
func (s *Server) catchUp() {
	list := s.ahead
	s.ahead = nil
	for i := range list {
		s.dispatch(&list[i])
	}
}
