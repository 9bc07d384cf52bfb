package wire

import (
	"encoding/binary"
	"fmt"
)

// Outcome is the fate of a push.
type Outcome uint8

// Outcomes of a push. All three are final: the push need not be sent again.
const (
	// Applied says that the push is part of the state, on every copy.
	Applied Outcome = iota + 1
	// Late says that its round was closed without it, and that it was dropped.
	Late
	// Known says that the same push, by an earlier incarnation of the worker, is part of the state
	// already.
	Known
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Applied:
		return "applied"
	case Late:
		return "late"
	case Known:
		return "known"
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

const ackSize = 16

// Acks is a list of pushes and their outcomes, read in place.
type Acks struct{ b []byte }

// AppendAck appends one push to the payload of an ack.
func AppendAck(dst []byte, seq uint64, o Outcome) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	return append(dst, byte(o), 0, 0, 0, 0, 0, 0, 0)
}

// DecodeAcks checks the payload of an ack.
func DecodeAcks(b []byte) (Acks, error) {
	if len(b)%ackSize != 0 {
		return Acks{}, fmt.Errorf("%w: ack of %d bytes, want a multiple of %d", ErrBody, len(b),
			ackSize)
	}
	for i := 0; i < len(b); i += ackSize {
		if o := Outcome(b[i+8]); o < Applied || o > Known {
			return Acks{}, fmt.Errorf("%w: ack with %s", ErrBody, o)
		}
	}
	return Acks{b}, nil
}

// Len returns the number of pushes.
func (a Acks) Len() int { return len(a.b) / ackSize }

// At returns push i.
func (a Acks) At(i int) (seq uint64, o Outcome) {
	item := a.b[i*ackSize:][:ackSize]
	return binary.LittleEndian.Uint64(item), Outcome(item[8])
}
