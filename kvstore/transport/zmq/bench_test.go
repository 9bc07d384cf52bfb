//go:build cgo

package zmq_test

import (
	"fmt"
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// BenchmarkEcho measures a message that is sent back, within one process.
func BenchmarkEcho(b *testing.B) {
	for _, c := range []struct {
		listen    string
		dedicated bool
	}{{"tcp://127.0.0.1:0", false}, {"tcp://127.0.0.1:0", true}, {"ipc", false}, {"ipc", true}} {
		for _, size := range []int{0, 4 << 10, 31 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%.3s/dedicated=%t/%d", c.listen, c.dedicated, size),
				func(b *testing.B) { echo(b, c.listen, c.dedicated, size) })
		}
	}
}

func echo(b *testing.B, listen string, dedicated bool, size int) {
	const job = 1
	var server transport.Endpoint
	open := func(self wire.Node, listen string, dedicated bool,
		h transport.Handler) transport.Endpoint {
		e, err := zmq.Open(transport.Config{Self: self, Incarnation: 1, Job: job, Listen: listen,
			Handler: h}, zmq.Options{Dedicated: dedicated})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { e.Close() })
		return e
	}
	reply := wire.Message{Type: wire.TypeValue, Job: job, From: transporttest.Server(0),
		Incarnation: 1, Payload: make([]byte, size)}
	ready := make(chan struct{})
	sent := func() {}
	server = open(reply.From, listen, dedicated, func(from wire.Node, m *wire.Message) {
		<-ready
		if err := server.Send(from, &reply, sent); err != nil {
			b.Error(err)
		}
	})
	came := make(chan struct{}, 1)
	worker := open(transporttest.Worker(0), zmq.NoListen, false,
		func(wire.Node, *wire.Message) { came <- struct{}{} })
	if err := worker.Connect(reply.From, server.Addr()); err != nil {
		b.Fatal(err)
	}
	close(ready)
	ask := wire.Message{Type: wire.TypePushPull, Job: job, From: transporttest.Worker(0),
		Incarnation: 1, Payload: make([]byte, size)}
	b.ReportAllocs()
	b.SetBytes(int64(2 * size))
	for b.Loop() {
		if err := worker.Send(reply.From, &ask, sent); err != nil {
			b.Fatal(err)
		}
		<-came
	}
}
