//go:build linux

package shm

import (
	"encoding/binary"
	"fmt"
)

// descriptor is the position of a payload in a segment. A length of 0 means that the message only
// tells the receiver whose segment it is.
type descriptor struct {
	token  token  // names the segment
	first  uint32 // first place of the payload
	round  uint32 // use of the place; the receiver writes it to the mark when done
	length uint64 // bytes
}

const descriptorSize = 32

func (d *descriptor) put(b *[descriptorSize]byte) {
	le := binary.LittleEndian
	copy(b[:16], d.token[:])
	le.PutUint32(b[16:], d.first)
	le.PutUint32(b[20:], d.round)
	le.PutUint64(b[24:], d.length)
}

func (d *descriptor) get(b []byte) error {
	if len(b) != descriptorSize {
		return fmt.Errorf("shm: descriptor of %d bytes, want %d", len(b), descriptorSize)
	}
	le := binary.LittleEndian
	copy(d.token[:], b)
	d.first, d.round, d.length = le.Uint32(b[16:]), le.Uint32(b[20:]), le.Uint64(b[24:])
	return nil
}

// fits reports whether the payload lies within a segment of size bytes.
func (d *descriptor) fits(size int) bool {
	room := uint64(size - markPage)
	at := uint64(d.first) * placeSize
	return at < room && d.length <= room-at
}
