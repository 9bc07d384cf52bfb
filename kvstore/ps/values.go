package ps

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/wire"
)

// KeySpec says what a key is.
type KeySpec struct {
	DType  dtype.Type
	Total  uint64 // bytes
	Direct bool   // pushes are applied one by one, as they come, instead of in rounds
	Whole  bool   // it is never sliced
}

// Init creates a key with a value, which it has from worker 0, on all its shards. Every worker calls it, for the same keys; it ends
// when the key exists. Other calls for the key may follow at once, but fail when it cannot be created.
func (w *Worker) Init(now Time, key uint32, spec KeySpec, value []byte, deadline Time) (uint64, error) {
	if err := w.usable("init", key); err != nil {
		return 0, err
	}
	creates := w.self.Rank == 0
	switch {
	case w.keys[key] != nil:
		return 0, usage("init", key, "it exists already")
	case spec.Whole && spec.Total > maxSlice:
		return 0, usage("init", key, "%d bytes that are not to be sliced, want at most %d", spec.Total, maxSlice)
	case !spec.DType.Valid() || spec.Total%uint64(spec.DType.Size()) != 0:
		return 0, usage("init", key, "%d bytes of %s", spec.Total, spec.DType)
	case creates && uint64(len(value)) != spec.Total:
		return 0, usage("init", key, "value of %d bytes, want %d", len(value), spec.Total)
	}
	k := &workerKey{key: key, dtype: spec.DType, total: spec.Total, direct: spec.Direct}
	n := wire.Slices(spec.Total, w.cfg.SliceSize)
	if spec.Whole {
		n = 1
	}
	for i := range n {
		lo, hi := wire.Range(spec.Total, i, n)
		k.slices = append(k.slices, w.newSlice(k, i, lo, hi))
	}
	if err := w.addKey(k); err != nil {
		return 0, err
	}
	c := w.newCall(now, "init", key, deadline)
	for _, sl := range k.slices {
		p := w.newPart(c, wire.TypeInit, sl.shard)
		p.slice = sl
		if spec.Direct {
			p.flags |= wire.FlagDirect
		}
		if creates {
			p.flags |= wire.FlagCreate
			p.payload = value[sl.lo:sl.hi]
		}
		w.ask(p)
	}
	return c.id, nil
}

// newSlice returns a slice that continues where an earlier incarnation of the worker stopped.
func (w *Worker) newSlice(k *workerKey, i uint16, lo, hi uint64) *slice {
	id := ID{k.key, i}
	sl := &slice{key: k, id: id, shard: ShardOf(id, len(w.shards)), lo: lo, hi: hi}
	if c, ok := w.cursors[id]; ok {
		sl.old = c.Clock
		sl.clock = w.resume(c)
		sl.base, sl.there = sl.clock, min(sl.clock, c.Version)
	}
	return sl
}

// addKey adds a key if the window of every shard has room for one round of all its keys: otherwise workers that push in different
// orders could wait for each other.
func (w *Worker) addKey(k *workerKey) error {
	if k.row > 0 {
		w.keys[k.key] = k // rows travel together, however many blocks they are of
		return nil
	}
	perShard := make([]int, len(w.shards))
	for _, other := range w.keys {
		if other.row > 0 {
			continue
		}
		for _, sl := range other.slices {
			perShard[sl.shard]++
		}
	}
	for _, sl := range k.slices {
		perShard[sl.shard]++
		if perShard[sl.shard] > w.cfg.Window {
			return usage("init", k.key, "more than %d slices on shard %d: the window must take one push of each", w.cfg.Window, sl.shard)
		}
	}
	w.keys[k.key] = k
	return nil
}

// usable reports why no call can be made.
func (w *Worker) usable(op string, key uint32) error {
	var err error
	switch {
	case w.Err() != nil:
		err = w.Err()
	case w.left:
		err = ErrClosed
	case !w.joined:
		err = fmt.Errorf("%w: the worker has not joined", ErrUsage)
	default:
		return nil
	}
	return &Error{Op: op, Key: key, Err: err}
}

// PushOp is a push.
type PushOp struct {
	Key      uint32
	Value    []byte   // plain values of the whole key
	Codes    [][]byte // or its slices, encoded
	Codec    uint8    // encoding of Codes
	Out      []byte   // room for the value after the push, which is pulled with it; nil: only push
	Priority int8     // higher goes first
	Deadline Time
}

// Push adds values to a key: to the round that this worker has not contributed to yet, or, when the key has no rounds, to the key.
// With Out it ends when the result is there; otherwise when all copies have the push.
func (w *Worker) Push(now Time, op PushOp) (uint64, error) {
	k := w.keys[op.Key]
	if err := w.usable("push", op.Key); err != nil {
		return 0, err
	}
	switch {
	case k == nil || k.row > 0:
		return 0, usage("push", op.Key, "it has not been initialized")
	case op.Codec == 0 && uint64(len(op.Value)) != k.total:
		return 0, usage("push", op.Key, "%d bytes, want %d", len(op.Value), k.total)
	case op.Codec != 0 && len(op.Codes) != len(k.slices):
		return 0, usage("push", op.Key, "%d encoded slices, want %d", len(op.Codes), len(k.slices))
	case op.Out != nil && uint64(len(op.Out)) != k.total:
		return 0, usage("push", op.Key, "room for %d bytes, want %d", len(op.Out), k.total)
	}
	c := w.newCall(now, "push", op.Key, op.Deadline)
	for i, sl := range k.slices {
		kind := wire.TypePush
		if op.Out != nil {
			kind = wire.TypePushPull
		}
		p := w.newPart(c, kind, sl.shard)
		sl.clock++
		sl.pushed = true
		if op.Key < Aside {
			w.step(sl.clock)
		}
		p.slice, p.clock, p.prio, p.codec = sl, sl.clock, op.Priority, op.Codec
		if op.Codec == 0 {
			p.payload = op.Value[sl.lo:sl.hi]
		} else {
			p.payload = op.Codes[i]
		}
		if op.Out != nil {
			p.out = op.Out[sl.lo:sl.hi]
			w.want(p)
		}
		w.enqueue(p)
	}
	return c.id, nil
}

// step notes that a step has begun. Barriers may wait until a worker that took over a place has begun its first.
func (w *Worker) step(n uint64) {
	w.asked = w.asked || w.started > 0 && w.begun <= w.started && n > w.started
	w.begun = max(w.begun, n)
}

// want says what a pull of a slice needs: with rounds all that this worker has pushed, otherwise its own pushes and, within the
// staleness, those of others. A worker that repeats rounds which are over wants the value as it was.
func (w *Worker) want(p *part) {
	sl := p.slice
	switch {
	case !sl.key.direct:
		p.need, p.own = sl.clock, sl.clock
		if w.loose() && sl.clock == sl.base {
			p.need = sl.there // perhaps nobody makes what comes between
		}
		if sl.clock < sl.old && !w.loose() {
			p.flags |= wire.FlagExact
		}
	case w.cfg.Staleness == Unbounded:
		p.own = sl.clock
	default:
		p.own = sl.clock
		if s, at := uint64(w.cfg.Staleness), w.reached(sl); at > s {
			p.need = at - s
		}
	}
}

// reached returns the clock that the staleness of a pull counts from. A worker that took over a place is where all its keys are: its
// predecessor may have pushed some keys further, and whoever waits for the others would never get there.
func (w *Worker) reached(sl *slice) uint64 {
	at := sl.clock
	if sl.pushed || sl.old == 0 {
		return at
	}
	for id, c := range w.cursors {
		if !c.Direct || c.Rows {
			continue
		}
		if k := w.keys[id.Key]; k != nil && int(id.Slice) < len(k.slices) {
			at = min(at, k.slices[id.Slice].clock)
		} else {
			at = min(at, c.Clock)
		}
	}
	return at
}

// Pull copies a key's value to out. It contains all that this worker has pushed before; with rounds it is the result of the last of
// these rounds, and otherwise contains what others have pushed as far as the staleness says.
func (w *Worker) Pull(now Time, key uint32, out []byte, priority int8, deadline Time) (uint64, error) {
	k := w.keys[key]
	if err := w.usable("pull", key); err != nil {
		return 0, err
	}
	switch {
	case k == nil || k.row > 0:
		return 0, usage("pull", key, "it has not been initialized")
	case uint64(len(out)) != k.total:
		return 0, usage("pull", key, "room for %d bytes, want %d", len(out), k.total)
	}
	c := w.newCall(now, "pull", key, deadline)
	for _, sl := range k.slices {
		p := w.newPart(c, wire.TypePull, sl.shard)
		p.slice, p.prio, p.out = sl, priority, out[sl.lo:sl.hi]
		w.want(p)
		w.ask(p)
	}
	return c.id, nil
}

// value takes in the answer to a pull.
func (w *Worker) value(r *route, m *wire.Message) {
	a := m.Answer()
	w.took(r, a.Received)
	var p *part
	if !a.Fused {
		p = w.asking(a.Seq)
	} else if p = r.flight.at(a.Seq); p == nil {
		p = w.waiting(r.id, a.Seq)
	}
	if p != nil && p.slice != nil && p.out != nil && p.slice.id == (ID{m.Key, m.Slice}) {
		w.arrived(p, m)
	}
	if a.Fused && a.Outcome > 0 {
		w.commit(r, a.Seq, a.Outcome)
	}
	w.pump(r)
}

// waiting returns the fused part whose push had a sequence and is committed.
func (w *Worker) waiting(shard uint32, seq uint64) *part {
	for _, p := range w.slots {
		if p != nil && p.kind == wire.TypePushPull && p.shard == shard && p.seq == seq {
			return p
		}
	}
	return nil
}

// arrived copies a value to where it is wanted, unless it is older than what the worker has seen of the slice.
func (w *Worker) arrived(p *part, m *wire.Message) {
	sl, version := p.slice, m.Answer().Version
	exact := p.flags&wire.FlagExact != 0
	switch {
	case version < p.need, exact && version != p.need, !exact && !sl.key.direct && version < sl.seen:
		w.stats.Stale++
		return
	}
	if p.flags&wire.FlagRows != 0 {
		if !w.arrivedRows(p, m) {
			return
		}
	} else {
		if len(m.Payload) != len(p.out) {
			w.out.event(EventRefused, m.From, m.Shard, m.Epoch, fmt.Sprintf("value of %d bytes, want %d", len(m.Payload), len(p.out)))
			return
		}
		copy(p.out, m.Payload)
	}
	if !exact {
		sl.seen = max(sl.seen, version)
	}
	w.stats.Pulls++
	p.call.clock = max(p.call.clock, version)
	p.out = nil
	if p.kind == wire.TypePushPull && !p.final {
		return // the push half ends it
	}
	w.finish(p)
}

// answered takes in the answer to something that is not a pull.
func (w *Worker) answered(r *route, m *wire.Message) {
	p := w.asking(m.Seq)
	if p == nil || p.shard != r.id {
		return
	}
	switch {
	case p.kind == wire.TypeAskCursor && p.flags&wire.FlagStart != 0:
		if m.Type != wire.TypeCursor || m.Flags&wire.FlagStart == 0 {
			return
		}
		w.startedOn()
	case p.kind == wire.TypeAskCursor:
		if m.Type != wire.TypeCursor || !w.tookCursor(r, m) {
			return
		}
	case p.kind != m.Type:
		return
	}
	w.finish(p)
}

// rejected takes in a refusal.
func (w *Worker) rejected(r *route, m *wire.Message) {
	switch x := m.Refusal(); x.Reason {
	case wire.ReasonEpoch, wire.ReasonNotPrimary, wire.ReasonIncarnation:
		w.asked = true
	case wire.ReasonUnknownKey:
		// Created by another worker in a moment, or being rebuilt: repeated when it is time.
	default:
		if p := w.meant(r, x.Of, x.Seq); p != nil {
			w.fail(p.call, fmt.Errorf("%w: %s", ErrRejected, x.Reason))
		}
	}
}

// SetOptimizer sets the optimizer of all shards to that of worker 0. Every worker calls it, with the same version.
func (w *Worker) SetOptimizer(now Time, spec wire.Spec, deadline Time) (uint64, error) {
	if err := w.usable("set optimizer", NoKey); err != nil {
		return 0, err
	}
	c := w.newCall(now, "set optimizer", NoKey, deadline)
	body := spec.Append(nil)
	for i := range w.shards {
		p := w.newPart(c, wire.TypeOptimizer, uint32(i))
		p.payload, p.kept = body, true
		if w.self.Rank == 0 {
			p.flags |= wire.FlagCreate
		}
		w.ask(p)
	}
	return c.id, nil
}
