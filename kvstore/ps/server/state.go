package server

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// The replicated state of a shard as bytes: a head and one part per entry. Transfers send the parts
// one by one, snapshots keep them in a file. Numbers are little-endian.
//
// A part is, in this order:
//
//	key 4 bytes, slice 2, slices 2
//	element type 1, bits 1 (1: direct, 2: the version before follows, 4: sparse, 8: table), zeros 2
//	number of workers 4
//	bytes of the key 8, of the slice 8, zeros 8
//	version 8
//	clock 8 and start 8 of every worker
//	length of the optimizer's state 8, that state
//	the value, and perhaps the value of the version before
//	of a sparse key its rows (rows.Part.Append)
//
// A head is:
//
//	length of the optimizer's description 4, that description (wire.Spec)
//	number of workers 4
//	for every worker: incarnation 4, words of its window 4, low 8, zeros 8, 1 if it is away 8,
//	the window's bits, the outcomes
//
// Reading trusts no number: a part may come from a file that was damaged, or from a server of
// another version.

// errState is wrapped by errors about states that cannot be read.
var errState = errors.New("damaged state of a shard")

// appendPart appends the state of an entry: value, the version before, clocks, and the optimizer's
// state.
func (rp *replica) appendPart(dst []byte, e *entry) []byte {
	state := rp.updater.AppendState(nil, e.id)
	if e.sparse != nil {
		return e.sparse.Append(appendPart(dst, e, e.version, nil, nil, state), 0, e.sparse.Len(),
			true)
	}
	return appendPart(dst, e, e.version, e.value.data(), e.prevData(), state)
}

// appendPart appends a part with a given version, value and state of the optimizer; prev is nil
// where the version before is not kept.
func appendPart(dst []byte, e *entry, version uint64, value, prev, state []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, e.id.Key)
	dst = le.AppendUint16(dst, e.id.Slice)
	dst = le.AppendUint16(dst, e.slices)
	var bits uint8
	if e.direct {
		bits |= 1
	}
	if len(prev) > 0 {
		bits |= 2
	}
	if e.sparse != nil {
		bits |= 4
	}
	if e.table {
		bits |= 8
	}
	dst = append(dst, uint8(e.dtype), bits, 0, 0)
	dst = le.AppendUint32(dst, uint32(len(e.clocks)))
	dst = le.AppendUint64(dst, e.total)
	dst = le.AppendUint64(dst, uint64(e.size))
	dst = le.AppendUint64(dst, 0)
	dst = le.AppendUint64(dst, version)
	for r, c := range e.clocks {
		dst = le.AppendUint64(dst, c)
		dst = le.AppendUint64(dst, e.starts[r])
	}
	dst = le.AppendUint64(dst, uint64(len(state)))
	dst = append(dst, state...)
	dst = append(dst, value...)
	return append(dst, prev...)
}

// setPart gives an entry the state of a part, and creates it if it is not there: it is there when
// its creation was in the log behind the beginning of the transfer.
func (rp *replica) setPart(from *wire.Source) error {
	if err := rp.readPart(from); err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	return nil
}

func (rp *replica) readPart(from *wire.Source) error {
	const fixed = 16 + 4*8
	h, err := from.Take(fixed)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	e := &entry{id: ps.ID{Key: le.Uint32(h), Slice: le.Uint16(h[4:])},
		traits: traits{slices: le.Uint16(h[6:]),
			dtype: dtype.Type(int8(h[8])), direct: h[9]&1 != 0, table: h[9]&8 != 0}}
	hasPrev := h[9]&2 != 0
	n, size, row := le.Uint32(h[12:]), le.Uint64(h[24:]), le.Uint64(h[32:])
	e.total, e.version = le.Uint64(h[16:]), le.Uint64(h[40:])
	if row != 0 {
		return fmt.Errorf("key %d is a table of an earlier release, whose rows are in blocks",
			e.id.Key)
	}
	if n > maxRanks || size > node.MaxSlice || !e.dtype.Valid() || e.table && h[9]&5 != 5 {
		return fmt.Errorf("key %d has clocks of %d workers and %d bytes", e.id.Key, n, size)
	}
	clocks, err := from.Take(16*uint64(n) + 8)
	if err != nil {
		return err
	}
	state, err := from.Take(le.Uint64(clocks[16*n:]))
	if err != nil {
		return err
	}
	value, err := from.Take(size)
	if err != nil {
		return err
	}
	var prev []byte
	if hasPrev {
		if prev, err = from.Take(size); err != nil {
			return err
		}
	}
	if !rp.restoring {
		rp.grow(int(n))
	}
	var held rows.State
	if h[9]&4 != 0 {
		if held, err = rows.ReadState(from, e.id, e.slices, e.dtype); err != nil {
			return err
		}
		e.sparse = rows.NewPart(held.Spec, nil)
	}
	e.size = int(size)
	if old := rp.entries[e.id]; old != nil {
		if old.size != e.size || old.slices != e.slices || (old.sparse == nil) !=
			(e.sparse == nil) {
			return fmt.Errorf("key %d has %d bytes, it had %d", e.id.Key, e.size, old.size)
		}
		old.version, e = e.version, old
	} else {
		rp.addSlice(e)
	}
	if e.sparse != nil {
		if err := e.sparse.Take(&held); err != nil {
			return err
		}
	}
	e.closed = e.version
	most := e.version // of a key with rounds: every worker has taken part in the last one
	for i := range int(n) {
		c := le.Uint64(clocks[16*i:])
		if i < len(e.clocks) {
			e.clocks[i], e.starts[i] = c, le.Uint64(clocks[16*i+8:])
		}
		if e.direct {
			if i == 0 {
				most = 0 // its version counts the changes
			}
			most = max(most, c)
		}
	}
	for i := int(n); i < len(e.clocks); i++ {
		e.clocks[i] = most // a place that the job of the snapshot did not have
	}
	e.value.release()
	e.value = e.pool.get()
	copy(e.value.data(), value)
	e.prev.release()
	e.prev = nil
	if hasPrev {
		e.prev = e.pool.get()
		copy(e.prev.data(), prev)
	}
	return rp.updater.SetState(e.id, state)
}

// appendHead appends the rest of a shard's state: its knowledge of workers, and the optimizer.
func (rp *replica) appendHead(dst []byte) []byte {
	le := binary.LittleEndian
	spec := rp.spec.Append(nil)
	dst = le.AppendUint32(dst, uint32(len(spec)))
	dst = append(dst, spec...)
	dst = le.AppendUint32(dst, uint32(len(rp.ranks)))
	for i := range rp.ranks {
		r := &rp.ranks[i]
		dst = le.AppendUint32(dst, r.incarnation)
		dst = le.AppendUint32(dst, uint32(len(r.bits)))
		dst = le.AppendUint64(dst, r.low)
		dst = le.AppendUint64(dst, 0)
		if r.away {
			dst = append(dst, 1, 0, 0, 0, 0, 0, 0, 0)
		} else {
			dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
		}
		for _, w := range r.bits {
			dst = le.AppendUint64(dst, w)
		}
		for _, w := range r.fates {
			dst = le.AppendUint64(dst, w)
		}
	}
	return dst
}

// setHead takes over the bytes of appendHead. The window must be the server's own: it is a setting
// on which all processes agree. A snapshot may be of a job with another number of workers: ranks
// that the job does not have are dropped, and new ones begin where the others are.
func (rp *replica) setHead(from *wire.Source) error {
	if err := rp.readHead(from); err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	return nil
}

// cutSpec takes the optimizer's description and the number of workers off a head.
func cutSpec(from *wire.Source) (spec wire.Spec, workers int, err error) {
	le := binary.LittleEndian
	h, err := from.Take(4)
	if err != nil {
		return spec, 0, err
	}
	encoded, err := from.Take(uint64(le.Uint32(h)))
	if err != nil {
		return spec, 0, err
	}
	if spec, err = wire.DecodeSpec(encoded); err != nil {
		return spec, 0, err
	}
	if h, err = from.Take(4); err != nil {
		return spec, 0, err
	}
	return spec, int(le.Uint32(h)), nil
}

func (rp *replica) readHead(from *wire.Source) error {
	le := binary.LittleEndian
	spec, n, err := cutSpec(from)
	if err != nil {
		return err
	}
	if n > maxRanks {
		return fmt.Errorf("it knows %d workers, want at most %d", n, maxRanks)
	}
	for i := range n {
		h, err := from.Take(32)
		if err != nil {
			return err
		}
		var r *rankState
		if rp.restoring && i >= len(rp.ranks) {
			r = newRankState(rp.cfg.Window) // of a worker that the job does not have any more
		} else {
			rp.grow(i + 1)
			r = &rp.ranks[i]
		}
		if n := le.Uint32(h[4:]); int(n) != len(r.bits) {
			return fmt.Errorf("window of %d pushes, want %d", 64*uint64(n), 64*len(r.bits))
		}
		r.incarnation, r.low, r.away = le.Uint32(h), le.Uint64(h[8:]), h[24] != 0
		if h, err = from.Take(8 * uint64(len(r.bits)+len(r.fates))); err != nil {
			return err
		}
		for j := range r.bits {
			r.bits[j] = le.Uint64(h[8*j:])
		}
		for j := range r.fates {
			r.fates[j] = le.Uint64(h[8*(len(r.bits)+j):])
		}
	}
	if rp.restoring {
		spec.Version = min(spec.Version, RestoredVersion)
	}
	if spec.Version > rp.spec.Version {
		rp.spec = spec
		if err := rp.updater.SetSpec(spec); err != nil {
			return err
		}
	}
	return nil
}

// sum returns a checksum of an entry's state and of the workers' sequences. It is taken after every
// CheckEvery entries, of the slice that the log entry has changed: a comparison of whole shards
// would cost too much, and a difference that lasts is found when the slice changes again.
func (rp *replica) sum(e *entry) uint32 {
	c := uint32(0)
	if e != nil {
		c = wire.Checksum(e.value.data())
		if e.sparse != nil {
			c = e.sparse.Sum()
		}
		c = mix(c, e.version)
		for r, v := range e.clocks {
			c = mix(mix(c, v), e.starts[r])
		}
	}
	for i := range rp.ranks {
		r := &rp.ranks[i]
		c = mix(mix(c, r.low), uint64(r.incarnation))
		for _, w := range r.bits {
			c = mix(c, w)
		}
	}
	return c
}

// mix continues a checksum by a number: one step of a multiplicative hash.
func mix(c uint32, v uint64) uint32 {
	v = (v ^ uint64(c)) * 0x9E3779B97F4A7C15
	return uint32(v>>32) ^ uint32(v)
}

// whole reports whether the copy has the state of all entries.
func (rp *replica) whole() bool { return !rp.blank && !rp.rebuilding }

// checksum returns a checksum over the whole state. Copies with the same index have the same. Sums
// of parts are combined by exclusive or, so that the order in which entries were restored does not
// matter.
func (rp *replica) checksum() (sum uint32) {
	for _, e := range rp.order {
		if e.sparse != nil {
			// Rows may have other slots on the other copy.
			sum ^= e.sparse.Checksum() ^ wire.Checksum(appendPart(nil, e, e.version, nil, nil,
				rp.updater.AppendState(nil, e.id)))
			continue
		}
		sum ^= wire.Checksum(rp.appendPart(nil, e))
	}
	return sum ^ wire.Checksum(rp.appendHead(nil))
}
