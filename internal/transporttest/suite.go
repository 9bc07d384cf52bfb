package transporttest

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// Suite is a transport to test.
type Suite struct {
	Open    Opener
	Payload int // length of the longest payload in bytes; 0: 3 MB
}

// Run runs all tests.
func Run(t *testing.T, s Suite) {
	if s.Payload == 0 {
		s.Payload = 3<<20 + 5
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *Suite)
	}{
		{"Fields", fields}, {"Sizes", sizes}, {"Order", order}, {"Slices", slicesInFlight},
		{"Echo", echo}, {"Keep", keep},
		{"Senders", senders}, {"Refusals", refusals}, {"ForeignJob", foreignJob}, {"Stale", stale},
		{"Busy", busy},
		{"CloseWhileSending", closeWhileSending}, {"CloseReceiver", closeReceiver},
		{"HungUp", hungUp}, {"ServerRestarts", serverRestarts}, {"WorkerRestarts", workerRestarts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &s) })
	}
}

// two opens a server and a worker that is connected to it.
func (s *Suite) two(t *testing.T, atServer, atWorker transport.Handler) (server, worker *Node) {
	t.Helper()
	server = Start(t, s.Open, transport.Config{Self: Server(0)}, atServer)
	worker = Start(t, s.Open, transport.Config{Self: Worker(0)}, atWorker)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	return server, worker
}

// fields checks that every field of a header arrives.
func fields(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	for _, typ := range []wire.Type{wire.TypePushPull, wire.TypeHeartbeat} {
		want := wire.Message{Type: typ, Flags: wire.FlagPayloadCRC | wire.FlagRetry, Job: job,
			Shard: 7, Epoch: 1 << 40, From: worker.Self,
			Incarnation: worker.Incarnation, Seq: 1 << 50, Clock: 3, Need: 2,
			KeySlice: wire.KeySlice{Key: 99, Slice: 4, Slices: 5, DType: 1, Codec: 2,
				Total: 1 << 33},
			Priority: -3, Payload: []byte("payload")}
		if err := worker.Send(server.Self, &want, nil); err != nil {
			t.Fatal(err)
		}
		got := server.WaitFor(typ.String(), func(l []wire.Message) bool {
			return len(l) > 0 && l[len(l)-1].Type == typ
		})
		g := got[len(got)-1]
		if !bytes.Equal(g.Payload, want.Payload) {
			t.Errorf("payload %q, want %q", g.Payload, want.Payload)
		}
		if g.String() != want.String() || g.Total != want.Total || g.Priority != want.Priority ||
			g.DType != want.DType || g.Codec != want.Codec {
			t.Errorf("got %s\nwant %s", &g, &want)
		}
	}
}

// sizes sends payloads of many lengths, copied and lent, in both directions.
func sizes(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	var lengths []int
	for _, n := range []int{0, 1, 7, 8, 31, 33, 64, 100, 4096, 7999, 8192, 16<<10 - 1, 16 << 10,
		64<<10 - 1, 64 << 10, 1 << 20, 1<<20 + 3, s.Payload} {
		if n <= s.Payload {
			lengths = append(lengths, n)
		}
	}
	exchange := func(from, to *Node) {
		for i, n := range lengths {
			for lent := range 2 {
				seq := uint64(2*i + lent)
				payload := Pattern(n, seq)
				var back chan struct{}
				var sent func()
				if lent == 1 {
					back = make(chan struct{})
					sent = func() { close(back) }
				}
				if err := from.Send(to.Self, from.Message(wire.TypePush, seq, payload),
					sent); err != nil {
					t.Fatal(err)
				}
				if back != nil {
					<-back
				}
				clear(payload) // the buffer is returned to the sender
			}
		}
		for i, m := range to.Wait(2 * len(lengths)) {
			if want := Pattern(lengths[i/2], uint64(i)); m.Seq != uint64(i) ||
				!bytes.Equal(m.Payload, want) {
				t.Errorf("message %d: seq %d with %d bytes, want %d bytes of the pattern; "+
					"equal: %t", i, m.Seq, len(m.Payload), len(want), bytes.Equal(m.Payload, want))
			}
		}
	}
	exchange(worker, server)
	exchange(server, worker)
}

// order sends many messages and checks their order within each class.
func order(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	const count = 900
	big := Pattern(100_000, 1)
	for i := range uint64(count) {
		typ, payload := wire.TypePush, big[:i%700]
		switch i % 5 {
		case 1:
			typ = wire.TypeHeartbeat
		case 2:
			if i%50 == 2 {
				payload = big
			}
		}
		Eventually(t, "room", func() bool {
			err := worker.Send(server.Self, worker.Message(typ, i, payload), func() {})
			if err != nil && !errors.Is(err, transport.ErrBusy) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	last := map[bool]uint64{}
	for _, m := range server.Wait(count) {
		c := m.Type.Control()
		if seen, ok := last[c]; ok && m.Seq <= seen {
			t.Fatalf("message %d (control %t) after %d", m.Seq, c, seen)
		}
		last[c] = m.Seq
	}
	if got := len(server.Received()); got != count {
		t.Errorf("%d messages arrived, want %d", got, count)
	}
}

// slicesInFlight sends all slices of an array at once, and joins them again.
func slicesInFlight(t *testing.T, s *Suite) {
	const total, size = 8 << 20, 256 << 10
	array := Pattern(total, 5)
	sum := make([]byte, total)
	n := wire.Slices(total, size)
	var got atomic.Int32
	server, worker := s.two(t, func(_ wire.Node, m *wire.Message) {
		lo, hi := wire.Range(total, m.Slice, m.Slices)
		if copy(sum[lo:hi], m.Payload) != len(m.Payload) {
			t.Errorf("slice %d has %d bytes, want %d", m.Slice, len(m.Payload), hi-lo)
		}
		got.Add(1)
	}, nil)
	var lent sync.WaitGroup
	for i := range n {
		lo, hi := wire.Range(total, i, n)
		m := worker.Message(wire.TypePush, uint64(i), array[lo:hi])
		m.Slice, m.Slices = i, n
		lent.Add(1)
		if err := worker.Send(server.Self, m, lent.Done); err != nil {
			t.Fatal(err)
		}
	}
	server.Wait(int(n))
	lent.Wait()
	if !bytes.Equal(sum, array) {
		t.Error("the array that arrived differs")
	}
}

// echo replies to messages in both handlers.
func echo(t *testing.T, s *Suite) {
	const rounds = 300
	var server, worker *Node
	ready := make(chan struct{})
	server, worker = s.two(t, func(from wire.Node, m *wire.Message) {
		<-ready
		if err := server.Send(from, server.Message(wire.TypeValue, m.Seq, m.Payload),
			nil); err != nil {
			t.Error(err)
		}
	}, func(from wire.Node, m *wire.Message) {
		if m.Seq < rounds {
			if err := worker.Send(from, worker.Message(wire.TypePushPull, m.Seq+1, m.Payload),
				nil); err != nil {
				t.Error(err)
			}
		}
	})
	close(ready)
	want := Pattern(4096, 9)
	worker.Push(server.Self, 0, want)
	got := worker.Wait(rounds + 1)
	if last := got[len(got)-1]; last.Seq != rounds || !bytes.Equal(last.Payload, want) {
		t.Errorf("last echo is %s, want seq %d and the payload unchanged", &last, rounds)
	}
}

// keep keeps payloads and compares them after many other messages have arrived.
func keep(t *testing.T, s *Suite) {
	type kept struct {
		seq   uint64
		bytes []byte
		owner wire.Owner
	}
	var list []kept // used by the handler until the last message has arrived
	server, worker := s.two(t, func(_ wire.Node, m *wire.Message) {
		b, o := m.Take(nil)
		if m.Seq%7 == 0 && o != nil { // some payloads are returned at once
			o.Release()
			return
		}
		list = append(list, kept{m.Seq, b, o})
	}, nil)
	const count = 120
	for i := range uint64(count) {
		worker.Push(server.Self, i, Pattern(int(i*i*17%150_000), i))
	}
	server.Wait(count)
	var done sync.WaitGroup
	for _, k := range list {
		done.Go(func() {
			if !bytes.Equal(k.bytes, Pattern(int(k.seq*k.seq*17%150_000), k.seq)) {
				t.Errorf("payload %d of %d bytes changed while it was kept", k.seq, len(k.bytes))
			}
			if k.owner != nil {
				k.owner.Release()
			}
		})
	}
	done.Wait()
}

// senders sends from several goroutines to several servers.
func senders(t *testing.T, s *Suite) {
	const each, goroutines = 100, 4
	servers := []*Node{Start(t, s.Open, transport.Config{Self: Server(0)}, nil),
		Start(t, s.Open, transport.Config{Self: Server(1)}, nil)}
	worker := Start(t, s.Open, transport.Config{Self: Worker(3)}, nil)
	for _, server := range servers {
		if err := worker.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
	}
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			for i := range each {
				m := worker.Message(wire.TypePush, uint64(i), Pattern(i*300, uint64(i)))
				m.Key = uint32(g)
				if err := worker.Send(servers[g%2].Self, m, func() {}); err != nil {
					t.Errorf("goroutine %d, message %d: %v", g, i, err)
				}
			}
		})
	}
	done.Wait()
	for i, server := range servers {
		next := map[uint32]uint64{}
		for _, m := range server.Wait(each * goroutines / 2) {
			if int(m.Key)%2 != i || m.Seq != next[m.Key] {
				t.Fatalf("%s: message %d of goroutine %d, want %d", server.Self, m.Seq, m.Key,
					next[m.Key])
			}
			next[m.Key]++
		}
	}
}
