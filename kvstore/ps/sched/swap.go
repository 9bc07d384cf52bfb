package sched

import (
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// When a server that died is replaced, its copies are made anew as backups, and the primaries stay
// where they fled to: one server carries the load of two. So the scheduler lets the copies of a
// shard change places, one shard at a time. It is a promotion by which nothing is lost, not even
// for a moment: the new view says that the old primary is in sync, and it is, because it keeps the
// tail of its log, the entries that it has put there and not committed.
//
// The new primary has a part of that tail, and begins its own log with a mark (kindTurn). The index
// of the mark tells the other how far that part goes: it applies so much, forgets the rest, of
// which nobody has heard, and goes on as any backup. Until then it acknowledges nothing, so that
// nothing new is committed. If the new primary dies before, the old one is promoted, and applies
// its whole tail: more than the other has ever shown. If the old one dies the other has all that
// was ever committed.
//
// Invariants:
//  1. A swap begins when both copies know the epoch before it, or have nothing: the one before it
//     has been confirmed by the primary (wire.Shard.Swapped is durable until then), or the primary
//     itself has called the backup in sync in that epoch.
//  2. The tail of a former primary begins behind its last committed entry, and its successor's log
//     begins within or right behind it.

// balance lets the copies of one shard change places if that helps to spread the primaries. It
// waits for the swap before, for a snapshot that is being made, and until all else that has changed
// is durable.
//
// A server that leads two shards more than another gives one away if there is a way to the other: a
// shard of its own whose backup is on the next server, that has one whose backup is on the one
// after, and so on. The shortest of all ways is taken, its first shard now; the rest of it is the
// shortest way then. Servers on the way lead one shard less than its first and one more than its
// last, or there would be a shorter one: so no server ever leads more than the one that led most,
// and the sum of squares of their shards falls when a way has been gone. When there is none the
// greatest number of shards that a server leads is as small as it can be with these copies, and the
// smallest as great: all that the first can reach lead as many or one less, and can give to no
// other.
func (pl *placement) balance() {
	if pl.changed || pl.writing != nil || pl.snap != nil && pl.snap.again != 0 {
		return
	}
	pl.load = append(pl.load[:0], make([]int, len(pl.view.Servers))...)
	for i := range pl.view.Shards {
		sh := &pl.view.Shards[i]
		if sh.Swapped {
			return
		}
		if !sh.Lost {
			pl.load[sh.Primary.Server]++
		}
	}
	low := len(pl.view.Shards)
	for i := range pl.load {
		if pl.takes(i) {
			low = min(low, pl.load[i])
		}
	}
	best, least := -1, len(pl.load)
	for from := range pl.load {
		if pl.load[from] < low+2 {
			continue
		}
		if first, length := pl.way(from); length < least {
			best, least = first, length
		}
	}
	if best >= 0 {
		pl.swap(uint32(best))
	}
}

// reached is a server on a way, the shard with which the way begins, and its length.
type reached struct{ server, first, length int }

// way returns the first shard and the length of the shortest way from a server to one that leads at
// least two shards less.
func (pl *placement) way(from int) (first, length int) {
	pl.ways = append(pl.ways[:0], reached{server: from, first: -1})
	for i := 0; i < len(pl.ways); i++ {
		at := pl.ways[i]
		if pl.load[from] >= pl.load[at.server]+2 {
			return at.first, at.length
		}
		for id := range pl.view.Shards {
			sh := &pl.view.Shards[id]
			to := int(sh.Backup.Server)
			if int(sh.Primary.Server) != at.server || !pl.swappable(sh) || !pl.takes(to) ||
				slices.ContainsFunc(pl.ways, func(r reached) bool { return r.server == to }) {
				continue
			}
			next := reached{to, at.first, at.length + 1}
			if at.first < 0 {
				next.first = id
			}
			pl.ways = append(pl.ways, next)
		}
	}
	return -1, len(pl.load)
}

// swappable reports whether the copies of a shard may change places: both are there, and know of
// each other.
func (pl *placement) swappable(sh *wire.Shard) bool {
	return !sh.Lost && sh.InSync && !sh.Swapped && sh.Third.IsZero() && pl.fresh(sh.Primary) &&
		pl.fresh(sh.Backup) &&
		!pl.view.Over()
}

// swap lets the copies of a shard change places.
func (pl *placement) swap(id uint32) {
	sh := &pl.view.Shards[id]
	sh.Epoch++
	sh.Primary, sh.Backup, sh.Swapped = sh.Backup, sh.Primary, true
	pl.changed = true
	pl.out.Report(ps.EventSwapped, wire.Node{Role: wire.Server, Rank: sh.Primary.Server}, id,
		sh.Epoch,
		"")
}
