package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// place brings the shards' places into line with the servers that are there. All changes of one
// call become durable together, in one view.
func (s *Scheduler) place() {
	if len(s.view.Shards) == 0 {
		s.placeFirst()
		return
	}
	for i := range s.view.Shards {
		sh := &s.view.Shards[i]
		if !sh.Lost {
			s.replace(uint32(i), sh)
		}
	}
	if s.cfg.Replicas < 2 {
		return
	}
	for i := range s.view.Shards {
		sh := &s.view.Shards[i]
		if sh.Lost || !sh.Backup.IsZero() || !s.alive(sh.Primary) {
			continue
		}
		if r, ok := s.candidate(sh.Primary); ok {
			sh.Backup, sh.InSync, s.changed = r, false, true
		}
	}
	s.balance()
}

// placeFirst spreads the shards over the servers when all are there. Empty copies are equal:
// backups are in sync from the start.
func (s *Scheduler) placeFirst() {
	n := len(s.view.Servers)
	for i := range s.view.Servers {
		if !s.view.Servers[i].Alive {
			return
		}
	}
	for i := range s.cfg.Shards {
		sh := wire.Shard{Epoch: 1, Primary: s.replica(i % n)}
		if s.cfg.Replicas == 2 {
			// Shards with the same primary have different backups, so that the load of a dead
			// server is shared.
			sh.Backup, sh.InSync = s.replica((i%n+1+i/n%(n-1))%n), true
		}
		s.view.Shards = append(s.view.Shards, sh)
		s.changed = true
	}
}

func (s *Scheduler) replica(rank int) wire.Replica {
	return wire.Replica{Server: uint16(rank), Incarnation: s.view.Servers[rank].Incarnation}
}

// current reports whether a copy's process still holds its place, alive or not; alive whether it is
// heard of as well.
func (s *Scheduler) current(r wire.Replica) bool {
	return !r.IsZero() && s.view.Servers[r.Server].Incarnation == r.Incarnation &&
		!s.view.Servers[r.Server].Left
}

func (s *Scheduler) alive(r wire.Replica) bool {
	return s.current(r) && s.view.Servers[r.Server].Alive
}

// fresh reports whether a copy's process is there for certain: it has been heard of lately, and
// knows which servers have been given up.
func (s *Scheduler) fresh(r wire.Replica) bool {
	n := wire.Node{Role: wire.Server, Rank: r.Server}
	return s.alive(r) && s.seen[n] >= s.proof && s.silence(n) <= s.cfg.Timing.Suspect
}

// hopeless reports whether a copy cannot serve: its process is gone, is silent without a
// connection, or has been silent for too long to be waited for.
func (s *Scheduler) hopeless(r wire.Replica) bool {
	n := wire.Node{Role: wire.Server, Rank: r.Server}
	return !s.current(r) || !s.alive(r) && (s.hungUp(n) || s.silence(n) > s.cfg.Timing.Patience)
}

// replace reacts to the loss of a shard's copies. A copy that may come back is given up only for
// the sake of one that is there for certain: when both are silent the one that is heard of first
// decides, and a copy that nothing can stand in for is waited for. Decisions that are put off are
// looked at again with every tick.
func (s *Scheduler) replace(id uint32, sh *wire.Shard) {
	promotable := !sh.Backup.IsZero() && sh.InSync
	switch {
	case s.alive(sh.Primary):
		if !sh.Backup.IsZero() && !s.alive(sh.Backup) && (s.fresh(sh.Primary) ||
			!s.current(sh.Backup)) {
			s.drop(sh)
			s.changed = true
		}
	case promotable && s.fresh(sh.Backup):
		s.promote(id, sh)
	case promotable && !s.current(sh.Primary) && s.current(sh.Backup):
		s.promote(id, sh) // nothing else is left
	case !s.hopeless(sh.Primary), promotable && !s.hopeless(sh.Backup):
		// Silent, but nobody else is certain to have all it has: it may only be slow.
	case s.view.Over():
		// Servers that leave a job which is over lose nothing.
	case s.takeBack(id, sh):
	default:
		s.drop(sh)
		sh.Lost, s.changed = true, true
		s.out.Report(ps.EventLost, wire.Node{}, id, sh.Epoch, "")
	}
}

// takeBack returns a shard to a copy that was given up in a view of which nobody has heard yet:
// nothing has been committed without it.
func (s *Scheduler) takeBack(id uint32, sh *wire.Shard) bool {
	if int(id) >= len(s.told.Shards) || s.told.Shards[id].Epoch == sh.Epoch {
		return false
	}
	was := &s.told.Shards[id]
	r := was.Primary
	if was.InSync && s.hopeless(r) {
		r = was.Backup
	}
	if r.IsZero() || s.hopeless(r) {
		return false
	}
	sh.Primary = r
	s.drop(sh)
	s.changed = true
	if s.writing != nil {
		s.hushed = s.writing.Number
	}
	s.out.Report(ps.EventPromoted, wire.Node{Role: wire.Server, Rank: r.Server}, id, sh.Epoch,
		"again")
	return true
}

// drop takes a shard's backup out. The new epoch tells the primary that it may commit alone.
func (s *Scheduler) drop(sh *wire.Shard) {
	sh.Epoch++
	sh.Backup, sh.InSync, sh.Swapped = wire.Replica{}, false, false
}

// promote makes the backup the primary.
func (s *Scheduler) promote(id uint32, sh *wire.Shard) {
	sh.Primary = sh.Backup
	s.drop(sh)
	s.changed = true
	s.out.Report(ps.EventPromoted, wire.Node{Role: wire.Server, Rank: sh.Primary.Server}, id,
		sh.Epoch,
		"")
}

// candidate returns the live server with the fewest copies that is not the primary.
func (s *Scheduler) candidate(primary wire.Replica) (wire.Replica, bool) {
	best, least := -1, 0
	for i := range s.view.Servers {
		r := s.replica(i)
		if !s.alive(r) || r == primary {
			continue
		}
		load := 0
		for j := range s.view.Shards {
			if sh := &s.view.Shards[j]; sh.Primary == r || sh.Backup == r {
				load++
			}
		}
		if best < 0 || load < least {
			best, least = i, load
		}
	}
	if best < 0 {
		return wire.Replica{}, false
	}
	return s.replica(best), true
}

// inSync makes a backup promotable, or notes that it knows of a swap, at the primary's request.
func (s *Scheduler) inSync(me *wire.Member, m *wire.Message) {
	sh := s.ledBy(me, m)
	if sh == nil || sh.Backup.Incarnation != m.CopyIncarnation() || sh.Backup.IsZero() {
		return
	}
	if sh.Swapped {
		sh.Swapped, s.changed = false, true
	}
	if !sh.InSync {
		sh.InSync, s.changed = true, true
		s.out.Report(ps.EventInSync, wire.Node{Role: wire.Server, Rank: sh.Backup.Server}, m.Shard,
			sh.Epoch, "")
	}
}

// diverged drops a backup whose state differs from the primary's. It is built again from the
// beginning.
func (s *Scheduler) diverged(me *wire.Member, m *wire.Message) {
	if sh := s.ledBy(me, m); sh != nil && sh.Backup.Incarnation == m.CopyIncarnation() &&
		!sh.Backup.IsZero() {
		s.out.Report(ps.EventDiverged, wire.Node{Role: wire.Server, Rank: sh.Backup.Server},
			m.Shard,
			sh.Epoch, "")
		s.drop(sh)
		s.changed = true
	}
}

// ledBy returns the shard that a message is about if its sender is the primary and knows the epoch.
func (s *Scheduler) ledBy(me *wire.Member, m *wire.Message) *wire.Shard {
	if int(m.Shard) >= len(s.view.Shards) {
		return nil
	}
	sh := &s.view.Shards[m.Shard]
	if sh.Epoch != m.Epoch || sh.Primary != (wire.Replica{Server: me.Node.Rank,
		Incarnation: me.Incarnation}) {
		return nil
	}
	return sh
}
