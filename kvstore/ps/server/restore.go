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
	part := rp.cfg.Restore(rp.id)
	if part == nil {
		return
	}
	err := rp.load(part)
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		rp.me.Out.Report(ps.EventLost, rp.me.Self, rp.id, rp.epoch, err.Error())
	}
}

// load takes over the state of a snapshot's part while it reads it: no copy of the part is made.
func (rp *replica) load(part *wire.Source) error {
	h, err := cutFixed(part)
	if err != nil {
		return err
	}
	if h.Shard != rp.id {
		return fmt.Errorf("%w: snapshot of shard %d for shard %d", errState, h.Shard, rp.id)
	}
	rp.restoring = true
	err = rp.setHead(part)
	rp.restoring = false
	if err != nil {
		return err
	}
	for range h.entries {
		if err := rp.setPart(part); err != nil {
			return err
		}
	}
	// The checksum of what has been read is compared last: nothing of the part is kept to be read
	// twice. Bytes behind it, or fewer of them, are a damage that a checksum alone would not name.
	if n := part.Left(); n != 4 {
		return fmt.Errorf("%w: %d bytes behind the last key, want 4", errState, n)
	}
	if err := h.seal(part); err != nil {
		return err
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

// SnapshotInfo is the beginning and the end of a shard's part of a snapshot.
type SnapshotInfo struct {
	Shard    uint32
	Clock    uint64
	Workers  int    // of the job that wrote it
	Checksum uint32 // CRC-32C of all but the last four bytes, which hold it
	entries  uint32
}

// cutFixed takes the first bytes off a part.
func cutFixed(part *wire.Source) (h SnapshotInfo, err error) {
	const fixed = uint64(len(snapshotMagic) + 4 + 4 + 8 + 8 + 4)
	b, err := part.Take(fixed)
	if err != nil || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return h, fmt.Errorf("%w: not a snapshot", errState)
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[8:]); v != snapshotVersion && v != snapshotSparse {
		return h, fmt.Errorf("%w: snapshot of version %d, want %d or %d", errState, v,
			snapshotVersion, snapshotSparse)
	}
	return SnapshotInfo{Shard: le.Uint32(b[12:]), Clock: le.Uint64(b[24:]),
		entries: le.Uint32(b[32:])}, nil
}

// seal takes the last bytes off a part and compares the checksum.
func (h *SnapshotInfo) seal(part *wire.Source) error {
	h.Checksum = part.Sum()
	b, err := part.Take(4)
	if err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	if want := binary.LittleEndian.Uint32(b); h.Checksum != want {
		return fmt.Errorf("%w: snapshot with checksum %#x, it says %#x", errState, h.Checksum, want)
	}
	return nil
}

// CheckSnapshot reads a shard's part of a snapshot to its end and verifies it without using it. A
// part is, in numbers that are little-endian:
//
//	the text gomxshrd
//	version of the format 4 bytes, shard 4
//	job 8, clock 8
//	number of entries 4
//	head and parts, as above replica.appendPart
//	CRC-32C of all before 4
func CheckSnapshot(part *wire.Source) (SnapshotInfo, error) {
	h, err := cutFixed(part)
	if err != nil {
		return SnapshotInfo{}, err
	}
	if _, h.Workers, err = cutSpec(part); err != nil {
		return SnapshotInfo{}, fmt.Errorf("%w: %w", errState, err)
	}
	var buf []byte
	for part.Left() > 4 {
		if buf, err = part.TakeTo(buf, min(part.Left()-4, pieceSize)); err != nil {
			return SnapshotInfo{}, fmt.Errorf("%w: %w", errState, err)
		}
	}
	if err := h.seal(part); err != nil {
		return SnapshotInfo{}, err
	}
	return h, nil
}
