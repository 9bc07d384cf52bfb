package wire_test

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"gomx/internal/hostile"
	"gomx/kvstore/wire"
)

func TestHostileMessages(t *testing.T) {
	m := sample()
	file := append(m.AppendHeader(nil), m.Payload...)
	hostile.Kind{Name: "message", Seeds: [][]byte{file}, Decode: func(b []byte) error {
		var m wire.Message
		n := min(len(b), wire.HeaderSize)
		return wire.Decode(b[:n], b[n:], &m)
	}, Seal: func(b []byte) {
		if end := wire.HeaderSize - 4; len(b) >= wire.HeaderSize {
			binary.LittleEndian.PutUint32(b[end:], wire.Checksum(b[:end]))
		}
	}}.Run(t)
	items := wire.AppendItem(wire.AppendItem(nil, &m), &m)
	hostile.Kind{Name: "batch", Seeds: [][]byte{items}, Decode: func(b []byte) error {
		batch := wire.Message{Type: wire.TypeBatch, From: wire.Node{Role: wire.Worker}, Payload: b}
		next := batch.Items()
		for {
			var item wire.Message
			if ok, err := next.Next(&item); !ok || err != nil {
				return err
			}
		}
	}}.Run(t)
}

func TestHostileBodies(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		k := hostile.Kind{Name: name, Seeds: [][]byte{bodies[name].encoded},
			Decode: func(b []byte) error {
				_, err := bodies[name].decode(b)
				return err
			}}
		k.Run(t)
		if name == "manifest" { // which ends in a checksum
			k.Name, k.Seal = "sealed manifest", func(b []byte) {
				if end := len(b) - 4; end >= 0 {
					binary.LittleEndian.PutUint32(b[end:], wire.Checksum(b[:end]))
				}
			}
			k.Run(t)
		}
	}
}
