package bulk

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"gomx/kvstore/wire"
)

// framesOf encodes messages with payloads of the given lengths.
func framesOf(lengths ...int) []byte {
	var b []byte
	for i, n := range lengths {
		m := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1,
			Seq: uint64(i), Payload: bytes.Repeat([]byte{byte(i + 1)}, n)}
		b = append(m.AppendHeader(b), m.Payload...)
	}
	return b
}

func TestFrames(t *testing.T) {
	lengths := []int{0, 1, 4096, 4097, largest, largest + 1, 3*largest + 7}
	in := frames{from: iotest.HalfReader(bytes.NewReader(framesOf(lengths...))), most: 1 << 25,
		pool: &buffers{}}
	var m wire.Message
	for i, n := range lengths {
		b, err := in.next(&m)
		if err != nil || m.Seq != uint64(i) ||
			!bytes.Equal(m.Payload, bytes.Repeat([]byte{byte(i + 1)}, n)) {
			t.Fatalf("message %d: %s, %v; want %d bytes", i, &m, err, n)
		}
		b.Release()
	}
	if _, err := in.next(&m); err != io.EOF {
		t.Errorf("at the end: %v, want EOF", err)
	}
}

// TestFramesThatClaimMuch gives a header that claims 2 GB and ends: the reader takes no more memory
// than the bytes need.
func TestFramesThatClaimMuch(t *testing.T) {
	m := wire.Message{Type: wire.TypePush, From: someWorker, Payload: make([]byte, 1<<30)}
	head := m.AppendHeader(nil)
	in := frames{from: bytes.NewReader(head), most: 1 << 31, pool: &buffers{}}
	if _, err := in.next(&m); err != io.ErrUnexpectedEOF {
		t.Errorf("a truncated message: %v, want an unexpected EOF", err)
	}
	if in.pool.kept > largest {
		t.Errorf("%d bytes were taken, want at most %d", in.pool.kept, largest)
	}
	in = frames{from: bytes.NewReader(head), most: 1 << 20, pool: &buffers{}}
	if _, err := in.next(&m); !errors.Is(err, wire.ErrPayload) {
		t.Errorf("a payload beyond the limit: %v, want ErrPayload", err)
	}
}

// FuzzFrames reads any bytes. What is read encodes to the same bytes.
func FuzzFrames(f *testing.F) {
	f.Add(framesOf(0, 10))
	f.Add(framesOf(5000)[:3000])
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	pool := &buffers{}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := frames{from: bytes.NewReader(b), most: 1 << 24, pool: pool}
		var m wire.Message
		rest := b
		for {
			p, err := in.next(&m)
			if err != nil {
				return
			}
			again := append(m.AppendHeader(nil), m.Payload...)
			if !bytes.HasPrefix(rest, again) {
				t.Fatalf("%s is not at the front of the bytes", &m)
			}
			rest = rest[len(again):]
			p.Release()
		}
	})
}

// FuzzNote reads any payload of a note.
func FuzzNote(f *testing.F) {
	f.Add(noteOf(pin{1}, true))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ask, err := readNote(b); err == nil && !bytes.Equal(noteOf(p, ask), b) {
			t.Errorf("note %v encodes to %v", b, noteOf(p, ask))
		}
	})
}
