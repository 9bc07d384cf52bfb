package ps

import "gomx/kvstore/wire"

// Buffer is memory that a message refers to while a transport sends it. The driver of a state
// machine passes it back by Release when the transport is done with it, in the driver's goroutine.
//
// A buffer that has become a key's value is never written again until its last reference is gone:
// replies need no copies.
type Buffer struct {
	raw  []byte
	head int // where data begins; the bytes before are room for the head of a log entry
	refs int
	home *pool
	part *part // the piece of a push whose caller's memory this stands for
	// Back is for the driver of the machine: a function that notes that a transport is done with
	// the buffer, made once and kept here.
	Back func()
}

// data returns the values.
func (b *Buffer) data() []byte { return b.raw[b.head:] }

// entry returns the values with a head for n contributors in front.
func (b *Buffer) entry(n int) []byte { return b.raw[b.head-wire.EntrySize(n):] }

// pool keeps buffers of one size.
type pool struct {
	mem    *memory
	head   int
	size   int
	free   []*Buffer
	closed bool
}

// memory hands out and takes back the memory of pools.
type memory struct {
	alloc  func(int) []byte
	freed  func([]byte)
	used   uint64 // bytes in pools' buffers
	slices uint64 // bytes of one value of every entry
}

func (m *memory) get(n int) []byte {
	m.used += uint64(n)
	if m.alloc != nil {
		return m.alloc(n)
	}
	return make([]byte, n)
}

func (m *memory) put(b []byte) {
	m.used -= uint64(len(b))
	if m.freed != nil {
		m.freed(b)
	}
}

// get returns a buffer with one reference and unspecified contents.
func (p *pool) get() *Buffer {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		b.refs = 1
		return b
	}
	return &Buffer{raw: p.mem.get(p.head + p.size), head: p.head, refs: 1, home: p}
}

// hold adds a reference.
func (b *Buffer) hold() *Buffer {
	b.refs++
	return b
}

// release gives up a reference. A nil buffer has none.
func (b *Buffer) release() {
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
	b.home.free = append(b.home.free, b)
}

// close frees the buffers without references, and the others when they come back.
func (p *pool) close() {
	p.closed = true
	for _, b := range p.free {
		p.mem.put(b.raw)
	}
	p.free = nil
}
