package worker

import (
	"math"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// workerKey is a key as its worker knows it.
type workerKey struct {
	key    uint32
	dtype  dtype.Type
	total  uint64     // bytes of the key
	direct bool       // without rounds
	slices []*slice   // by number
	sparse *sparseKey // rows of a sparse key; nil for other keys
}

// slice is one slice of a key, as its worker knows it.
//
// Pushes of a slice have their turn in the order of their clocks. How many of them are under way
// has a bound: Config.Ahead, which servers keep rounds for, or the window for keys without rounds.
type slice struct {
	key    *workerKey
	id     ps.ID
	shard  uint32  // where it lives
	lo, hi uint64  // bytes of the key that it covers: lo to hi, without hi
	clock  uint64  // pushes begun, pushes of earlier processes included
	pushed bool    // some of them by this process
	old    uint64  // pushes that an earlier incarnation has committed
	base   uint64  // first value of clock
	there  uint64  // version that the server had then
	seen   uint64  // highest version pulled: values never go back
	queue  []*part // pushes that wait for their turn, by clock
	flying int     // pushes that have it and are not committed
}

// KeySpec is the description of a key.
type KeySpec struct {
	DType  dtype.Type
	Total  uint64 // bytes, a multiple of the size of an element
	Direct bool   // pushes are applied one by one, as they come, instead of in rounds
	Whole  bool   // it is never sliced: an optimizer looks at the key as a whole
	// Sparse describes the rows of a sparse key, of which it needs Rows, Row, DType and Init; the
	// fields above but for Direct mean nothing then. The value has the rows of First alone.
	Sparse    *rows.Spec
	First     []uint64 // rows that begin with the value, in ascending order
	CacheRows int      // rows that the worker keeps, where the staleness has a bound
}

// PushOp is a push.
type PushOp struct {
	Key      uint32
	Value    []byte   // plain values of the whole key; nil where Codes are given
	IDs      []uint64 // of a sparse key: the rows that are pushed, in ascending order, none twice
	Codes    [][]byte // or its slices, encoded; of a sparse key the rows that each slice has
	Codec    uint8    // encoding of Codes; 0: Value is given
	Out      []byte   // room for the value after the push, which is pulled with it; nil: only push
	Priority int8     // higher goes first
	Deadline ps.Time  // 0: Config.Timeout from now
}

// keyset is the keys that a worker has initialized: it pushes and pulls them. A key that is pushed
// or pulled is cut into slices; every slice is a part of the call.
type keyset struct {
	*agent
	*calls
	*routes
	*progress
	*joiner
	keys  map[uint32]*workerKey
	byKey map[uint32]*Table // tables; a step ends for all of them together
}

// create begins the call that Worker.Init makes. It checks everything that can be checked here,
// because an error of a server comes late.
func (ks *keyset) create(now ps.Time, key uint32, spec KeySpec, value []byte, deadline ps.Time,
) (uint64, error) {
	if err := ks.usable("init", key); err != nil {
		return 0, err
	}
	// One worker's value must count, and all must know which: the lowest rank's.
	creates := ks.lowest()
	switch {
	case ks.keys[key] != nil:
		return 0, usage("init", key, "it exists already")
	case spec.Sparse != nil:
		return ks.createRows(now, key, spec, value, nil, deadline)
	case spec.Whole && spec.Total > node.MaxSlice:
		return 0, usage("init", key, "%d bytes that are not to be sliced, want at most %d",
			spec.Total, node.MaxSlice)
	case !spec.DType.Valid() || spec.Total%uint64(spec.DType.Size()) != 0:
		return 0, usage("init", key, "%d bytes of %s", spec.Total, spec.DType)
	case creates && uint64(len(value)) != spec.Total:
		return 0, usage("init", key, "value of %d bytes, want %d", len(value), spec.Total)
	}
	k := &workerKey{key: key, dtype: spec.DType, total: spec.Total, direct: spec.Direct}
	// All workers cut a key in the same way, because they agree on its size and on SliceSize; a
	// server refuses a key that is cut in another way.
	n := wire.Slices(spec.Total, ks.cfg.SliceSize)
	if spec.Whole {
		n = 1
	}
	for i := range n {
		lo, hi := wire.Range(spec.Total, i, n)
		k.slices = append(k.slices, ks.newSlice(k, i, lo, hi))
	}
	if err := ks.addKey(k); err != nil {
		return 0, err
	}
	c := ks.newCall(now, "init", key, deadline)
	for _, sl := range k.slices {
		p := ks.newPart(c, wire.TypeInit, sl.shard)
		p.slice = sl
		if spec.Direct {
			p.flags |= wire.FlagDirect
		}
		if creates {
			p.flags |= wire.FlagCreate
			p.payload = value[sl.lo:sl.hi]
		}
		ks.ask(p)
	}
	return c.id, nil
}

// newSlice returns a slice that continues where an earlier incarnation of the worker stopped, from
// lo to hi of the bytes of its key.
func (ks *keyset) newSlice(k *workerKey, i uint16, lo, hi uint64) *slice {
	id := ps.ID{Key: k.key, Slice: i}
	sl := &slice{key: k, id: id, shard: ps.ShardOf(id, len(ks.shards)), lo: lo, hi: hi}
	if c, ok := ks.cursors[id]; ok {
		sl.old = c.Clock
		sl.clock = ks.resume(c)
		sl.base, sl.there = sl.clock, min(sl.clock, c.Version)
	}
	return sl
}

// isTable reports whether a key is a table's.
func (k *workerKey) isTable() bool { return k.sparse != nil && k.sparse.table != nil }

// addKey adds a key if the window of every shard has room for one round of all its keys: otherwise
// workers that push in different orders could wait for each other.
func (ks *keyset) addKey(k *workerKey) error {
	if k.isTable() {
		ks.add(k)
		return nil
	}
	// Tables are left out: their pushes never wait for those of others.
	perShard := make([]int, len(ks.shards))
	for _, other := range ks.keys {
		if other.isTable() {
			continue
		}
		for _, sl := range other.slices {
			perShard[sl.shard]++
		}
	}
	for _, sl := range k.slices {
		perShard[sl.shard]++
		if perShard[sl.shard] > ks.cfg.Window {
			return usage("init", k.key, "more than %d slices on shard %d: the window must take "+
				"one push of each", ks.cfg.Window, sl.shard)
		}
	}
	ks.add(k)
	return nil
}

// push begins the call that Worker.Push makes. Every slice becomes a part with the next clock of
// the slice, and waits for its turn there.
func (ks *keyset) push(now ps.Time, op PushOp) (uint64, error) {
	k := ks.keys[op.Key]
	if err := ks.usable("push", op.Key); err != nil {
		return 0, err
	}
	switch {
	case k == nil || k.isTable():
		return 0, usage("push", op.Key, "it has not been initialized")
	case k.sparse != nil:
		if err := ks.encodePush(k, &op); err != nil {
			return 0, err
		}
	case op.Codec == 0 && uint64(len(op.Value)) != k.total:
		return 0, usage("push", op.Key, "%d bytes, want %d", len(op.Value), k.total)
	case op.Codec != 0 && len(op.Codes) != len(k.slices):
		return 0, usage("push", op.Key, "%d encoded slices, want %d", len(op.Codes), len(k.slices))
	case op.Out != nil && uint64(len(op.Out)) != k.total:
		return 0, usage("push", op.Key, "room for %d bytes, want %d", len(op.Out), k.total)
	}
	c := ks.newCall(now, "push", op.Key, op.Deadline)
	for i, sl := range k.slices {
		kind := wire.TypePush
		if op.Out != nil {
			kind = wire.TypePushPull
		}
		// The clock is fixed here, in the order of the calls, and not when the push leaves.
		p := ks.newPart(c, kind, sl.shard)
		sl.clock++
		sl.pushed = true
		if op.Key < Aside {
			ks.step(sl.clock)
		}
		p.slice, p.clock, p.prio, p.codec = sl, sl.clock, op.Priority, op.Codec
		if op.Codes == nil {
			p.payload = op.Value[sl.lo:sl.hi]
		} else {
			p.payload, p.kept = op.Codes[i], k.sparse != nil
		}
		if op.Out != nil {
			p.out = op.Out[sl.lo:sl.hi]
			ks.want(p)
		}
		ks.enqueue(p)
	}
	return c.id, nil
}

// want sets the versions that a pull of a slice needs: with rounds all that this worker has pushed,
// otherwise its own pushes and, within the staleness, the pushes of others. A worker that repeats
// rounds which are over wants the value as it was.
func (ks *keyset) want(p *part) {
	sl := p.slice
	switch {
	case !sl.key.direct:
		// The round of the last push, neither more nor less: all workers see the same values.
		p.need, p.own = sl.clock, sl.clock
		if ks.loose() && sl.clock == sl.base {
			p.need = sl.there // perhaps no worker makes the rounds between
		}
		if sl.clock < sl.old && !ks.loose() {
			p.flags |= wire.FlagExact
		}
	case ks.cfg.Staleness == Unbounded:
		// Nobody is waited for, but a worker always sees its own pushes.
		p.own = sl.clock
	default:
		p.own = sl.clock
		if s, at := uint64(ks.cfg.Staleness), ks.reached(sl); at > s {
			p.need = at - s
		}
	}
}

// reached returns the clock that the staleness of a pull counts from. A worker that took over a
// place is where all its keys are: its predecessor may have pushed some keys further, and a pull
// that waits for the others would never end, because they wait for this worker's step in turn.
func (ks *keyset) reached(sl *slice) uint64 {
	at := sl.clock
	if sl.pushed || sl.old == 0 {
		return at
	}
	for id, c := range ks.cursors {
		if !c.Direct || c.Table {
			continue
		}
		if k := ks.keys[id.Key]; k != nil && int(id.Slice) < len(k.slices) {
			at = min(at, k.slices[id.Slice].clock)
		} else {
			at = min(at, c.Clock)
		}
	}
	return at
}

// pull begins the call that Worker.Pull makes. Each slice is asked for on its own, and copied to
// out when it arrives.
func (ks *keyset) pull(now ps.Time, key uint32, out []byte, priority int8, deadline ps.Time,
) (uint64, error) {
	k := ks.keys[key]
	if err := ks.usable("pull", key); err != nil {
		return 0, err
	}
	switch {
	case k == nil || k.sparse != nil:
		return 0, usage("pull", key, "it has not been initialized")
	case uint64(len(out)) != k.total:
		return 0, usage("pull", key, "room for %d bytes, want %d", len(out), k.total)
	}
	c := ks.newCall(now, "pull", key, deadline)
	for _, sl := range k.slices {
		p := ks.newPart(c, wire.TypePull, sl.shard)
		p.slice, p.prio, p.out = sl, priority, out[sl.lo:sl.hi]
		ks.want(p)
		ks.ask(p)
	}
	return c.id, nil
}

// setOptimizer begins the call that Worker.SetOptimizer makes. Worker 0's description counts; the
// calls of the others end when a shard has one of that version.
func (ks *keyset) setOptimizer(now ps.Time, spec wire.Spec, deadline ps.Time) (uint64, error) {
	if err := ks.usable("set optimizer", ps.NoKey); err != nil {
		return 0, err
	}
	c := ks.newCall(now, "set optimizer", ps.NoKey, deadline)
	if !ks.lowest() {
		spec.Rows = nil // the lowest rank's count
	}
	body := spec.Append(nil)
	// One copy of the description serves all shards; it is the worker's own.
	for i := range ks.shards {
		p := ks.newPart(c, wire.TypeOptimizer, uint32(i))
		p.payload, p.kept = body, true
		if ks.lowest() {
			p.flags |= wire.FlagCreate
		}
		ks.ask(p)
	}
	return c.id, nil
}

// pushes is Worker.Pushes: the slice with fewest pushes counts.
func (ks *keyset) pushes(key uint32) uint64 {
	k := ks.keys[key]
	if k == nil {
		return 0
	}
	low := k.slices[0].clock
	for _, sl := range k.slices {
		low = min(low, sl.clock)
	}
	return low
}

// setClock is Worker.SetClock. Pushes that are under way have their clocks already: then it is too
// late.
func (ks *keyset) setClock(key uint32, clock uint64) error {
	k := ks.keys[key]
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

// skip is Worker.Skip.
func (ks *keyset) skip() uint64 {
	own, there := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for _, k := range ks.keys {
		for _, sl := range k.slices {
			if !k.direct {
				own, there = min(own, sl.clock), min(there, max(sl.clock, sl.seen))
			}
		}
	}
	if ks.cfg.Backups == 0 || there <= own {
		return 0
	}
	for _, k := range ks.keys {
		for _, sl := range k.slices {
			if !k.direct {
				sl.clock = max(sl.clock, there)
			}
		}
	}
	ks.begun = max(ks.begun, there)
	return there - own
}

// add makes a key known, and its slices to the routes, which let their pushes go.
func (ks *keyset) add(k *workerKey) {
	ks.keys[k.key] = k
	ks.slices = append(ks.slices, k.slices...)
}
