package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// buffer is memory of values, with room for the head of a log entry in front. Messages that carry
// the values refer to it.
//
// A buffer that has become a key's value is never written again until its last reference is gone:
// replies need no copies.
type buffer struct {
	loan ps.Loan // held by messages under way
	raw  []byte
	head int   // bytes of raw before the values, for the head of a log entry
	refs int   // references: messages under way, log entries, the value of a key, an open sum
	home *pool // where the memory goes back to
}

// lend adds a reference, which a message holds until the transport is done with it.
func (b *buffer) lend() *ps.Loan {
	b.refs++
	return &b.loan
}

// Returned takes back the reference of a message.
func (b *buffer) Returned() { b.release() }

// data returns the values.
func (b *buffer) data() []byte { return b.raw[b.head:] }

// entry returns the values with a head for n contributors in front.
func (b *buffer) entry(n int) []byte { return b.raw[b.head-wire.EntrySize(n):] }

// pool makes the buffers of one entry: the value, the version before, sums of open rounds. A free
// buffer serves every entry with buffers of its length, because entries need the most buffers at
// different times.
type pool struct {
	mem    *memory // of the server
	head   int     // bytes in front of the values, for the head of a log entry
	size   int     // bytes of values
	closed bool    // the entry is gone: buffers that come back are freed
}

// memory hands out and takes back the memory of pools. It counts for Config.Memory and for people;
// a driver may provide memory that a transport sends without a copy.
type memory struct {
	alloc  func(int) []byte
	freed  func([]byte)
	used   uint64            // bytes in pools' buffers
	slices uint64            // bytes of one value of every entry
	free   map[int][]*buffer // free buffers by the length of their memory
}

// get returns n bytes, of unspecified contents when the memory is not the Go heap's.
func (m *memory) get(n int) []byte {
	m.used += uint64(n)
	if m.alloc != nil {
		return m.alloc(n)
	}
	return make([]byte, n)
}

// put takes back memory of get.
func (m *memory) put(b []byte) {
	m.used -= uint64(len(b))
	if m.freed != nil {
		m.freed(b)
	}
}

// get returns a buffer with one reference and unspecified contents. It allocates when no buffer of
// its length is free.
func (p *pool) get() *buffer {
	if list := p.mem.free[p.head+p.size]; len(list) > 0 {
		b := list[len(list)-1]
		p.mem.free[p.head+p.size] = list[:len(list)-1]
		b.home, b.head, b.refs = p, p.head, 1
		return b
	}
	b := &buffer{raw: p.mem.get(p.head + p.size), head: p.head, refs: 1, home: p}
	b.loan.Lender = b
	return b
}

// hold adds a reference and returns the buffer.
func (b *buffer) hold() *buffer {
	b.refs++
	return b
}

// release gives up a reference. A nil buffer has none. With the last one the buffer is free for all
// entries, or its memory is freed if its entry is gone.
func (b *buffer) release() {
	if b == nil {
		return
	}
	b.refs--
	if b.refs > 0 || b.home == nil {
		return
	}
	if b.home.closed {
		b.home.mem.put(b.raw)
		return
	}
	mem := b.home.mem
	if mem.free == nil {
		mem.free = map[int][]*buffer{}
	}
	mem.free[len(b.raw)] = append(mem.free[len(b.raw)], b)
}

// close frees the buffers that are in use when they come back, and now all free buffers of their
// length: fewer entries need them.
func (p *pool) close() {
	p.closed = true
	for _, b := range p.mem.free[p.head+p.size] {
		p.mem.put(b.raw)
	}
	delete(p.mem.free, p.head+p.size)
}
