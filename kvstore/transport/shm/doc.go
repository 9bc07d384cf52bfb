// Package shm passes large payloads through shared memory between processes on one host. It wraps
// another transport, which carries all messages and the small payloads:
//
//	base := func(cfg transport.Config) (transport.Endpoint, error) { return zmq.Open(cfg, zmq.Options{}) }
//	ep, err := shm.Open(cfg, shm.Options{Base: base})
//
// # How a payload travels
//
// Each direction of a pair of processes has a segment, unnamed memory (memfd) that the sender owns.
// The sender copies a payload of Options.Threshold bytes or more into free places of the segment;
// the base transport carries the message with a descriptor instead of the payload, in order with
// all other messages. The receiver's handler reads the payload in the segment. When it returns, the
// receiver marks the places as free in the segment's first page; the sender uses them again only
// after that. If no places are free, or no segment exists, the base transport carries the payload
// itself: Send never waits.
//
// A receiver may keep a payload in its places until it releases it, as long as it keeps no more than
// half of a segment: payloads beyond that have no Owner, and a receiver that keeps one copies it.
//
// # Regions
//
// A sender may make a region (Share), memory whose payloads receivers read where they are: nothing
// is copied to a segment. Receivers map a region so that they can only read it, and refuse it
// unless its seals forbid all others to write it. The sender alone decides when it writes the
// region again. A word in its last page counts these decisions; the descriptor of a payload has the
// count, and a receiver compares both when it has read the payload (wire.Lent). A region stays
// mapped at a receiver for Options.Stuck after its sender has closed it or has ended.
//
// # How segments are exchanged
//
// An endpoint listens on an abstract local socket, which has no file and vanishes with its process;
// the socket's name is part of Addr. An endpoint that connects dials this socket and passes the
// file descriptor of a segment with a random token. The receiver checks the segment before it maps
// it: it must be sealed against changes of size, and have the announced size. It then accepts it,
// and the sender may use it. The first message of the base transport with the token assigns the
// segment to the node that the base authenticated, and to no other; that node gets a segment for
// the other direction on the same socket. Regions follow on that socket in the same way, each with
// a token of its own for every peer. A peer on another host cannot be dialed; its payloads use the
// base transport.
//
// # After the end of a process
//
// Segments and sockets have no names in the file system, and the kernel frees them with the last
// process that has them. Connections from processes of other users are refused.
package shm
