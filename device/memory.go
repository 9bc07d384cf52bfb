package device

import (
	"fmt"
	"strings"
	"unsafe"
)

// Purpose says what a block is used for; usage is counted per purpose.
type Purpose uint8

// The purposes of memory.
const (
	PurposeArray   Purpose = iota // values of arrays; freed late when an array was only forgotten
	PurposeArena                  // planned memory of executors
	PurposeScratch                // working space of kernels
	PurposeCache                  // copies that can be made again, such as blocked weights
	PurposePinned                 // buffers for transfers and the network
	numPurposes
)

var purposeNames = [...]string{"array", "arena", "scratch", "cache", "pinned"}

// String returns the purpose's name.
func (p Purpose) String() string { return purposeNames[p] }

// Block is a piece of device memory. Its zero value owns nothing. Copies of a Block name the same
// memory: exactly one of them is freed, once.
type Block struct {
	Ptr   unsafe.Pointer // 64-byte aligned; nil in the zero value only
	Bytes int            // as asked for; up to 12.5 % more may be reserved

	pool    *Pool
	class   uint16
	purpose Purpose
}

// Alloc returns a block of bytes bytes on d. Its content is undefined; zero bytes are legal.
func Alloc(d Device, bytes int, purpose Purpose) (Block, error) {
	p, err := PoolOf(d)
	if err != nil {
		return Block{}, err
	}
	return p.Alloc(bytes, purpose)
}

// Free returns the memory to its pool. Freeing the zero value does nothing.
func (b Block) Free() {
	if b.pool != nil {
		b.pool.put(b)
	}
}

// Device returns where the block lives.
func (b Block) Device() Device {
	if b.pool == nil {
		return Device{}
	}
	return b.pool.dev
}

// CopyIn copies src from the host to the block, from offset on.
func (b Block) CopyIn(offset int, src []byte) {
	b.check(offset, len(src))
	b.pool.backend.CopyIn(b.pool.dev.ID, unsafe.Add(b.Ptr, offset), src)
}

// CopyOut copies from the block, from offset on, to dst on the host.
func (b Block) CopyOut(dst []byte, offset int) {
	b.check(offset, len(dst))
	b.pool.backend.CopyOut(b.pool.dev.ID, dst, unsafe.Add(b.Ptr, offset))
}

// check panics unless n bytes from offset on lie in the block.
func (b Block) check(offset, n int) {
	if offset < 0 || offset > b.Bytes || n > b.Bytes-offset {
		panic(fmt.Sprintf("device: copy of %d bytes at offset %d of a block of %d", n, offset,
			b.Bytes))
	}
}

// UsageInfo is a snapshot of one pool. All figures are bytes and count whole size classes.
type UsageInfo struct {
	Used     [numPurposes]int64 // handed out, by purpose
	Cached   int64              // in free lists
	Reserved int64              // taken from the backend
	Limit    int64              // the most that may be reserved, 0 for none
}

// Total returns the bytes handed out for all purposes together.
func (u UsageInfo) Total() int64 {
	var n int64
	for _, b := range u.Used {
		n += b
	}
	return n
}

// String lists what is in use, leaving out purposes with nothing.
func (u UsageInfo) String() string {
	var b strings.Builder
	for p, n := range u.Used {
		if n != 0 {
			fmt.Fprintf(&b, "%s %d, ", Purpose(p), n)
		}
	}
	fmt.Fprintf(&b, "cached %d, reserved %d", u.Cached, u.Reserved)
	if u.Limit > 0 {
		fmt.Fprintf(&b, ", limit %d", u.Limit)
	}
	return b.String() + " bytes"
}

// Usage returns what the pool of d holds; zero when d does not exist.
func Usage(d Device) UsageInfo {
	p, err := PoolOf(d)
	if err != nil {
		return UsageInfo{}
	}
	return p.Usage()
}
