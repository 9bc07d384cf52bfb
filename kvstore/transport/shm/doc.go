// Package shm passes large payloads through shared memory between processes on one host. It wraps a
// transport that carries everything else:
//
//	base := func(cfg transport.Config) (transport.Endpoint, error) { return zmq.Open(cfg, zmq.Options{}) }
//	ep, err := shm.Open(cfg, shm.Options{Base: base})
//
// # How a payload travels
//
// Each direction of a pair of processes has a segment, memory without a name (memfd) that belongs
// to the sender. A payload of Options.Threshold bytes or more is copied into a free place of the
// segment; the base transport carries the message with a descriptor instead of the payload, in
// order with all others. The receiver's handler reads the payload where it lies and, when it
// returns, marks the place as free in the segment's first page. A place is used again only after
// that mark. When no place is free, or no segment exists, the base transport carries the payload
// itself: Send never waits.
//
// Received payloads of this kind have no Owner: whoever keeps one copies it, and the place is free
// at once.
//
// # How segments are exchanged
//
// An endpoint listens on a local socket of the kind that has no file and vanishes with its process;
// its name is part of Addr. Who connects to an endpoint dials it and passes a segment's descriptor
// with a random token. The receiver looks at the descriptor before it maps it: it must be sealed
// against changes of size, and have the size that was announced. Only then may the sender use it. A
// token that arrives in a message of the base transport belongs to the node that the base
// authenticated, from then on and for nobody else, and that node gets a segment for the way back on
// the same socket. A peer on another host cannot be dialed; its payloads stay with the base
// transport.
//
// # What is left behind
//
// Nothing: segments and sockets have no names in the file system, and the kernel frees them with
// the last process that has them. Processes of other users are turned away.
package shm
