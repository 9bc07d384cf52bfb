package view

import (
	"encoding/binary"
	"fmt"

	"gomx/kvstore/wire"
)

// A record of a view is, in this order: the text recordMagic, wire.ViewVersion as 4 bytes, the
// encoded view, and the CRC-32C of all bytes before. Numbers are little-endian. Records of version
// 1 begin with the encoded view.
const recordMagic = "gomxview"

// Encode returns the record of a view, which stores keep.
func Encode(v *wire.View) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(recordMagic), wire.ViewVersion)
	b = v.Append(b)
	return le.AppendUint32(b, wire.Checksum(b))
}

// Decode reads a record. A record of another version is an error: a job does not outlive its
// program.
func Decode(b []byte) (*wire.View, error) {
	le := binary.LittleEndian
	if len(b) < 4 || le.Uint32(b[len(b)-4:]) != wire.Checksum(b[:len(b)-4]) {
		return nil, fmt.Errorf("view: record of %d bytes: its checksum is wrong", len(b))
	}
	version, head := uint32(1), len(recordMagic)+4
	if len(b) >= head+4 && string(b[:len(recordMagic)]) == recordMagic {
		version = le.Uint32(b[len(recordMagic):])
	}
	if version != wire.ViewVersion {
		return nil, fmt.Errorf("view: record of version %d, want %d: another release of gomx "+
			"wrote "+
			"it; continue the job with that release, or from a snapshot", version,
			uint32(wire.ViewVersion))
	}
	v, err := wire.DecodeView(b[head : len(b)-4])
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return v, nil
}
