package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// A server that comes back, or is new, has no copies, while others have more than their share. So
// the scheduler moves backups, one at a time: it names a third copy of a shard (wire.Shard.Third),
// which the primary makes while the backup stays in sync. When the third copy has everything, one
// view puts it in the place of the backup. There is no moment with fewer copies than before, and
// whichever server dies meanwhile, two of the three copies were complete, or the one that was made
// is given up.
//
// Invariants:
//  1. A shard has a third copy only while its backup is in sync and no swap is under way.
//  2. Only one view at a time calls a copy the backup. The epoch does not change with a move: the
//     primary commits nothing that one of the copies lacks, from the moment at which the third copy
//     has the state until the view that ends the move.

// copies counts the copies on every server. Primaries and backups count alike, because both apply
// every entry of the log. A third copy counts in the place of the backup that it replaces.
func (pl *placement) copies() []int {
	n := make([]int, len(pl.view.Servers))
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Lost {
			continue
		}
		n[sh.Primary.Server]++
		switch {
		case !sh.Third.IsZero():
			n[sh.Third.Server]++
		case !sh.Backup.IsZero():
			n[sh.Backup.Server]++
		}
	}
	return n
}

// spread moves the backup of one shard if a server has two copies more than another one that could
// take it. It waits until all copies are in sync and the moves and swaps before are over, like
// balance.
func (pl *placement) spread() {
	if pl.changed || pl.writing != nil || pl.view.Over() || pl.snap != nil && pl.snap.again != 0 {
		return
	}
	for i := range pl.view.Shards {
		if sh := &pl.view.Shards[i]; !sh.Lost && (!sh.InSync || sh.Swapped || !sh.Third.IsZero()) {
			return
		}
	}
	copies := pl.copies()
	best, to := -1, wire.Replica{}
	gain := 1 // difference between the two servers that a move must exceed
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Lost || !pl.fresh(sh.Primary) {
			continue
		}
		for s := range copies {
			r := pl.replica(s)
			if r == sh.Primary || r == sh.Backup || !pl.fresh(r) || !pl.takes(s) {
				continue
			}
			if d := copies[sh.Backup.Server] - copies[s]; d > gain {
				best, to, gain = i, r, d
			}
		}
	}
	if best >= 0 {
		pl.begin(uint32(best), to)
	}
}

// takes reports whether a server may be given copies and primaries: it is not to leave, and nobody
// else is awaited in its place.
func (pl *placement) takes(server int) bool {
	m := &pl.view.Servers[server]
	return !m.Leaves && !m.Left
}

// retire moves copies away from servers that are to leave, one step at a time, and lets servers go
// that have none. A shard that such a server leads changes places first, and its backup is moved then:
// so every step is one that happens in other jobs as well.
// A server whose copies nobody else can take stays.
func (pl *placement) retire() {
	if pl.changed || pl.writing != nil || pl.view.Over() || pl.snap != nil && pl.snap.again != 0 {
		return
	}
	copies := pl.copies()
	for i := range pl.view.Shards {
		if sh := &pl.view.Shards[i]; !sh.Lost && !sh.Third.IsZero() {
			copies[sh.Backup.Server]++ // until the third copy is in its place
		}
	}
	// A server that has said goodbye by itself, or is dead, has lost its copies already.
	for i := range pl.view.Servers {
		m := &pl.view.Servers[i]
		if m.Leaves && copies[i] == 0 && m.Incarnation != 0 {
			m.Left, m.Alive, m.Leaves, pl.changed = true, false, false, true
			pl.out.Report(ps.EventLeft, m.Node, 0, 0, "its copies are elsewhere")
			return
		}
	}
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Lost || !sh.InSync || sh.Swapped || !sh.Third.IsZero() {
			continue
		}
		// Copies on a server that is to leave, of this shard.
		from := !pl.takes(int(sh.Primary.Server))
		switch back := !pl.takes(int(sh.Backup.Server)); {
		case from && !back && pl.swappable(sh):
			pl.swap(uint32(i))
			return
		case back && pl.cfg.Replicas > 1 && pl.fresh(sh.Primary):
			if to, ok := pl.spare(sh, copies); ok {
				pl.begin(uint32(i), to)
				return
			}
		}
	}
}

// spare returns the server with the fewest copies that may take one of a shard.
func (pl *placement) spare(sh *wire.Shard, copies []int) (wire.Replica, bool) {
	best := -1
	for s := range copies {
		r := pl.replica(s)
		if r != sh.Primary && r != sh.Backup && pl.takes(s) && pl.fresh(r) &&
			(best < 0 || copies[s] < copies[best]) {
			best = s
		}
	}
	if best < 0 {
		return wire.Replica{}, false
	}
	return pl.replica(best), true
}

// move lets shards of a job with one copy change servers: a shard gets a backup, the two change
// places, and the former primary is dropped. Until the swap is confirmed there are two copies, and
// either may die; after it the new one is the only copy, as the old one was before.
func (pl *placement) move() {
	if pl.changed || pl.writing != nil || pl.view.Over() || pl.snap != nil && pl.snap.again != 0 {
		return
	}
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		switch {
		case sh.Lost || sh.Backup.IsZero():
			continue
		case sh.InSync && !sh.Swapped && sh.Moving && pl.swappable(sh):
			pl.swap(uint32(i))
			sh.Moving = false
		case sh.InSync && !sh.Swapped && !sh.Moving && pl.fresh(sh.Primary):
			pl.drop(sh)
			pl.changed = true
		}
		return // one after the other
	}
	copies := pl.copies()
	best, to, gain := -1, wire.Replica{}, 1
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Lost || !pl.fresh(sh.Primary) {
			continue
		}
		r, ok := pl.spare(sh, copies)
		if !ok {
			continue
		}
		// Shards on a server that is to leave go first, whatever others have.
		d := copies[sh.Primary.Server] - copies[r.Server]
		if !pl.takes(int(sh.Primary.Server)) {
			d += 2 * len(pl.view.Shards)
		}
		if d > gain {
			best, to, gain = i, r, d
		}
	}
	if best >= 0 {
		sh := &pl.view.Shards[best]
		sh.Backup, sh.InSync, sh.Moving, pl.changed = to, false, true, true
	}
}

// begin lets a third copy of a shard be made.
func (pl *placement) begin(id uint32, to wire.Replica) {
	sh := &pl.view.Shards[id]
	sh.Third, pl.changed = to, true
	sh.Attempt++
	pl.out.Report(ps.EventTransfer, wire.Node{Role: wire.Server, Rank: to.Server}, id, sh.Epoch,
		"takes the place of a backup")
}

// giveUpThird takes back a third copy whose server is gone.
func (pl *placement) giveUpThird(sh *wire.Shard) {
	if !sh.Third.IsZero() && !pl.alive(sh.Third) {
		sh.Third, pl.changed = wire.Replica{}, true
	}
}

// replaceBackup puts a third copy that has everything in the place of the backup.
func (pl *placement) replaceBackup(id uint32, sh *wire.Shard) {
	sh.Backup, sh.Third, pl.changed = sh.Third, wire.Replica{}, true
	pl.out.Report(ps.EventInSync, wire.Node{Role: wire.Server, Rank: sh.Backup.Server}, id,
		sh.Epoch,
		"in the place of the backup")
}
