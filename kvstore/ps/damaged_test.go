package ps_test

import (
	"encoding/binary"
	"testing"

	"gomx/internal/hostile"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
)

// TestHostileSnapshots checks damaged parts of snapshots, and starts servers from those whose
// checksum is right.
func TestHostileSnapshots(t *testing.T) {
	file, _ := snapshotOf(t)
	hostile.Kind{Name: "snapshot", Seeds: [][]byte{file}, Decode: func(b []byte) error {
		_, err := server.CheckSnapshot(wire.SourceOf(b))
		return err
	}}.Run(t)
	hostile.Kind{Name: "sealed snapshot", Seeds: [][]byte{file}, Decode: func(b []byte) error {
		_, err := server.CheckSnapshot(wire.SourceOf(b))
		restored(t, b)
		return err
	}, Seal: func(b []byte) {
		if end := len(b) - 4; end >= 0 {
			binary.LittleEndian.PutUint32(b[end:], wire.Checksum(b[:end]))
		}
	}}.Run(t)
}
