package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// Join waits until the worker has its place, all shards are served, and they have told how far an earlier process in the same place
// has come. It is the first call.
func (w *Worker) Join(now Time, deadline Time) (uint64, error) {
	if w.joining != nil || w.joined {
		return 0, usage("join", NoKey, "it has been called before")
	}
	c := w.newCall(now, "join", NoKey, deadline)
	w.joining = c
	c.left = 1 // until the shards are known
	w.askCursors()
	return c.id, nil
}

// askCursors asks all shards, as soon as there is a view that has them.
func (w *Worker) askCursors() {
	c := w.joining
	if c == nil || w.joined || w.inc == 0 || len(w.shards) == 0 || c.ended || c.left != 1 {
		return
	}
	w.ticks, w.steps = make([]uint64, len(w.shards)), make([]int, len(w.shards))
	if w.lost != nil {
		w.fail(c, w.lost)
		return
	}
	for i := range w.shards {
		w.ask(w.newPart(c, wire.TypeAskCursor, uint32(i)))
	}
}

// tookCursor takes in one shard's answer. When it is the last the worker has joined.
func (w *Worker) tookCursor(r *route, m *wire.Message) bool {
	cur, err := wire.DecodeCursor(m.Payload)
	if err != nil {
		w.out.event(EventRefused, m.From, m.Shard, m.Epoch, err.Error())
		return false
	}
	w.ticks[r.id] = cur.Tick
	w.from.Step = max(w.from.Step, cur.Last)
	for _, e := range cur.Entries {
		w.cursors[ID{e.Key, e.Slice}] = e
	}
	c := w.joining
	if c.left != 2 { // this part, and the one that stands for the whole
		return true
	}
	if !w.loose() {
		w.findResume()
		w.begin()
		c.left--
		return true
	}
	w.findStart()
	for i := range w.shards {
		p := w.newPart(c, wire.TypeAskCursor, uint32(i))
		p.flags = wire.FlagStart
		w.ask(p)
	}
	return true
}

// begin says that the worker has joined, and where it starts.
func (w *Worker) begin() {
	w.joined, w.started = true, max(w.resumed, w.clock)
}

// findStart works out where to start.
func (w *Worker) findStart() {
	for _, c := range w.cursors {
		if c.Direct {
			w.from.Push = max(w.from.Push, c.Clock, c.Version)
		} else {
			w.from.Round = max(w.from.Round, c.Clock, c.Version)
		}
	}
	w.resumed, w.clock = w.from.Round, w.from.Step
	for i := range w.ticks {
		w.ticks[i] = w.clock
	}
}

// startedOn notes that a shard knows where the worker starts.
func (w *Worker) startedOn() {
	if c := w.joining; c.left == 2 {
		c.left--
		w.begin()
	}
}

// Aside is the first number of keys that are no part of a program's steps: they do not count for Resumed.
const Aside = 1 << 31

// findResume works out where the worker continues when rounds have waited for it: it repeats the step that is committed on some
// shards and not on others.
func (w *Worker) findResume() {
	rounds, direct, rows := uint64(never), uint64(never), false
	for _, c := range w.cursors {
		switch {
		case c.Rows:
			rows = true
		case c.Key >= Aside:
		case c.Direct:
			direct = min(direct, c.Clock)
		default:
			rounds = min(rounds, c.Clock)
		}
	}
	for i, t := range w.ticks {
		if i == 0 || t < w.clock {
			w.clock = t
		}
	}
	switch {
	case rounds != never: // what they were at a step is known for the last step only
		w.resumed = rounds
	case direct != never && rows:
		w.resumed = min(direct, w.clock)
		w.clock = w.resumed
	case direct != never:
		w.resumed = direct
	case rows:
		w.resumed = w.clock
	}
}

// resume returns how many pushes to a slice count as done.
func (w *Worker) resume(c wire.CursorEntry) uint64 {
	switch {
	case !c.Direct:
		return w.resumed
	case w.loose():
		return w.from.Push
	}
	low := c.Clock
	for i := range c.Slices {
		low = min(low, w.cursors[ID{c.Key, i}].Clock)
	}
	return low
}

// Pushes returns how many pushes to a key have begun, those of earlier processes included: the next one is one more.
func (w *Worker) Pushes(key uint32) uint64 {
	k := w.keys[key]
	if k == nil {
		return 0
	}
	low := k.slices[0].clock
	for _, sl := range k.slices {
		low = min(low, sl.clock)
	}
	return low
}

// Clocks returns how many steps the worker has ended by Clock, those of earlier processes that are committed everywhere included.
func (w *Worker) Clocks() uint64 { return w.clock }

// Resumed returns how many pushes to every key are committed for certain: an earlier process in the same place has made them. A
// program that pushes every key once per step, or that ends every step by Clock, continues with the step after. What it repeats of
// that step is recognized, of keys without rounds when it says so by SetClock; what it pulls of keys with rounds meanwhile is as it
// was.
func (w *Worker) Resumed() uint64 { return w.resumed }

// Cursor returns what is committed of a slice of this worker's pushes by earlier processes in its place; ok is false when the slice
// did not exist when the worker joined.
func (w *Worker) Cursor(id ID) (c wire.CursorEntry, ok bool) {
	c, ok = w.cursors[id]
	return c, ok
}

// SetClock says how many pushes to a key count as done, for programs that do not push every key once per step, and for keys without
// rounds of programs that do: pushes that an earlier process has made count once. It must be called between Init and the first Push
// or Pull.
func (w *Worker) SetClock(key uint32, clock uint64) error {
	k := w.keys[key]
	if k == nil {
		return usage("set clock", key, "it has not been initialized")
	}
	for _, sl := range k.slices {
		if len(sl.queue) > 0 || sl.flying > 0 {
			return usage("set clock", key, "it has been pushed")
		}
		sl.clock = clock
	}
	return nil
}

// Snapshot asks for a snapshot of all shards at a clock that no key has passed. It ends when the snapshot is complete. While keys
// are behind the clock training goes on; the state is that after the round of the clock on every key. Keys without rounds and
// tables are taken as they are: their snapshot is one of a single clock when no worker pushes meanwhile.
func (w *Worker) Snapshot(now Time, clock uint64, deadline Time) (uint64, error) {
	return w.snapshot(now, clock, false, deadline)
}

// SnapshotAll asks for a snapshot of everything as it is when all workers that count have asked for the one of that number. They
// call it when their pushes are committed, and push nothing until it ends: then the state is one of a single moment, whatever kinds
// of keys there are. Numbers grow; a snapshot that exists ends the call at once.
func (w *Worker) SnapshotAll(now Time, number uint64, deadline Time) (uint64, error) {
	return w.snapshot(now, number, true, deadline)
}

func (w *Worker) snapshot(now Time, clock uint64, all bool, deadline Time) (uint64, error) {
	if err := w.usable("snapshot", NoKey); err != nil {
		return 0, err
	}
	if w.snap != nil {
		return 0, usage("snapshot", NoKey, "the one before has not ended")
	}
	c := w.newCall(now, "snapshot", NoKey, deadline)
	c.left = 1
	w.snap, w.snapAt, w.snapAll = c, clock, all
	w.sendSnapshot()
	return c.id, nil
}

func (w *Worker) sendSnapshot() {
	m := w.message(wire.TypeSnapshot)
	m.SetSnapshotOrder(wire.SnapshotOrder{Clock: w.snapAt, All: w.snapAll})
	w.knock = w.now + w.timing.Resend
	w.send(scheduler, m, nil)
}

func (w *Worker) snapshotDone(m *wire.Message) {
	c, r := w.snap, m.SnapshotResult()
	if c == nil || r.Clock != w.snapAt {
		return
	}
	w.snap = nil
	c.left = 0
	switch r.Failure {
	case 0:
		w.end(c, nil)
	case wire.FailureLate:
		w.end(c, &Error{Op: c.op, Key: c.key, Peer: scheduler, Err: fmt.Errorf("%w: a key has passed clock %d", ErrRejected, r.Clock)})
	default:
		w.end(c, &Error{Op: c.op, Key: c.key, Peer: scheduler, Err: fmt.Errorf("%w: a server could not write its part", ErrRejected)})
	}
}
