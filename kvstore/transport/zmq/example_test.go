//go:build cgo

package zmq_test

import (
	"fmt"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// A server answers a worker over TCP on the loopback. The worker listens nowhere: answers come back
// on its own connection.
func Example() {
	server, worker := wire.Node{Role: wire.Server}, wire.Node{Role: wire.Worker}
	const job = 7
	ready := make(chan transport.Endpoint, 1)
	answer := func(from wire.Node, m *wire.Message) {
		ep := <-ready
		r := wire.Message{Type: wire.TypeValue, Job: job, From: server, Incarnation: 1, Seq: m.Seq,
			Payload: []byte("value")}
		if err := ep.Send(from, &r, nil); err != nil { // nil: the payload is copied
			fmt.Println(err)
		}
		ready <- ep
	}
	s, err := zmq.Open(transport.Config{Self: server, Incarnation: 1, Job: job, Handler: answer},
		zmq.Options{Dedicated: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	ready <- s

	got := make(chan string, 1)
	take := func(from wire.Node, m *wire.Message) {
		got <- fmt.Sprintf("%s answers %d: %s", from, m.Seq, m.Payload)
	}
	w, err := zmq.Open(transport.Config{Self: worker, Incarnation: 1, Job: job,
		Listen: zmq.NoListen, Handler: take}, zmq.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	if err := w.Connect(server, s.Addr()); err != nil {
		fmt.Println(err)
		return
	}
	pull := wire.Message{Type: wire.TypePull, Job: job, From: worker, Incarnation: 1, Seq: 42}
	if err := w.Send(server, &pull, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-got)
	// Output: server 0 answers 42: value
}
