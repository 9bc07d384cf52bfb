package mem_test

import (
	"fmt"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
)

// Two endpoints on a network: a worker asks, a server hears it.
func Example() {
	server, worker := wire.Node{Role: wire.Server}, wire.Node{Role: wire.Worker, Rank: 3}
	network := mem.NewNetwork(1)
	heard := make(chan string)
	s, err := mem.Open(network, transport.Config{Self: server, Incarnation: 1,
		Handler: func(from wire.Node, m *wire.Message) {
			heard <- fmt.Sprintf("%s from %s: %s", m.Type, from, m.Payload)
		}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	w, err := mem.Open(network, transport.Config{Self: worker, Incarnation: 1,
		Handler: func(wire.Node, *wire.Message) {}})
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
		Payload: []byte("gradient")}
	if err := w.Send(server, &m, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-heard)
	// Output: push from worker 3: gradient
}
