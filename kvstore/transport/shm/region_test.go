//go:build linux

package shm_test

import (
	"bytes"
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/wire"
)

// inPlace is a payload that a handler read in place.
type inPlace struct {
	bytes  []byte
	intact bool // after reading
}

// readers opens a server and a worker with shared memory both ways, and a channel of the payloads
// that the server reads in place, after it has called meanwhile.
func readers(t *testing.T, meanwhile func()) (server, worker *transporttest.Node,
	got chan inPlace) {
	t.Helper()
	got = make(chan inPlace, 100)
	open := overMemory(shm.Options{})
	server = transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0)},
		func(_ wire.Node, m *wire.Message) {
			if _, lent := m.Owner.(wire.Lent); !lent {
				return
			}
			meanwhile()
			kept, owner := m.Take(nil)
			if owner != nil {
				t.Error("a payload that was lent has been taken")
			}
			got <- inPlace{kept, wire.Intact(m.Owner)}
		})
	worker = transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0)}, nil)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	share(t, worker, server)
	return server, worker, got
}

// spaceOf makes memory of a node for payloads that are read in place.
func spaceOf(t *testing.T, n *transporttest.Node, size int) transport.Space {
	t.Helper()
	s, err := n.Endpoint.(transport.Sharer).Share(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// sendIn sends a payload in a space until the receiver reads it in place: the space may not have
// come yet.
func sendIn(t *testing.T, from, to *transporttest.Node, payload []byte, got chan inPlace) inPlace {
	t.Helper()
	var p inPlace
	seq := uint64(1000)
	transporttest.Eventually(t, "a payload that is read in place", func() bool {
		seq++
		returned := make(chan bool, 1)
		if err := from.Send(to.Self, from.Message(wire.TypePush, seq, payload),
			func() { returned <- true }); err != nil {
			t.Fatal(err)
		}
		<-returned
		to.WaitFor("the message", func(all []wire.Message) bool {
			return len(all) > 0 && all[len(all)-1].Seq == seq
		})
		select {
		case p = <-got:
			return true
		default:
			return false
		}
	})
	return p
}

func TestPayloadsAreReadInPlace(t *testing.T) {
	server, worker, got := readers(t, func() {})
	s := spaceOf(t, worker, 300_000)
	want := transporttest.Pattern(100_000, 3)
	copy(s.Bytes()[128_000:], want)
	p := sendIn(t, worker, server, s.Bytes()[128_000:228_000], got)
	if !p.intact || !bytes.Equal(p.bytes, want) {
		t.Errorf("the payload differs, or is not intact (%t)", p.intact)
	}
	copy(s.Bytes()[200_000:], want) // to the end
	if p = sendIn(t, worker, server, s.Bytes()[200_000:], got); !bytes.Equal(p.bytes, want) {
		t.Error("the payload at the end differs")
	}
}

func TestReadersLearnThatAPayloadIsWrittenAgain(t *testing.T) {
	var s transport.Space
	server, worker, got := readers(t, func() { s.Renew() })
	s = spaceOf(t, worker, 100_032)
	if p := sendIn(t, worker, server, s.Bytes(), got); p.intact {
		t.Error("a payload is intact whose memory was renewed while it was read")
	}
}

// TestSpacesOutliveTheirSenders reads a payload whose space is closed meanwhile.
func TestSpacesOutliveTheirSenders(t *testing.T) {
	var s transport.Space
	server, worker, got := readers(t, func() { s.Close() })
	s = spaceOf(t, worker, 100_000)
	want := transporttest.Pattern(100_000, 4)
	copy(s.Bytes(), want)
	if p := sendIn(t, worker, server, s.Bytes(), got); !bytes.Equal(p.bytes, want) {
		t.Error("the payload differs")
	}
}

// TestSpacesReachPeersThatComeLater passes spaces on to a process that comes after they were made,
// and to its successors.
func TestSpacesReachPeersThatComeLater(t *testing.T) {
	open := overMemory(shm.Options{})
	server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0)}, nil)
	s := spaceOf(t, server, 100_000)
	want := transporttest.Pattern(100_000, 5)
	copy(s.Bytes(), want)
	for incarnation := uint32(1); incarnation < 4; incarnation++ {
		got := make(chan inPlace, 100)
		worker := transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0),
			Incarnation: incarnation}, func(_ wire.Node, m *wire.Message) {
			if _, lent := m.Owner.(wire.Lent); lent {
				got <- inPlace{bytes.Clone(m.Payload), wire.Intact(m.Owner)}
			}
		})
		if err := worker.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
		share(t, worker, server)
		if p := sendIn(t, server, worker, s.Bytes(), got); !bytes.Equal(p.bytes, want) {
			t.Errorf("process %d: the payload differs", incarnation)
		}
		if err := worker.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSpacesAreBounded(t *testing.T) {
	_, worker, _ := readers(t, func() {})
	sharer := worker.Endpoint.(transport.Sharer)
	if s, err := sharer.Share(0); err == nil {
		s.Close()
		t.Error("a space of no bytes was made")
	}
	made := 0
	for ; made < 1000; made++ {
		s, err := sharer.Share(4096)
		if err != nil {
			break
		}
		t.Cleanup(s.Close)
	}
	if made < 64 || made == 1000 {
		t.Errorf("%d spaces were made, want a bound above 64", made)
	}
}
