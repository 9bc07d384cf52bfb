package server

import (
	"encoding/binary"
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// RestoredVersion is the version of an optimizer from a snapshot: a job that continues sets its own
// under higher numbers.
const RestoredVersion = 1

// restore fills a fresh shard from the snapshot that the job continues from. Incarnations start
// anew: sequences of the old run mean nothing, clocks stay. Both copies of a shard read the same
// part, so they begin equal. A part that cannot be read is reported as a lost shard.
func (rp *replica) restore() {
	if rp.cfg.Restore == nil {
		return
	}
	b := rp.cfg.Restore(rp.id)
	if b == nil {
		return
	}
	if err := rp.load(b); err != nil {
		rp.me.Out.Report(ps.EventLost, rp.me.Self, rp.id, rp.epoch, err.Error())
	}
}

// load takes over the state of a snapshot's part.
func (rp *replica) load(b []byte) error {
	id, _, err := CheckSnapshot(b)
	if err != nil {
		return err
	}
	if id != rp.id {
		return fmt.Errorf("%w: snapshot of shard %d for shard %d", errState, id, rp.id)
	}
	n := binary.LittleEndian.Uint32(b[32:])
	rp.restoring = true
	rest, err := rp.setHead(b[36 : len(b)-4])
	rp.restoring = false
	if err != nil {
		return err
	}
	for range n {
		if rest, err = rp.setPart(rest); err != nil {
			return err
		}
	}
	if len(rest) != 0 {
		return fmt.Errorf("%w: %d bytes too many", errState, len(rest))
	}
	for i := range rp.ranks {
		rp.ranks[i].join(0)
		rp.ranks[i].away = false
	}
	for _, e := range rp.order {
		clear(e.starts)
	}
	return nil
}

// CheckSnapshot verifies a shard's part of a snapshot without using it, and returns the shard and
// the clock that it is of. A part is, in numbers that are little-endian:
//
//	the text gomxshrd
//	version of the format 4 bytes, shard 4
//	job 8, clock 8
//	number of entries 4
//	head and parts, as above replica.appendPart
//	CRC-32C of all before 4
func CheckSnapshot(b []byte) (shard uint32, clock uint64, err error) {
	const fixed = len(snapshotMagic) + 4 + 4 + 8 + 8 + 4
	le := binary.LittleEndian
	switch {
	case len(b) < fixed+4 || string(b[:len(snapshotMagic)]) != snapshotMagic:
		return 0, 0, fmt.Errorf("%w: not a snapshot", errState)
	case le.Uint32(b[8:]) != snapshotVersion && le.Uint32(b[8:]) != snapshotSparse:
		return 0, 0, fmt.Errorf("%w: snapshot of version %d, want %d or %d", errState,
			le.Uint32(b[8:]), snapshotVersion, snapshotSparse)
	}
	if got, want := SnapshotChecksum(b), le.Uint32(b[len(b)-4:]); got != want {
		return 0, 0, fmt.Errorf("%w: snapshot with checksum %#x, it says %#x", errState, got, want)
	}
	return le.Uint32(b[12:]), le.Uint64(b[24:]), nil
}

// SnapshotChecksum returns the checksum by which a manifest knows a shard's part of a snapshot: the
// CRC-32C of all bytes but the last four, which hold it. The CRC of all bytes would be the same
// number for every part, because a CRC over data and their CRC is a constant.
func SnapshotChecksum(b []byte) uint32 { return wire.Checksum(b[:max(0, len(b)-4)]) }

// SnapshotWorkers returns how many workers the job had that wrote a shard's part of a snapshot. A
// job with another number cannot continue from it: clocks are by rank.
func SnapshotWorkers(b []byte) (int, error) {
	if _, _, err := CheckSnapshot(b); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	b = b[36 : len(b)-4]
	h, err := cut(&b, 4)
	if err != nil {
		return 0, err
	}
	spec, err := cut(&b, uint64(le.Uint32(h)))
	if err != nil {
		return 0, err
	}
	if _, err := wire.DecodeSpec(spec); err != nil {
		return 0, fmt.Errorf("%w: %w", errState, err)
	}
	if h, err = cut(&b, 4); err != nil {
		return 0, err
	}
	return int(le.Uint32(h)), nil
}
