package wire

import (
	"encoding/binary"
	"fmt"
)

// CollectivePlace is the place of a Contribution or a Sum in the stream of bytes between two
// workers, and in the rounds of its key.
type CollectivePlace struct {
	Round uint64 // of the key, counted from 1
	// bytes of values that the sender has sent to the receiver, this message included
	Sent     uint64
	Received uint64 // bytes of values that the sender has received from the receiver
}

// CollectivePlaceOf returns the place of a Contribution or a Sum. A Received has the field of that
// name only.
func CollectivePlaceOf(m *Message) CollectivePlace {
	return CollectivePlace{m.Clock, m.Seq, m.Need}
}

// Put sets the place of a Contribution or a Sum.
func (p CollectivePlace) Put(m *Message) {
	m.Clock, m.Seq, m.Need = p.Round, p.Sent, p.Received
}

// CollectiveStart is the content of a Greeting.
type CollectiveStart struct {
	Live  bool   // the sender knows where its rounds start
	Round uint64 // rounds that are complete for all keys of the sender
}

// CollectiveStartOf returns the content of a Greeting.
func CollectiveStartOf(m *Message) CollectiveStart {
	return CollectiveStart{m.Flags&FlagStart != 0, m.Clock}
}

// Put sets the content of a Greeting.
func (s CollectiveStart) Put(m *Message) {
	m.Clock = s.Round
	m.set(FlagStart, s.Live)
}

const rangeSize = 4

// Ranges is a list of ranges of slices, read in place.
type Ranges struct{ b []byte }

// AppendRange appends the slices from first to last, both included, to the body of a Missing.
func AppendRange(dst []byte, first, last uint16) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, first)
	return binary.LittleEndian.AppendUint16(dst, last)
}

// DecodeRanges checks the body of a Missing about a key of so many slices.
func DecodeRanges(b []byte, slices uint16) (Ranges, error) {
	if len(b)%rangeSize != 0 {
		return Ranges{}, fmt.Errorf("%w: ranges of %d bytes, want a multiple of %d", ErrBody,
			len(b),
			rangeSize)
	}
	r := Ranges{b}
	next := 0
	for i := range r.Len() {
		first, last := r.At(i)
		if int(first) < next || last < first || last >= slices {
			return Ranges{}, fmt.Errorf("%w: range %d of slices %d to %d of %d, want ranges in "+
				"order", ErrBody, i, first, last, slices)
		}
		next = int(last) + 1
	}
	return r, nil
}

// Len returns the number of ranges.
func (r Ranges) Len() int { return len(r.b) / rangeSize }

// At returns the first and the last slice of range i.
func (r Ranges) At(i int) (first, last uint16) {
	b := r.b[i*rangeSize:]
	return binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
}
