package transporttest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// refusals makes invalid calls and checks their errors.
func refusals(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	called := func() { t.Error("sent was called for a message that was refused") }
	check := func(what string, n *Node, to wire.Node, m *wire.Message, want error) {
		t.Helper()
		if err := n.Send(to, m, called); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("unknown node", worker, Server(9), worker.Message(wire.TypePush, 1, nil),
		transport.ErrUnreachable)
	check("node that never spoke", server, Worker(8), server.Message(wire.TypeValue, 1, nil),
		transport.ErrUnreachable)
	check("too large", worker, server.Self, worker.Message(wire.TypePush, 1,
		make([]byte, transport.DefaultMaxPayload+1)), transport.ErrTooLarge)
	other := worker.Message(wire.TypePush, 1, nil)
	other.From = Worker(1)
	check("another's name", worker, server.Self, other, nil)
	worker.Disconnect(server.Self)
	check("disconnected", worker, server.Self, worker.Message(wire.TypePush, 1, nil),
		transport.ErrUnreachable)
	if err := worker.Close(); err != nil {
		t.Error(err)
	}
	check("closed", worker, server.Self, worker.Message(wire.TypePush, 1, nil), transport.ErrClosed)
	if err := worker.Connect(server.Self, server.Addr()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("connect after close: %v, want ErrClosed", err)
	}
	if err := worker.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// foreignJob sends a message of another job.
func foreignJob(t *testing.T, s *Suite) {
	server := Start(t, s.Open, transport.Config{Self: Server(0)}, nil)
	foreign := Start(t, s.Open, transport.Config{Self: Worker(0), Job: job + 1}, nil)
	if err := foreign.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	m := foreign.Message(wire.TypePush, 1, nil)
	m.Job++
	Eventually(t, "the foreign worker's message", func() bool {
		if err := foreign.Send(server.Self, m, nil); err != nil {
			t.Fatal(err)
		}
		return server.Stats().Foreign > 0
	})
	if got := server.Received(); len(got) > 0 {
		t.Errorf("the handler got %s", &got[0])
	}
}

// Stats returns the counts of the endpoint.
func (n *Node) Stats() transport.Stats { return n.Endpoint.(transport.Metered).Stats() }

// stale sends a message of an old incarnation after one of its successor.
func stale(t *testing.T, s *Suite) {
	server := Start(t, s.Open, transport.Config{Self: Server(0)}, nil)
	var incarnations [2]*Node
	for i := range incarnations {
		n := Start(t, s.Open, transport.Config{Self: Worker(0), Incarnation: uint32(i + 1)}, nil)
		if err := n.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
		n.Push(server.Self, uint64(i), nil)
		server.Wait(i + 1)
		incarnations[i] = n
	}
	Eventually(t, "a stale message to be counted", func() bool {
		incarnations[0].Push(server.Self, 30, nil)
		return server.Stats().Stale > 0
	})
	// Replies go to the successor.
	if err := server.Send(Worker(0), server.Message(wire.TypeValue, 40, nil), nil); err != nil {
		t.Fatal(err)
	}
	incarnations[1].Wait(1)
	if got := server.Received(); len(got) != 2 {
		t.Errorf("%d messages reached the handler, want 2", len(got))
	}
	if got := incarnations[0].Received(); len(got) != 0 {
		t.Errorf("the old incarnation got %s", &got[0])
	}
}

// busy sends to a node whose handler blocks until the test lets it continue.
func busy(t *testing.T, s *Suite) {
	blocked := make(chan struct{})
	server, worker := s.two(t, func(wire.Node, *wire.Message) { <-blocked }, nil)
	payload := Pattern(4000, 1)
	var accepted uint64
	for ; accepted < 100_000; accepted++ {
		err := worker.Send(server.Self, worker.Message(wire.TypePush, accepted, payload), nil)
		if errors.Is(err, transport.ErrBusy) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close(blocked)
	if accepted == 100_000 {
		t.Fatalf("%d messages were queued for a node that takes none", accepted)
	}
	for i, m := range server.Wait(int(accepted)) {
		if m.Seq != uint64(i) {
			t.Fatalf("message %d is %d", i, m.Seq)
		}
	}
	Eventually(t, "room again", func() bool {
		return worker.Send(server.Self, worker.Message(wire.TypePush, accepted, nil), nil) == nil
	})
}

// flood sends from several goroutines until an endpoint is closed, and counts the payloads that
// were lent and returned.
func flood(t *testing.T, n *Node, to wire.Node, stop <-chan struct{}) (lent, back *atomic.Int64,
	done *sync.WaitGroup) {
	lent, back, done = new(atomic.Int64), new(atomic.Int64), new(sync.WaitGroup)
	payload := Pattern(200_000, 3)
	for g := range 3 {
		done.Go(func() {
			for i := uint64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				m := n.Message(wire.TypePush, i, payload[:50_000*(g+1)])
				m.Key = uint32(g)
				err := n.Send(to, m, func() { back.Add(1) })
				switch {
				case err == nil:
					lent.Add(1)
				case errors.Is(err, transport.ErrClosed):
					return
				case !errors.Is(err, transport.ErrBusy) &&
					!errors.Is(err, transport.ErrUnreachable):
					t.Error(err)
					return
				}
			}
		})
	}
	return lent, back, done
}

// closeWhileSending closes the sending endpoint.
func closeWhileSending(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	lent, back, done := flood(t, worker, server.Self, nil)
	server.Wait(30)
	if err := worker.Close(); err != nil {
		t.Error(err)
	}
	done.Wait()
	if l, b := lent.Load(), back.Load(); l != b {
		t.Errorf("%d payloads were lent, %d given back when close returned", l, b)
	}
}

// closeReceiver closes the receiving endpoint, and then the sending one, whose queue is full.
func closeReceiver(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	stop := make(chan struct{})
	lent, back, done := flood(t, worker, server.Self, stop)
	server.Wait(30)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	count := len(server.Received())
	close(stop)
	done.Wait()
	if err := worker.Close(); err != nil {
		t.Error(err)
	}
	if l, b := lent.Load(), back.Load(); l != b {
		t.Errorf("%d payloads were lent, %d given back when close returned", l, b)
	}
	if got := len(server.Received()); got != count {
		t.Errorf("%d messages after close", got-count)
	}
}

// serverRestarts closes a server and opens its next incarnation at the same address, while the
// worker only sends.
func serverRestarts(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	addr := server.Addr()
	for incarnation := uint32(1); ; incarnation++ {
		Eventually(t, "the worker to get through", func() bool {
			err := worker.Send(server.Self, worker.Message(wire.TypePush, uint64(incarnation), nil),
				nil)
			if err != nil && !errors.Is(err, transport.ErrBusy) {
				t.Fatal(err)
			}
			return len(server.Received()) > 0
		})
		if err := server.Send(worker.Self, server.Message(wire.TypeValue, uint64(incarnation), nil),
			nil); err != nil {
			t.Fatal(err)
		}
		worker.WaitFor("the server's answer", func(l []wire.Message) bool {
			return len(l) > 0 && l[len(l)-1].Incarnation == incarnation
		})
		if incarnation == 3 {
			return
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		server = Start(t, s.Open, transport.Config{Self: Server(0), Incarnation: incarnation + 1,
			Listen: addr}, nil)
	}
}

// workerRestarts closes a worker and opens its next incarnation; the server replies to the sender
// of the last message.
func workerRestarts(t *testing.T, s *Suite) {
	server := Start(t, s.Open, transport.Config{Self: Server(0)}, nil)
	for incarnation := uint32(1); incarnation <= 3; incarnation++ {
		worker := Start(t, s.Open, transport.Config{Self: Worker(0), Incarnation: incarnation}, nil)
		if err := worker.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
		worker.Push(server.Self, uint64(incarnation), nil)
		server.Wait(int(incarnation))
		if err := server.Send(worker.Self, server.Message(wire.TypeValue, uint64(incarnation), nil),
			nil); err != nil {
			t.Fatal(err)
		}
		worker.Wait(1)
		if err := worker.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// hungUp closes the endpoint of a worker that has sent a message: soon, messages to it fail.
func hungUp(t *testing.T, s *Suite) {
	server, worker := s.two(t, nil, nil)
	worker.Push(server.Self, 1, nil)
	server.Wait(1)
	if err := server.Send(worker.Self, server.Message(wire.TypeHeartbeat, 1, nil),
		nil); err != nil {
		t.Errorf("to a worker that has spoken: %v", err)
	}
	if err := worker.Close(); err != nil {
		t.Error(err)
	}
	Eventually(t, "the end of the connection", func() bool {
		return errors.Is(server.Send(worker.Self, server.Message(wire.TypeHeartbeat, 1, nil), nil),
			transport.ErrUnreachable)
	})
}
