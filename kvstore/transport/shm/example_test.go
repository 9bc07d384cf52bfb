//go:build linux

package shm_test

import (
	"fmt"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/wire"
)

// Endpoints around those of another transport, here the one for tests: large payloads take the way
// through shared memory as soon as there is one, everything else the way of the base. Who sends and
// who receives need not know.
func Example() {
	network := mem.NewNetwork(1)
	options := shm.Options{Base: func(cfg transport.Config) (transport.Endpoint, error) {
		return mem.Open(network, cfg)
	}}
	server, worker := wire.Node{Role: wire.Server}, wire.Node{Role: wire.Worker}
	heard := make(chan string, 1)
	s, err := shm.Open(transport.Config{Self: server, Incarnation: 1, Handler: func(from wire.Node,
		m *wire.Message) {
		if m.Type == wire.TypePush {
			heard <- fmt.Sprintf("%s of %d bytes from %s", m.Type, len(m.Payload), from)
		}
	}}, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	w, err := shm.Open(transport.Config{Self: worker, Incarnation: 1, Handler: func(wire.Node,
		*wire.Message) {
	}}, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	if err := w.Connect(server, s.Addr()); err != nil {
		fmt.Println(err)
		return
	}
	m := wire.Message{Type: wire.TypePush, From: worker, Incarnation: 1,
		Payload: make([]byte, 100_000)}
	if err := w.Send(server, &m, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-heard)
	// Output: push of 100000 bytes from worker 0
}
