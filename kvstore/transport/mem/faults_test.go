package mem_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
)

// listener is an endpoint that notes the sequences of what arrives.
type listener struct {
	ep transport.Endpoint

	mu    sync.Mutex
	heard []uint64
	at    []time.Time
	more  chan struct{}
}

func (l *listener) handle(_ wire.Node, m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, m.Seq)
	l.at = append(l.at, time.Now())
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// until waits until so many messages have arrived.
func (l *listener) until(t *testing.T, n int) []uint64 {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		l.mu.Lock()
		heard := slices.Clone(l.heard)
		l.mu.Unlock()
		if len(heard) >= n {
			return heard
		}
		select {
		case <-l.more:
		case <-timeout:
			t.Fatalf("%d messages arrived, want %d", len(heard), n)
		}
	}
}

var (
	here  = wire.Node{Role: wire.Worker}
	there = wire.Node{Role: wire.Server}
)

// link opens two endpoints on a network with faults and returns what sends a message with a
// sequence, and who hears it.
func link(t *testing.T, seed uint64, f mem.Faults) (*mem.Network, func(seq uint64), *listener) {
	t.Helper()
	n := mem.NewNetwork(seed)
	n.SetFaults(f)
	l := &listener{more: make(chan struct{}, 1)}
	open := func(node wire.Node, h transport.Handler) transport.Endpoint {
		e, err := mem.Open(n, transport.Config{Self: node, Incarnation: 1, Handler: h})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	l.ep = open(there, l.handle)
	from := open(here, func(wire.Node, *wire.Message) {})
	if err := from.Connect(there, l.ep.Addr()); err != nil {
		t.Fatal(err)
	}
	return n, func(seq uint64) {
		t.Helper()
		if err := from.Send(there, &wire.Message{Type: wire.TypePush, From: here, Incarnation: 1,
			Seq: seq}, nil); err != nil {
			t.Fatal(err)
		}
	}, l
}

// last is a sequence that is sent with a delay longer than any before: messages are handed over in
// the order of the moments they are due, however late the receiver is, so that what has not arrived
// by then is lost.
const last = 1 << 20

// after sends messages through a fault, lets it pass, and returns what has arrived.
func after(t *testing.T, seed uint64, f mem.Faults, messages int) []uint64 {
	t.Helper()
	n, send, l := link(t, seed, f)
	for i := range messages {
		send(uint64(i + 1))
	}
	n.SetFaults(mem.Faults{MinDelay: 100 * time.Millisecond, MaxDelay: 100 * time.Millisecond})
	send(last)
	heard := l.until(t, 1)
	for heard[len(heard)-1] != last {
		heard = l.until(t, len(heard)+1)
	}
	return heard[:len(heard)-1]
}

func TestLoss(t *testing.T) {
	heard := after(t, 1, mem.Faults{Loss: 0.25}, 1000)
	if n := 1000 - len(heard); n < 180 || n > 320 {
		t.Errorf("%d of 1000 messages were lost, want about 250", n)
	}
	if !slices.IsSorted(heard) {
		t.Error("what was not lost came in another order")
	}
	if again := after(t, 1, mem.Faults{Loss: 0.25}, 1000); !slices.Equal(again, heard) {
		t.Error("the same seed loses other messages")
	}
	if other := after(t, 2, mem.Faults{Loss: 0.25}, 1000); slices.Equal(other, heard) {
		t.Error("another seed loses the same messages")
	}
}

func TestDuplicates(t *testing.T) {
	heard := after(t, 1, mem.Faults{Duplicate: 0.25}, 1000)
	if n := len(heard) - 1000; n < 180 || n > 320 {
		t.Errorf("%d of 1000 messages came twice, want about 250", n)
	}
	slices.Sort(heard)
	if heard = slices.Compact(heard); len(heard) != 1000 {
		t.Errorf("%d different messages came, want 1000", len(heard))
	}
}

func TestReordering(t *testing.T) {
	heard := after(t, 1, mem.Faults{Reorder: 0.1, MaxDelay: 2 * time.Millisecond}, 1000)
	if len(heard) != 1000 {
		t.Fatalf("%d messages came, want 1000", len(heard))
	}
	overtaken := 0
	for i, seq := range heard[1:] {
		if seq < heard[i] {
			overtaken++
		}
	}
	if overtaken == 0 {
		t.Error("no message has overtaken another")
	}
	if heard := after(t, 1, mem.Faults{MaxDelay: 2 * time.Millisecond},
		1000); !slices.IsSorted(heard) {
		t.Error("delays alone change the order")
	}
}

func TestDelay(t *testing.T) {
	const least = 30 * time.Millisecond
	_, send, l := link(t, 1, mem.Faults{MinDelay: least, MaxDelay: 2 * least})
	began := time.Now()
	send(1)
	l.until(t, 1)
	if d := l.at[0].Sub(began); d < least {
		t.Errorf("a message took %v, want at least %v", d, least)
	}
}

func TestPartition(t *testing.T) {
	n, send, l := link(t, 1, mem.Faults{})
	other := wire.Node{Role: wire.Scheduler}
	steps := []struct {
		name   string
		change func()
		passes bool
	}{
		{"healthy", func() {}, true},
		{"partition", func() { n.Partition([]wire.Node{here}, []wire.Node{there, other}) }, false},
		{"same group", func() { n.Partition([]wire.Node{here, there}, []wire.Node{other}) }, true},
		{"no group", func() { n.Partition([]wire.Node{there}) }, true},
		{"partition again", func() { n.Partition([]wire.Node{here}, []wire.Node{there}) }, false},
		{"healed", n.Heal, true},
		{"cut the other way", func() { n.Cut(there, here) }, true},
		{"cut", func() { n.Cut(here, there) }, false},
		{"healed again", n.Heal, true},
	}
	var want []uint64
	for i, s := range steps {
		s.change()
		send(uint64(i))
		if s.passes {
			want = append(want, uint64(i))
		}
	}
	if heard := l.until(t, len(want)); !slices.Equal(heard, want) {
		t.Errorf("got %v, want %v", heard, want)
	}
}
