package device

import (
	"fmt"
	"strings"
	"unsafe"
)

// Purpose is the use of a block; a pool counts its memory by purpose.
type Purpose uint8

// The purposes of memory.
const (
	// values of arrays; unclosed arrays are freed by the garbage collector
	PurposeArray   Purpose = iota
	PurposeArena           // memory of executors, laid out by package memplan
	PurposeScratch         // working space of kernels
	PurposeStored          // stored values of sparse arrays, for which operations ask while they run
	numPurposes
)

var purposeNames = [...]string{"array", "arena", "scratch", "stored"}

// String returns the purpose's name.
func (p Purpose) String() string { return purposeNames[p] }

// Block is a piece of device memory. Its zero value owns nothing. Copies of a Block refer to the
// same memory: the owner frees exactly one of them, once.
type Block struct {
	Ptr   unsafe.Pointer // 64-byte aligned; nil in the zero value only
	Bytes int            // requested size; up to 12.5 % more may be reserved

	pool    *Pool
	class   uint16
	purpose Purpose
	retired bool // see Retire
	zeroed  bool // see Zeroed
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

// Zeroed reports whether the block held zeros when Alloc returned it: its memory came straight from
// the operating system, which maps pages of zeros at their first use.
func (b Block) Zeroed() bool { return b.zeroed }

// Device returns the device of the block.
func (b Block) Device() Device {
	if b.pool == nil {
		return Device{}
	}
	return b.pool.dev
}

// CopyIn copies src from the host to the block at offset, in bytes.
func (b Block) CopyIn(offset int, src []byte) {
	b.check(offset, len(src))
	b.pool.backend.CopyIn(b.pool.dev.ID, unsafe.Add(b.Ptr, offset), src)
}

// CopyOut copies from the block at offset, in bytes, to dst on the host.
func (b Block) CopyOut(dst []byte, offset int) {
	b.check(offset, len(dst))
	b.pool.backend.CopyOut(b.pool.dev.ID, dst, unsafe.Add(b.Ptr, offset))
}

// check panics unless the block has n bytes at offset.
func (b Block) check(offset, n int) {
	if offset < 0 || offset > b.Bytes || n > b.Bytes-offset {
		panic(fmt.Sprintf("device: copy of %d bytes at offset %d of a block of %d", n, offset,
			b.Bytes))
	}
}

// UsageInfo is a snapshot of one pool. All numbers are bytes; a block counts with the size of its
// class.
type UsageInfo struct {
	Used     [numPurposes]int64 // in use, by purpose
	Cached   int64              // in free lists
	Reserved int64              // allocated from the backend
	Limit    int64              // upper bound of Reserved; 0: none
}

// Total returns the bytes in use for all purposes together.
func (u UsageInfo) Total() int64 {
	var n int64
	for _, b := range u.Used {
		n += b
	}
	return n
}

// arrays returns the bytes of dense and sparse arrays.
func (u UsageInfo) arrays() int64 { return u.Used[PurposeArray] + u.Used[PurposeStored] }

// String lists the bytes in use by purpose, without purposes that use none.
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

// Usage returns the usage of d's pool; zero if d does not exist.
func Usage(d Device) UsageInfo {
	p, err := PoolOf(d)
	if err != nil {
		return UsageInfo{}
	}
	return p.Usage()
}
