package wire_test

import (
	"bytes"
	"testing"

	"gomx/kvstore/wire"
)

// FuzzDecode feeds headers with a right checksum over wrong contents, which plain fuzzing would
// hardly ever find.
func FuzzDecode(f *testing.F) {
	m := sample()
	f.Add(m.AppendHeader(nil), m.Payload, true)
	f.Add([]byte("garbage"), []byte{}, false)
	f.Fuzz(func(t *testing.T, header, payload []byte, seal bool) {
		if seal && len(header) == wire.HeaderSize {
			header = bytes.Clone(header)
			sum := wire.Checksum(header[:wire.HeaderSize-4])
			header = append(header[:wire.HeaderSize-4], byte(sum), byte(sum>>8), byte(sum>>16),
				byte(sum>>24))
		}
		var m wire.Message
		if err := wire.Decode(header, payload, &m); err != nil {
			return
		}
		if again := m.AppendHeader(nil); !bytes.Equal(again, header) {
			t.Errorf("decoded %x, encoded %x", header, again)
		}
	})
}

func FuzzBodies(f *testing.F) {
	for _, b := range bodies {
		f.Add(b.encoded)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, body := range bodies {
			_, _ = body.decode(b)
		}
		if v, err := wire.DecodeView(b); err == nil {
			if again := v.Append(nil); !bytes.Equal(again, b) {
				t.Errorf("view %x encodes to %x", b, again)
			}
		}
	})
}

func FuzzInPlace(f *testing.F) {
	m := sample()
	f.Add(wire.AppendItem(wire.AppendItem(nil, &m), &m))
	f.Add(wire.AppendAck(nil, 3, wire.Late))
	entry := make([]byte, wire.EntrySize(1))
	wire.PutEntry(entry, 1)
	wire.PutContributor(entry, 0, wire.Contributor{Outcome: wire.Applied})
	f.Add(entry)
	f.Fuzz(func(t *testing.T, b []byte) {
		batch := wire.Message{Type: wire.TypeBatch, From: wire.Node{Role: wire.Worker}, Payload: b}
		items := batch.Items()
		var item wire.Message
		for n := 0; ; n++ {
			ok, err := items.Next(&item)
			if !ok || err != nil {
				break
			}
			if n > len(b)/wire.ItemSize {
				t.Fatal("more items than bytes")
			}
		}
		if a, err := wire.DecodeAcks(b); err == nil {
			for i := range a.Len() {
				a.At(i)
			}
		}
		if e, err := wire.DecodeEntry(b); err == nil {
			for i := range e.Len() {
				e.At(i)
			}
		}
	})
}
