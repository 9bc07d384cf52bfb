package wire

import (
	"encoding/binary"
	"fmt"
)

// Contributor is one push that is part of a log entry.
type Contributor struct {
	Rank        uint16
	Outcome     Outcome
	Incarnation uint32
	Seq         uint64
}

const contributorSize = 16

// EntrySize returns the bytes that an entry with n contributors takes in front of its payload: a
// multiple of 64, so that the payload behind it keeps its alignment.
func EntrySize(n int) int { return (8 + n*contributorSize + 63) &^ 63 }

// PutEntry writes the head of an entry into dst, which has EntrySize(n) bytes; contributors are
// added by PutContributor.
func PutEntry(dst []byte, n int) {
	clear(dst)
	binary.LittleEndian.PutUint32(dst, uint32(n))
}

// PutContributor writes contributor i into the head of an entry.
func PutContributor(dst []byte, i int, c Contributor) {
	b := dst[8+i*contributorSize:][:contributorSize]
	binary.LittleEndian.PutUint16(b, c.Rank)
	b[2] = byte(c.Outcome)
	binary.LittleEndian.PutUint32(b[4:], c.Incarnation)
	binary.LittleEndian.PutUint64(b[8:], c.Seq)
}

// Entry is a log entry as a primary passes it to its backup, read in place: the pushes it is made
// of, and the aggregated gradient.
type Entry struct {
	head    []byte
	Payload []byte
}

// DecodeEntry reads the payload of a replicate message.
func DecodeEntry(b []byte) (Entry, error) {
	if len(b) < 8 {
		return Entry{}, fmt.Errorf("%w: entry of %d bytes", ErrBody, len(b))
	}
	if reserved := binary.LittleEndian.Uint32(b[4:]); reserved != 0 {
		return Entry{}, fmt.Errorf("%w: entry whose reserved bytes are %#x", ErrBody, reserved)
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n)*contributorSize > uint64(len(b)) || EntrySize(int(n)) > len(b) {
		return Entry{}, fmt.Errorf("%w: entry of %d bytes claims %d contributors", ErrBody, len(b),
			n)
	}
	e := Entry{head: b[8 : 8+n*contributorSize], Payload: b[EntrySize(int(n)):]}
	for i := range e.Len() {
		if c := e.At(i); c.Outcome < Applied || c.Outcome > Known {
			return Entry{}, fmt.Errorf("%w: entry with a contributor that is %s", ErrBody,
				c.Outcome)
		}
	}
	return e, nil
}

// Len returns the number of contributors.
func (e *Entry) Len() int { return len(e.head) / contributorSize }

// At returns contributor i.
func (e *Entry) At(i int) Contributor {
	b := e.head[i*contributorSize:][:contributorSize]
	le := binary.LittleEndian
	return Contributor{Rank: le.Uint16(b), Outcome: Outcome(b[2]), Incarnation: le.Uint32(b[4:]),
		Seq: le.Uint64(b[8:])}
}
