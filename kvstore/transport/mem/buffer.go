package mem

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// poison is the value of all bytes of a payload after its release.
const poison = 0xa5

// buffer is the memory of a payload.
type buffer struct {
	pool  *buffers
	words []uint64
	bytes []byte
	freed atomic.Bool
}

// buffers is a pool of buffers. The zero value is ready for use.
type buffers struct{ pool sync.Pool }

// copy returns a buffer with a copy of a payload.
func (p *buffers) copy(payload []byte) *buffer {
	b, _ := p.pool.Get().(*buffer)
	if b == nil {
		b = &buffer{pool: p}
	}
	b.freed.Store(false)
	words := len(payload)/8 + 1
	if cap(b.words) < words {
		b.words = make([]uint64, words)
	}
	b.words = b.words[:words]
	b.bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.words))), len(payload))
	copy(b.bytes, payload)
	return b
}

// Release implements wire.Owner.
func (b *buffer) Release() {
	if b.freed.Swap(true) {
		panic("mem: a payload was released twice")
	}
	for i := range b.bytes {
		b.bytes[i] = poison
	}
	b.pool.pool.Put(b)
}
