package bulk

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// buffers keeps memory for payloads in size classes, powers of two from smallest to largest bytes.
// Larger buffers are left to the collector.
type buffers struct {
	mu   sync.Mutex
	free [classes][]*buffer
	kept int // bytes in free
}

const (
	smallest = 1 << 12
	largest  = 1 << 22
	classes  = 11
	mostKept = 64 << 20 // bytes
)

// buffer is a piece of memory with one owner. It implements wire.Owner.
type buffer struct {
	b     []byte // of the length asked for
	pool  *buffers
	class int // -1: not pooled
	used  atomic.Bool
}

// classOf is the class of buffers that hold n bytes, classes if they are too large to be pooled.
func classOf(n int) int {
	if n <= smallest {
		return 0
	}
	return bits.Len(uint(n-1)) - bits.Len(uint(smallest-1))
}

// get returns a buffer of n bytes with any content.
func (p *buffers) get(n int) *buffer {
	c := classOf(n)
	if c >= classes {
		b := &buffer{b: make([]byte, n), pool: p, class: -1}
		b.used.Store(true)
		return b
	}
	p.mu.Lock()
	var b *buffer
	if last := len(p.free[c]) - 1; last >= 0 {
		b = p.free[c][last]
		p.free[c][last] = nil
		p.free[c] = p.free[c][:last]
		p.kept -= cap(b.b)
	}
	p.mu.Unlock()
	if b == nil {
		b = &buffer{b: make([]byte, smallest<<c), pool: p, class: c}
	}
	b.b = b.b[:n]
	b.used.Store(true)
	return b
}

// Release implements wire.Owner.
func (b *buffer) Release() {
	if !b.used.Swap(false) {
		panic("bulk: a payload was released twice")
	}
	p := b.pool
	if b.class < 0 {
		b.b = nil
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept+cap(b.b) <= mostKept {
		p.kept += cap(b.b)
		p.free[b.class] = append(p.free[b.class], b)
	}
}

// wipe overwrites the buffers that nobody uses.
func (p *buffers) wipe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, list := range p.free {
		for _, b := range list {
			clear(b.b[:cap(b.b)])
		}
		p.free[c] = nil
	}
	p.kept = 0
}
