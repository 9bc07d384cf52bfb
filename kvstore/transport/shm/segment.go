//go:build linux

package shm

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A segment begins with a page of marks, one 32-bit word per place, which the receiver writes. The
// places follow.
const (
	placeSize = 64 << 10 // bytes
	markPage  = 4096     // bytes
	maxPlaces = markPage / 4
)

// token names a segment. It is random: only the two processes that share the segment know it.
type token [16]byte

// memory is a mapped segment with a count of its holders. The last drop unmaps it.
type memory struct {
	bytes   []byte
	holders atomic.Int32
}

// hold keeps the memory mapped until a call of drop. Another holder must exist during the call.
func (m *memory) hold() { m.holders.Add(1) }

func (m *memory) drop() {
	if m.holders.Add(-1) == 0 {
		unix.Munmap(m.bytes)
		m.bytes = nil
	}
}

// mark returns the mark of a place.
func (m *memory) mark(place uint32) *uint32 {
	return (*uint32)(unsafe.Pointer(&m.bytes[4*place]))
}

// span returns n bytes from the beginning of a place on.
func (m *memory) span(place uint32, n int) []byte {
	at := markPage + int(place)*placeSize
	return m.bytes[at : at+n : at+n]
}

// seals are the seals that a segment must have: no process can change its size, which would crash a
// reader, or remove seals.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// newSegment makes a segment of the given number of places and returns its file descriptor, which
// the caller must close.
func newSegment(places int) (*outbound, int, error) {
	mem, fd, err := newMemory(markPage+places*placeSize, seals)
	if err != nil {
		return nil, 0, err
	}
	o := &outbound{mem: mem, at: make([]place, places)}
	rand.Read(o.token[:])
	return o, fd, nil
}

// newMemory makes memory with seals, maps it, and returns its file descriptor, which the caller
// must close.
func newMemory(size, seals int) (*memory, int, error) {
	fd, err := unix.MemfdCreate("gomx", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, 0, fmt.Errorf("shm: making memory: %w", err)
	}
	var m *memory
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		m, err = mapMemory(fd, size, unix.PROT_READ|unix.PROT_WRITE)
	}
	if err == nil {
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			m.drop()
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, 0, fmt.Errorf("shm: making memory of %d bytes: %w", size, err)
	}
	return m, fd, nil
}

func mapMemory(fd, size, access int) (*memory, error) {
	b, err := unix.Mmap(fd, 0, size, access, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	m := &memory{bytes: b}
	m.hold()
	return m, nil
}

// openSegment checks that the size of a peer's segment cannot change, and maps it.
func openSegment(fd int, size uint64) (*memory, error) {
	if size < markPage+placeSize || size > markPage+maxPlaces*placeSize ||
		(size-markPage)%placeSize != 0 {
		return nil, fmt.Errorf("shm: segment of %d bytes, want 1 to %d places of %d and a page",
			size, maxPlaces, placeSize)
	}
	if err := checkMemory(fd, size, seals); err != nil {
		return nil, err
	}
	return mapMemory(fd, int(size), unix.PROT_READ|unix.PROT_WRITE)
}

// checkMemory returns an error unless a peer's memory has the announced size and the wanted seals.
func checkMemory(fd int, size uint64, want int) error {
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("shm: a peer's descriptor is not a segment: %w", err)
	}
	if have&want != want {
		return fmt.Errorf("shm: a peer's segment has seals %#x, want %#x", have, want)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("shm: a peer's segment: %w", err)
	}
	if uint64(st.Size) != size {
		return fmt.Errorf("shm: a peer's segment has %d bytes, it announced %d", st.Size, size)
	}
	return nil
}

// outbound is a segment through which this process sends.
type outbound struct {
	token token
	mem   *memory

	mu  sync.Mutex
	at  []place
	old time.Time // time at which the segment became full; zero: it is not
}

// place is the sender's state of a place.
type place struct {
	round uint32 // number of its use; the receiver sets the mark to it when done
	run   uint32 // number of places of the payload that begins here; 0: none
}

// acquire finds free places for n bytes, the lowest ones because they are likely in a cache. full
// is the time for which the segment has been too full.
func (o *outbound) acquire(n int) (first, round uint32, full time.Duration, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	need := uint32((n + placeSize - 1) / placeSize)
	free := uint32(0)
	for i := uint32(0); i < uint32(len(o.at)); {
		p := &o.at[i]
		if p.run > 0 && atomic.LoadUint32(o.mem.mark(i)) != p.round {
			i += p.run
			free = 0
			continue
		}
		p.run = 0
		i++
		if free++; free < need {
			continue
		}
		first = i - need
		p = &o.at[first]
		p.round++
		p.run = need
		o.old = time.Time{}
		return first, p.round, 0, true
	}
	if o.old.IsZero() {
		o.old = time.Now()
	}
	return 0, 0, time.Since(o.old), false
}

// nearPiece is a number of bytes that copy leaves in the caches. From 1 MiB on it writes past them
// on processors with AVX, and a receiver of the payload has to fetch it from memory.
const nearPiece = 256 << 10

// copyNear copies src to dst, which stays in the caches as far as it fits there.
func copyNear(dst, src []byte) {
	for len(src) > 0 {
		n := copy(dst, src[:min(len(src), nearPiece)])
		dst, src = dst[n:], src[n:]
	}
}

// release frees places whose payload was not sent.
func (o *outbound) release(first uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at[first].run = 0
	o.at[first].round--
}
