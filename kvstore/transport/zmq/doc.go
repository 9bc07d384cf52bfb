// Package zmq carries messages over TCP and local sockets with ZeroMQ. It is the corner of gomx
// that knows github.com/zeromq/goczmq/v4, which makes sockets and sets their options; messages pass
// through our own C. It needs cgo: without it Open fails, and only the in-memory transport exists.
//
//	ep, err := zmq.Open(transport.Config{Self: node, Incarnation: 1, Job: job, Handler: handle}, zmq.Options{})
//	ep.Addr()                                   // tcp://127.0.0.1:49152,tcp://127.0.0.1:49153
//
// # Sockets
//
// An endpoint listens with two ROUTER sockets, one for data and one for control messages, and has
// two DEALER sockets for every peer that it connects to; Config.Listen with a single address makes
// one do for both. Connections are named by the socket that they reach, a fresh name for each, so
// that no peer can take over another's; which node is behind a connection is learnt from its key
// or, without keys, from its messages.
//
// # One call per message
//
// All sockets of an endpoint lie in a box (box.h) behind one lock, with one descriptor to wait on.
// A send is one call into C that encodes nothing and, below 64 KiB, copies header and payload into
// one frame; larger payloads are lent to ZeroMQ and come back through the box, in batches, without
// calls from C into Go. A receipt is one call that takes a message from each socket that has one;
// handlers read payloads in ZeroMQ's own memory. Nothing is allocated on the Go heap. The receiving
// goroutine waits in C for a moment, where an answer that is under way finds it soonest, then in
// Go's poller, which leaves the processor to others; with Options.Dedicated it always waits in C.
//
// # Small messages
//
// Their cost is the waking of threads. The receiving goroutine lets others run on its thread only when
// it has woken one: to do so wakes a thread for itself. ZeroMQ's own threads do not interrupt each
// other where several processes of a job share few processors: see calm.c. The question whether a
// socket has more messages, two system calls, is asked once for a message and everything that its handler
// sends.
//
// # Keys
//
// With Options.Keys every connection is encrypted by CURVE. Each node has a key of its own. A peer
// without a key of the job never gets a connection, and one with a key speaks for its own node
// only. Without keys an endpoint refuses addresses that other hosts could reach. libzmq before
// 4.3.3 is refused.
//
// # Limits
//
// Frames longer than Config.MaxPayload end their connection; messages with another number of
// frames, from peers that choose their own name, or with headers that do not decode, are counted as
// garbage. Handshakes have a time limit, silent connections are probed and closed, and queues are
// bounded. Without keys one thing is not bounded: a message of endless small frames from a process
// of the same host, which ZeroMQ collects before anybody sees it.
package zmq
