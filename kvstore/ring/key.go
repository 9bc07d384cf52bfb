package ring

import (
	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// KeySpec describes a key.
type KeySpec struct {
	Total uint64 // bytes of the values
	DType dtype.Type
	// Aside marks a key that is no part of a program's steps. Its rounds begin with 1 in every
	// process, also in a process that takes over a place.
	Aside bool
}

// key is an array that workers add up.
//
// Invariants:
//  1. The program has begun done or done+1 rounds; call is the round done+1.
//  2. Contributions of other workers are of the rounds done+1 and done+2: a worker contributes to a
//     round when the round before is complete there, and then all have contributed to that round.
//  3. rounds[n&1] holds the sums of round n. It is used for round n+2 when a contribution to round
//     n+2 comes: its sender has completed round n+1, for which every worker has completed round n.
type key struct {
	id   uint32
	spec KeySpec
	share
	done   uint64 // complete rounds
	rounds [2]round
	call   *call  // nil: the program has not begun the next round
	pull   *call  // nil: the program does not collect the last sum
	kept   []byte // sums of round done; nil: nobody keeps them
	bucket *bucket
	spare  *buffers // of the group
	broken error    // a round has failed; nil: none has
}

// share says how a key is cut, and which slices this worker adds up.
type share struct {
	slices uint16 // number of slices; 1 for keys without owners
	each   uint16 // slices of each owner; 0: every worker adds up the whole key
	first  uint16 // first slice that this worker adds up
	count  uint16 // number of slices that this worker adds up
	base   uint64 // offset in bytes of the first slice that this worker adds up
	long   bool   // sums go past the caches
}

// layout cuts the key into slices.
func (k *key) layout(c *Config) {
	n := uint64(c.Workers)
	k.long = k.spec.Total >= c.Long
	if c.Workers == 1 || c.Direct >= 0 && k.spec.Total <= uint64(c.Direct) {
		k.slices, k.count = 1, 1
	} else {
		part := (k.spec.Total + n - 1) / n
		m := min(max(1, (part+c.Slice-1)/c.Slice), (1<<16-1)/n)
		k.slices, k.each = uint16(n*m), uint16(m)
		k.first, k.count = c.Rank*uint16(m), uint16(m)
	}
	var size uint64
	for i := range k.count {
		lo, hi := k.span(k.first + i)
		if size == 0 {
			k.base = lo
		}
		size += hi - lo
	}
	for i := range k.rounds {
		k.rounds[i] = newRound(int(k.count), c.Workers, int(size), c.Room)
	}
}

// span returns the bytes of the key that a slice covers.
func (k *key) span(slice uint16) (lo, hi uint64) {
	return wire.Range(k.spec.Total, slice, k.slices)
}

// part returns the bytes of values that a slice covers.
func (k *key) part(values []byte, slice uint16) []byte {
	lo, hi := k.span(slice)
	return values[lo:hi:hi]
}

// own reports whether this worker adds up a slice.
func (k *key) own(slice uint16) bool {
	return slice >= k.first && slice-k.first < k.count
}

// owner returns the place of the worker that adds up a slice, self for keys without owners.
func (k *key) owner(slice, self uint16) uint16 {
	if k.each == 0 {
		return self
	}
	return slice / k.each
}

// round returns the sums of a round, which it begins if nothing is known of it.
func (k *key) round(number uint64) *round {
	r := &k.rounds[number&1]
	if r.number != number {
		r.begin(number, k.spare)
	}
	return r
}

// sum returns the sum of a slice in a round, nil if this worker does not have it.
func (k *key) sum(number uint64, slice uint16) []byte {
	r := &k.rounds[number&1]
	switch c := k.call; {
	case k.own(slice) && r.number == number && r.slices[slice-k.first].complete:
		return k.added(r, slice)
	case c != nil && c.round == number && c.have[slice] && c.out != nil:
		return k.part(c.out, slice)
	case k.done == number && k.kept != nil:
		return k.part(k.kept, slice)
	}
	return nil
}

// added returns the memory of the sum of an own slice.
func (k *key) added(r *round, slice uint16) []byte {
	lo, hi := k.span(slice)
	if lo == hi {
		return r.sums[:0]
	}
	return r.sums[lo-k.base : hi-k.base : hi-k.base]
}

// fits reports whether a Contribution or a Sum has the slice that it claims.
func (k *key) fits(m *wire.Message) bool {
	if m.Slices != k.slices || m.Slice >= k.slices || m.Total != k.spec.Total ||
		m.DType != uint8(k.spec.DType) || m.Codec != 0 {
		return false
	}
	lo, hi := k.span(m.Slice)
	return uint64(len(m.Payload)) == hi-lo
}

// Create makes a key. Every worker creates the same keys; it waits for nobody. The first round of
// the key is the one after the rounds that Resumed tells of.
func (g *Group) Create(id uint32, spec KeySpec) error {
	switch {
	case !spec.DType.Valid() || spec.Total%uint64(spec.DType.Size()) != 0:
		return usage("create", id, "%d bytes of %v", spec.Total, spec.DType)
	case g.keys[id] != nil:
		return usage("create", id, "the key exists")
	case !g.joined:
		return usage("create", id, "the worker has not joined")
	}
	if g.cfg.Elastic {
		g.created = append(g.created, creation{id, spec})
	}
	g.place(id, spec)
	return nil
}

// place makes a key whose rounds begin behind start.
func (g *calls) place(id uint32, spec KeySpec) {
	k := &key{id: id, spec: spec, spare: &g.spare}
	if !spec.Aside {
		k.done = g.start
	}
	k.layout(&g.cfg)
	g.keys[id] = k
	g.fuse(k)
}

// Complete returns the number of rounds of a key that are complete at this worker.
func (g *Group) Complete(id uint32) uint64 {
	if k := g.keys[id]; k != nil {
		return k.done
	}
	return 0
}

// low returns the number of rounds that are complete for all keys that are part of steps.
func (g *base) low() uint64 {
	low, some := g.start, false
	for _, k := range g.keys {
		if !k.spec.Aside && (!some || k.done < low) {
			low, some = k.done, true
		}
	}
	return low
}

// high returns the number of steps that the program has begun: the highest round of any key.
func (g *base) high() uint64 {
	high := g.start
	for _, k := range g.keys {
		n := k.done
		if k.call != nil {
			n++
		}
		if !k.spec.Aside {
			high = max(high, n)
		}
	}
	return high
}

// usage makes an error for a call that makes no sense: it wraps ps.ErrUsage.
func usage(op string, key uint32, format string, args ...any) error {
	return &ps.Error{Op: op, Key: key, Err: wrapUsage(format, args)}
}
