//go:build linux

package shm_test

import (
	"bytes"
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/wire"
)

// pair opens a server and a worker that is connected to it, and waits until payloads are shared
// both ways.
func pair(t *testing.T, open transporttest.Opener) (server, worker *transporttest.Node) {
	t.Helper()
	server = transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0)}, nil)
	worker = transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0)}, nil)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	share(t, worker, server)
	share(t, server, worker)
	return server, worker
}

// share sends payloads until one was shared.
func share(t *testing.T, from, to *transporttest.Node) {
	t.Helper()
	before, payload := from.Stats().Shared, transporttest.Pattern(100_000, 1)
	count, sent := len(to.Received()), 0
	transporttest.Eventually(t, "a shared payload", func() bool {
		from.Push(to.Self, 1, payload)
		sent++
		return from.Stats().Shared > before
	})
	to.Wait(count + sent)
	for _, m := range to.Received() {
		if !bytes.Equal(m.Payload, payload) {
			t.Fatalf("a payload of %d bytes differs", len(m.Payload))
		}
	}
}

func TestPayloadsAreShared(t *testing.T) { pair(t, overMemory(shm.Options{})) }

func TestSegmentsAreReplacedWhenMessagesWithThemWereLost(t *testing.T) {
	net := mem.NewNetwork(1)
	base := func(cfg transport.Config) (transport.Endpoint, error) { return mem.Open(net, cfg) }
	server, worker := pair(t, func(t testing.TB, cfg transport.Config) transport.Endpoint {
		e, err := shm.Open(cfg, shm.Options{Base: base, Memory: 4 * 64 << 10,
			Stuck: 200 * time.Millisecond}) // also the time that late messages have
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
	net.SetFaults(mem.Faults{Loss: 1})
	for range 5 {
		// more than the segment holds
		worker.Push(server.Self, 1, transporttest.Pattern(100_000, 1))
	}
	net.SetFaults(mem.Faults{})
	share(t, worker, server)
}

func TestALostPeerTakesNothingAlong(t *testing.T) {
	open := overMemory(shm.Options{})
	server, worker := pair(t, open)
	for incarnation := uint32(2); incarnation < 5; incarnation++ {
		if err := worker.Close(); err != nil {
			t.Fatal(err)
		}
		worker = transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0),
			Incarnation: incarnation}, nil)
		if err := worker.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
		share(t, worker, server)
		share(t, server, worker)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	net := mem.NewNetwork(1)
	base := func(cfg transport.Config) (transport.Endpoint, error) { return mem.Open(net, cfg) }
	cfg := transport.Config{Self: transporttest.Server(0), Handler: func(wire.Node, *wire.Message) {
	}}
	for name, o := range map[string]shm.Options{
		"no base": {}, "negative threshold": {Base: base, Threshold: -1},
		"too much memory": {Base: base, Memory: 1 << 30},
	} {
		if e, err := shm.Open(cfg, o); err == nil {
			e.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}
