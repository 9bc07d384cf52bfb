// Package transport defines the interface through which the parameter server sends messages. The
// implementations are transport/mem (one process, with faults on demand), transport/zmq (TCP and
// local sockets) and transport/shm (shared memory for the payloads of processes on one host).
//
// # Model
//
// An Endpoint belongs to one node of one job. It listens on an address, connects to others, and
// passes every message that arrives to its Handler, one after the other, from one goroutine:
//
//	ep, err := mem.Open(network, transport.Config{Self: server, Job: job, Incarnation: 1,
//		Handler: handle})
//	err = ep.Connect(peer, addr)            // returns at once; a goroutine makes the connection
//	err = ep.Send(peer, &m, func() { ... }) // the payload must not change until the call
//
// A node may send to the nodes it has connected to, and to nodes that have sent to it. If both
// apply, its own connection is used.
//
// # Promises
//
//  1. Messages of one class from one endpoint to another arrive in the order in which they were
//     sent. There are two classes: control messages (wire.Type.Control) never wait behind the
//     others.
//  2. A message arrives completely or not at all, and at most once. Messages are lost only when a
//     connection breaks; the protocol above repeats them.
//  3. Send never waits for the network. It returns ErrBusy if the queue is full.
//  4. The handler gets the sender that the transport has authenticated, or, without keys, the
//     sender in the header. A message with another sender, of another job or of an older
//     incarnation than one already received is dropped and counted.
//  5. After Close has returned, the handler is not called any more, and the sent functions of all
//     messages have been called.
//
// # Payloads
//
// A received payload is at an address divisible by 8 and is valid until the handler returns. When
// the message has an Owner it may be kept, by wire.Message.Take, and is valid until Release; a
// receiver that keeps many payloads holds back the sender's shared memory. Handlers must not wait
// for messages.
//
// An endpoint that is a Sharer makes memory whose payloads receivers on the same host read in
// place. The protocol above sees to it that the sender leaves them as they are until they have been
// read. Where a receiver has stood still for so long that the others went on without it, it learns
// from wire.Lent that the payload is another one by then.
package transport
