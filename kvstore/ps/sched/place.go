package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// placement decides where the copies of shards live.
type placement struct {
	*desk
	*members
	*collector
	load []int     // shards that each server leads, while balance counts
	ways []reached // of balance, from the server that leads too many shards
}

// place brings the shards' places into line with the servers that are there. All changes of one
// call become durable together, in one view.
func (pl *placement) place() {
	if len(pl.view.Shards) == 0 {
		pl.placeFirst()
		return
	}
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if !sh.Lost {
			pl.replace(uint32(i), sh)
			pl.giveUpThird(sh)
		}
	}
	if pl.cfg.Replicas < 2 {
		pl.move()
		pl.retire()
		return
	}
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Lost || !sh.Backup.IsZero() || !pl.alive(sh.Primary) {
			continue
		}
		if r, ok := pl.candidate(sh.Primary); ok {
			sh.Backup, sh.InSync, pl.changed = r, false, true
		}
	}
	pl.retire()
	pl.spread()
	pl.balance()
}

// placeFirst spreads the shards over the servers when all are there. Empty copies are equal:
// backups are in sync from the start, and a job needs no transfer to begin.
func (pl *placement) placeFirst() {
	var there []int
	for i := range pl.view.Servers {
		m := &pl.view.Servers[i]
		if !m.Left && !m.Alive {
			return
		}
		if m.Alive {
			there = append(there, i)
		}
	}
	n := len(there)
	if n < max(1, pl.cfg.Replicas) {
		return
	}
	for i := range pl.cfg.Shards {
		sh := wire.Shard{Epoch: 1, Primary: pl.replica(there[i%n])}
		if pl.cfg.Replicas == 2 {
			// Shards with the same primary have different backups, so that the load of a dead
			// server is shared.
			sh.Backup, sh.InSync = pl.replica(there[(i%n+1+i/n%(n-1))%n]), true
		}
		pl.view.Shards = append(pl.view.Shards, sh)
		pl.changed = true
	}
}

// fresh reports whether a copy's process is there for certain: it has been heard of lately, and
// knows which servers have been given up.
func (pl *placement) fresh(r wire.Replica) bool {
	n := wire.Node{Role: wire.Server, Rank: r.Server}
	return pl.alive(r) && pl.seen[n] >= pl.proof && pl.silence(n) <= pl.cfg.Timing.Suspect
}

// hopeless reports whether a copy cannot serve: its process is gone, is silent without a
// connection, or has been silent for too long to be waited for.
func (pl *placement) hopeless(r wire.Replica) bool {
	n := wire.Node{Role: wire.Server, Rank: r.Server}
	return !pl.current(r) || !pl.alive(r) &&
		(pl.hungUp(n) || pl.silence(n) > pl.cfg.Timing.Patience)
}

// replace reacts to the loss of a shard's copies. A copy that may come back is given up only for
// the sake of one that is there for certain: when both are silent the one that is heard of first
// decides, and a copy that nothing can stand in for is waited for. Decisions that are put off are
// looked at again with every tick.
func (pl *placement) replace(id uint32, sh *wire.Shard) {
	promotable := !sh.Backup.IsZero() && sh.InSync
	switch {
	case pl.alive(sh.Primary):
		if !sh.Backup.IsZero() && !pl.alive(sh.Backup) && (pl.fresh(sh.Primary) ||
			!pl.current(sh.Backup)) {
			pl.drop(sh)
			pl.changed = true
		}
	case promotable && pl.fresh(sh.Backup):
		pl.promote(id, sh)
	case promotable && !pl.current(sh.Primary) && pl.current(sh.Backup):
		pl.promote(id, sh) // nothing else is left
	case !pl.hopeless(sh.Primary), promotable && !pl.hopeless(sh.Backup):
		// Silent, but nobody else is certain to have all it has: it may only be slow.
	case pl.view.Over():
		// Servers that leave a job which is over lose nothing.
	case pl.takeBack(id, sh):
	default:
		pl.drop(sh)
		sh.Lost, pl.changed = true, true
		pl.out.Report(ps.EventLost, wire.Node{}, id, sh.Epoch, "")
	}
}

// takeBack returns a shard to a copy that was given up in a view of which nobody has heard yet:
// nothing has been committed without it.
func (pl *placement) takeBack(id uint32, sh *wire.Shard) bool {
	if int(id) >= len(pl.told.Shards) || pl.told.Shards[id].Epoch == sh.Epoch {
		return false
	}
	was := &pl.told.Shards[id]
	r := was.Primary
	// The backup of that view has everything as well, if it was in sync.
	if was.InSync && pl.hopeless(r) {
		r = was.Backup
	}
	if r.IsZero() || pl.hopeless(r) {
		return false
	}
	sh.Primary = r
	pl.drop(sh)
	pl.changed = true
	if pl.writing != nil {
		pl.hushed = pl.writing.Number
	}
	pl.out.Report(ps.EventPromoted, wire.Node{Role: wire.Server, Rank: r.Server}, id, sh.Epoch,
		"again")
	return true
}

// drop takes a shard's backup out, and a third copy that was to take its place. The new epoch tells
// the primary that it may commit alone; the old backup, if it lives, takes no entries of the new
// epoch, and makes its copy anew when it is chosen again.
func (pl *placement) drop(sh *wire.Shard) {
	sh.Epoch++
	sh.Backup, sh.Third = wire.Replica{}, wire.Replica{}
	sh.InSync, sh.Swapped, sh.Moving = false, false, false
}

// promote makes the backup the primary, in a new epoch and without a backup.
func (pl *placement) promote(id uint32, sh *wire.Shard) {
	sh.Primary = sh.Backup
	pl.drop(sh)
	pl.changed = true
	pl.out.Report(ps.EventPromoted, wire.Node{Role: wire.Server, Rank: sh.Primary.Server}, id,
		sh.Epoch,
		"")
}

// candidate returns the live server with the fewest copies that is not the primary. A server that
// is to leave is taken only when there is no other.
func (pl *placement) candidate(primary wire.Replica) (wire.Replica, bool) {
	copies := pl.copies()
	best, least := -1, 0
	for i := range pl.view.Servers {
		r := pl.replica(i)
		if !pl.alive(r) || r == primary {
			continue
		}
		load := copies[i]
		if pl.view.Servers[i].Leaves {
			load += 2*len(pl.view.Shards) + 1
		}
		if best < 0 || load < least {
			best, least = i, load
		}
	}
	if best < 0 {
		return wire.Replica{}, false
	}
	return pl.replica(best), true
}

// inSync makes a backup promotable, or notes that it knows of a swap, at the primary's request.
func (pl *placement) inSync(me *wire.Member, m *wire.Message) {
	sh := pl.ledBy(me, m)
	if sh != nil && !sh.Third.IsZero() && sh.Third.Incarnation == m.CopyIncarnation() {
		pl.replaceBackup(m.Shard, sh)
		return
	}
	if sh == nil || sh.Backup.Incarnation != m.CopyIncarnation() || sh.Backup.IsZero() {
		return
	}
	if sh.Swapped {
		sh.Swapped, pl.changed = false, true
	}
	if !sh.InSync {
		sh.InSync, pl.changed = true, true
		pl.out.Report(ps.EventInSync, wire.Node{Role: wire.Server, Rank: sh.Backup.Server}, m.Shard,
			sh.Epoch, "")
	}
}

// diverged drops a backup whose state differs from the primary's. It is built again from the
// beginning.
func (pl *placement) diverged(me *wire.Member, m *wire.Message) {
	sh := pl.ledBy(me, m)
	if sh != nil && !sh.Third.IsZero() && sh.Third.Incarnation == m.CopyIncarnation() {
		pl.out.Report(ps.EventDiverged, wire.Node{Role: wire.Server, Rank: sh.Third.Server},
			m.Shard, sh.Epoch, "third copy")
		sh.Third, pl.changed = wire.Replica{}, true
		return
	}
	if sh != nil && sh.Backup.Incarnation == m.CopyIncarnation() &&
		!sh.Backup.IsZero() {
		pl.out.Report(ps.EventDiverged, wire.Node{Role: wire.Server, Rank: sh.Backup.Server},
			m.Shard,
			sh.Epoch, "")
		pl.drop(sh)
		pl.changed = true
	}
}

// ledBy returns the shard that a message is about if its sender is the primary and knows the epoch.
func (pl *placement) ledBy(me *wire.Member, m *wire.Message) *wire.Shard {
	if int(m.Shard) >= len(pl.view.Shards) {
		return nil
	}
	sh := &pl.view.Shards[m.Shard]
	if sh.Epoch != m.Epoch || sh.Primary != (wire.Replica{Server: me.Node.Rank,
		Incarnation: me.Incarnation}) {
		return nil
	}
	return sh
}
