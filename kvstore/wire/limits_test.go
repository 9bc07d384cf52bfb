package wire_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"gomx/kvstore/wire"
)

// sealed returns the header of a message with bytes changed and a checksum that fits them.
func sealed(m *wire.Message, change func(h []byte)) []byte {
	h := m.AppendHeader(nil)
	change(h)
	end := wire.HeaderSize - 4
	binary.LittleEndian.PutUint32(h[end:], wire.Checksum(h[:end]))
	return h
}

// TestHeadersThatWereMadeWrong decodes headers whose checksum is right.
func TestHeadersThatWereMadeWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(h []byte)
		want   error
		text   string
	}{
		"nothing changed": {func([]byte) {}, nil, ""},
		"another magic":   {func(h []byte) { h[0] = 'x' }, wire.ErrHeader, "begins with"},
		"an older version": {func(h []byte) { h[4] = wire.Version - 1 }, wire.ErrHeader,
			"version 4, want 5"},
		"a newer version": {func(h []byte) { h[4] = wire.Version + 1 }, wire.ErrHeader,
			"version 6, want 5"},
		"type 0":           {func(h []byte) { h[5] = 0 }, wire.ErrMessage, "type 0"},
		"no role":          {func(h []byte) { h[74] = 0 }, wire.ErrMessage, "nobody"},
		"a longer payload": {func(h []byte) { h[80]++ }, wire.ErrPayload, "its header says"},
		"4 GB of payload": {func(h []byte) { binary.LittleEndian.PutUint32(h[80:], 1<<32-1) },
			wire.ErrPayload, "its header says"},
		"a checksum for none": {func(h []byte) { h[84] = 1 }, wire.ErrMessage, "without its flag"},
		"a slice that is last": {func(h []byte) { copy(h[68:], h[70:72]) }, wire.ErrMessage,
			"slice"},
	} {
		m := sample()
		var got wire.Message
		err := wire.Decode(sealed(&m, tt.change), m.Payload, &got)
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v that says %q", name, err, tt.want, tt.text)
		}
	}
}

// TestItemsThatWereMadeWrong walks over batches: nothing of an item that is wrong is returned.
func TestItemsThatWereMadeWrong(t *testing.T) {
	for name, change := range map[string]func(b []byte){
		"type 0":             func(b []byte) { b[0] = 0 },
		"unknown flags":      func(b []byte) { b[5] = 0x80 },
		"a payload checksum": func(b []byte) { b[4] |= byte(wire.FlagPayloadCRC) },
		"slice 9 of 2":       func(b []byte) { b[6], b[8] = 9, 2 },
		"a longer payload":   func(b []byte) { b[20] += 8 },
		"4 GB of payload":    func(b []byte) { binary.LittleEndian.PutUint32(b[20:], 1<<32-1) },
	} {
		m := sample()
		batch := wire.Message{Type: wire.TypeBatch, From: m.From, Payload: wire.AppendItem(nil, &m)}
		change(batch.Payload)
		items := batch.Items()
		var got wire.Message
		if ok, err := items.Next(&got); ok || err == nil {
			t.Errorf("%s: got %v, %v", name, ok, err)
		}
	}
}

// TestBodiesThatWereMadeWrong decodes bodies of the right length.
func TestBodiesThatWereMadeWrong(t *testing.T) {
	hello := func(h wire.Hello) []byte { return h.Append(nil) }
	view := func(change func(v *wire.View)) []byte {
		v := sampleView()
		change(v)
		return v.Append(nil)
	}
	bits := sampleView().Append(nil)
	bits[len(bits)-1] = 16
	cursor := func(change func(e *wire.CursorEntry)) []byte {
		c := sampleCursor()
		change(&c.Entries[0])
		return c.Append(nil)
	}
	manifest := sampleManifest().Append(nil)
	binary.LittleEndian.PutUint32(manifest[8:], 3)
	binary.LittleEndian.PutUint32(manifest[len(manifest)-4:],
		wire.Checksum(manifest[:len(manifest)-4]))
	entry := make([]byte, wire.EntrySize(1))
	wire.PutEntry(entry, 1)
	wire.PutContributor(entry, 0, wire.Contributor{Outcome: wire.Known + 1})
	for name, err := range map[string]error{
		"hello without nonce": second(wire.DecodeHello(hello(wire.Hello{Rank: 1}))),
		"hello for rank -2": second(wire.DecodeHello(hello(wire.Hello{Nonce: 1,
			Rank: -2}))),
		"hello for rank 65536": second(wire.DecodeHello(hello(wire.Hello{Nonce: 1,
			Rank: 1 << 16}))),
		"hello from afar": second(wire.DecodeHello(hello(wire.Hello{Nonce: 1,
			Addr: strings.Repeat("x", 1025)}))),
		"view with places mixed up": second(
			wire.DecodeView(view(func(v *wire.View) { v.Servers[0].Node.Rank = 1 }))),
		"view with workers as servers": second(wire.DecodeView(view(func(v *wire.View) {
			v.Workers[0].Node.Role = wire.Server
		}))),
		"view with a primary nowhere": second(
			wire.DecodeView(view(func(v *wire.View) { v.Shards[0].Primary.Server = 2 }))),
		"view with a backup nowhere": second(
			wire.DecodeView(view(func(v *wire.View) { v.Shards[0].Backup.Server = 65535 }))),
		"view with unknown bits": second(wire.DecodeView(bits)),
		"cursor of slice 2 of 2": second(
			wire.DecodeCursor(cursor(func(e *wire.CursorEntry) { e.Slice = 2 }))),
		"manifest of another version": second(wire.DecodeManifest(manifest)),
		"acks of 17 bytes":            second(wire.DecodeAcks(make([]byte, 17))),
		"acks that say nothing":       second(wire.DecodeAcks(wire.AppendAck(nil, 1, 0))),
		"acks that say too much": second(wire.DecodeAcks(wire.AppendAck(nil, 1,
			wire.Known+1))),
		"entry of 7 bytes": second(wire.DecodeEntry(make([]byte, 7))),
		"entry that claims too much": second(wire.DecodeEntry([]byte{0xff, 0xff, 0xff, 0xff, 0, 0,
			0, 0, 0})),
		"entry with reserved bytes": second(wire.DecodeEntry([]byte{0, 0, 0, 0, 1, 0, 0, 0})),
		"entry of unknown outcome":  second(wire.DecodeEntry(entry)),
	} {
		if !errors.Is(err, wire.ErrBody) {
			t.Errorf("%s: got %v, want %v", name, err, wire.ErrBody)
		}
	}
}

func second[T any](_ T, err error) error { return err }
