//go:build linux

package shm

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/device"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"

	"golang.org/x/sys/unix"
)

// A region is memory of a sender whose payloads receivers read in place. Its last page holds the
// edition, a 32-bit word that only the sender writes, and receivers can only read the region.
//
// Payloads begin at multiples of regionUnit.
const (
	regionUnit = 64
	editionAt  = -pageSize // of the edition, from the end
	pageSize   = 4096
	// regionSeals are the seals that a region must have: the seals of a segment, and the seal
	// that lets only its maker write it.
	regionSeals = seals | unix.F_SEAL_FUTURE_WRITE
	// maxRegions is the largest number of regions of an endpoint, and of those on a line. Notes
	// about as many wait in a socket whose peer stands still.
	maxRegions = 128
)

// region is a region of this process. It implements transport.Space.
type region struct {
	e    *endpoint
	mem  *memory
	room int // bytes for payloads
	fd   int
	// readers are the peers that have mapped the region; the endpoint's mu guards it
	readers map[wire.Node]reader
}

// reader is a peer's way to a region.
type reader struct {
	line  *line
	token token // of the region on this line
}

// Share implements transport.Sharer.
func (e *endpoint) Share(bytes int) (transport.Space, error) {
	r, err := newRegion(bytes)
	if err != nil {
		return nil, err
	}
	r.e = e
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.regions) >= maxRegions {
		r.free()
		return nil, fmt.Errorf("shm: the endpoint is closed, or has %d regions, the most", maxRegions)
	}
	e.regions[r] = true
	for _, o := range e.out {
		if l := e.lineOf(o); l != nil {
			e.pass(l, r)
		}
	}
	return r, nil
}

// newRegion makes a region with room for so many bytes.
func newRegion(bytes int) (*region, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("shm: a region of %d bytes, want at least 1", bytes)
	}
	room := (bytes + pageSize - 1) / pageSize * pageSize
	mem, fd, err := newMemory(room+pageSize, regionSeals)
	if err != nil {
		return nil, err
	}
	device.AdviseHuge(mem.bytes)
	return &region{mem: mem, room: bytes, fd: fd, readers: map[wire.Node]reader{}}, nil
}

// Bytes implements transport.Space.
func (r *region) Bytes() []byte { return r.mem.bytes[:r.room:r.room] }

// Renew implements transport.Space.
func (r *region) Renew() { atomic.AddUint32(r.mem.edition(), 1) }

// Close implements transport.Space. Receivers that read the region keep it until they have done so.
func (r *region) Close() {
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.regions[r] {
		return
	}
	delete(e.regions, r)
	for l := range e.lines {
		for t, given := range l.given {
			if given == r {
				delete(l.given, t)
				_ = l.say(withdraw, t, 0, -1) // on failure the line ends, which does the same
			}
		}
	}
	r.free()
}

func (r *region) free() {
	unix.Close(r.fd)
	r.mem.drop()
}

// edition returns the edition of a region.
func (m *memory) edition() *uint32 {
	return (*uint32)(unsafe.Pointer(&m.bytes[len(m.bytes)+editionAt]))
}

// lineOf returns the line of a segment. The caller holds mu.
func (e *endpoint) lineOf(o *outbound) *line {
	for l := range e.lines {
		if l.out == o {
			return l
		}
	}
	return nil
}

// pass offers a region on a line. Without the peer's acceptance payloads go through the segment.
// The caller holds mu.
func (e *endpoint) pass(l *line, r *region) {
	var t token
	rand.Read(t[:])
	if err := l.say(share, t, uint64(len(r.mem.bytes)), r.fd); err != nil {
		e.cfg.Log.Debug().Err(err).Stringer("peer", l.peer).Msg("shared memory is not passed on")
		return
	}
	if l.given == nil {
		l.given = map[token]*region{}
	}
	l.given[t] = r
}

// passAll offers all regions on a line whose segment the peer has accepted. The caller holds mu.
func (e *endpoint) passAll(l *line) {
	for r := range e.regions {
		e.pass(l, r)
	}
}

// lies returns the place of a payload in a region that a peer has mapped.
func (e *endpoint) lies(to wire.Node, payload []byte) (d descriptor, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := uintptr(unsafe.Pointer(unsafe.SliceData(payload)))
	for r := range e.regions {
		at := p - uintptr(unsafe.Pointer(unsafe.SliceData(r.mem.bytes)))
		if at >= uintptr(r.room) || len(payload) > r.room-int(at) {
			continue
		}
		way, open := r.readers[to]
		if !open || at%regionUnit != 0 {
			return d, false
		}
		return descriptor{token: way.token, first: uint32(at / regionUnit),
			round: atomic.LoadUint32(r.mem.edition()), length: uint64(len(payload))}, true
	}
	return d, false
}

// openRegion checks that the size of a peer's region cannot change and that this process cannot
// write it by mistake, and maps it.
func openRegion(fd int, size uint64) (*memory, error) {
	if size < 2*pageSize || size > 1<<40 || size%pageSize != 0 {
		return nil, fmt.Errorf("shm: region of %d bytes, want 2 to %d pages of %d", size,
			1<<40/pageSize, pageSize)
	}
	if err := checkMemory(fd, size, regionSeals); err != nil {
		return nil, err
	}
	m, err := mapMemory(fd, int(size), unix.PROT_READ)
	if err == nil {
		device.AdviseHuge(m.bytes)
	}
	return m, err
}

// glance is a payload in a peer's region that the handler reads. It implements wire.Lent.
type glance struct {
	in      *inbound
	edition uint32
}

var glances = sync.Pool{New: func() any { return new(glance) }}

// fence orders the reading of a payload before that of the edition.
var fence atomic.Uint32

// Intact implements wire.Lent.
func (g *glance) Intact() bool {
	fence.Add(1)
	return atomic.LoadUint32(g.in.mem.edition()) == g.edition
}

// Release implements wire.Owner.
func (g *glance) Release() {}

// inPlace passes a message with a payload in a peer's region to the handler.
func (e *endpoint) inPlace(from wire.Node, m *wire.Message, in *inbound, d *descriptor) {
	defer in.mem.drop()
	at := regionUnit * int(d.first)
	if n := len(in.mem.bytes) - pageSize; d.length == 0 || at > n || d.length > uint64(n-at) {
		e.count.Garbage.Add(1)
		return
	}
	m.Payload = in.mem.bytes[at : at+int(d.length) : at+int(d.length)]
	g := glances.Get().(*glance)
	*g = glance{in, d.round}
	m.Owner = g
	m.Flags &^= wire.FlagShared
	e.count.ReceivedBytes.Add(d.length - descriptorSize)
	e.cfg.Handler(from, m)
	m.Payload, m.Owner = nil, nil
	*g = glance{}
	glances.Put(g)
}
