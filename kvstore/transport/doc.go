// Package transport says what the parameter server expects of whatever carries its messages. The ways to do it are
// transport/mem (one process, with faults on demand), transport/zmq (TCP and local sockets) and transport/shm (shared
// memory for the payloads of processes on one host).
//
// # Model
//
// An Endpoint belongs to one node of one job. It listens on an address, connects to others, and hands every message that
// arrives to its Handler, one after the other, from one goroutine:
//
//	ep, err := mem.Open(network, transport.Config{Self: server, Job: job, Incarnation: 1, Handler: handle})
//	err = ep.Connect(peer, addr)                // returns at once; the connection is made, and made again, in the background
//	err = ep.Send(peer, &m, func() { ... })     // the payload is lent until the function is called
//
// A node may send to whom it is connected, and to whoever has sent to it. When both hold, its own connection is used.
//
// # What is promised
//
//  1. Messages from one endpoint to another arrive in the order they were sent, among those of the same class: control
//     messages (wire.Type.Control) travel apart from the others and never wait behind payloads.
//  2. A message arrives whole or not at all, and not twice. Messages are lost only with a connection: whoever needs more
//     repeats them.
//  3. Send never waits for the network. What cannot be queued is refused with ErrBusy.
//  4. The sender that a handler sees is the one the transport authenticated, or, where there are no keys, the one that the
//     header claims. A message that claims another sender, job or an older incarnation than one already seen is dropped
//     and counted.
//  5. After Close has returned the handler is not called any more, and every lent payload has been given back.
//
// # Payloads
//
// A received payload lies at an address divisible by 8 and is valid until the handler returns. When the message has an
// Owner it may be kept, by wire.Message.Take, and is valid until Release; a receiver that keeps many payloads holds back
// the sender's shared memory. Handlers must not wait for messages.
package transport
