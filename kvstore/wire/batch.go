package wire

import (
	"encoding/binary"
	"fmt"
)

// ItemSize is the size of an item of a batch beside its payload, which is padded to 8 bytes.
const ItemSize = 64

// AppendItem appends m to the payload of a batch. Job, From, Incarnation, Target and Group are
// taken from the batch; Owner is not used. A batch inside a batch is refused when it is read.
func AppendItem(dst []byte, m *Message) []byte {
	var h [ItemSize]byte
	le := binary.LittleEndian
	h[0], h[1], h[2], h[3] = byte(m.Type), m.DType, m.Codec, byte(m.Priority)
	le.PutUint16(h[4:], uint16(m.Flags&^FlagPayloadCRC))
	le.PutUint16(h[6:], m.Slice)
	le.PutUint16(h[8:], m.Slices)
	le.PutUint32(h[12:], m.Key)
	le.PutUint32(h[16:], m.Shard)
	le.PutUint32(h[20:], uint32(len(m.Payload)))
	le.PutUint64(h[24:], m.Epoch)
	le.PutUint64(h[32:], m.Seq)
	le.PutUint64(h[40:], m.Clock)
	le.PutUint64(h[48:], m.Need)
	le.PutUint64(h[56:], m.Total)
	dst = append(append(dst, h[:]...), m.Payload...)
	for range -len(m.Payload) & 7 {
		dst = append(dst, 0)
	}
	return dst
}

// Batch walks over the items of a batch: Next decodes one after the other into a message whose
// payload is part of the batch's.
type Batch struct {
	parent *Message
	rest   []byte
}

// Items returns the walk over a batch. The batch's own message is read by every Next.
func (m *Message) Items() Batch { return Batch{parent: m, rest: m.Payload} }

// Next decodes the next item into m, which must not be the batch. It returns false at the end, and
// with an error.
func (b *Batch) Next(m *Message) (bool, error) {
	if len(b.rest) == 0 {
		return false, nil
	}
	if len(b.rest) < ItemSize {
		return false, fmt.Errorf("%w: batch with %d bytes after its last item", ErrBody,
			len(b.rest))
	}
	le := binary.LittleEndian
	h := b.rest[:ItemSize]
	n := uint64(le.Uint32(h[20:]))
	padded := (n + 7) &^ 7
	if padded > uint64(len(b.rest)-ItemSize) {
		return false, fmt.Errorf("%w: batch item of %d bytes with %d left", ErrBody, n,
			len(b.rest)-ItemSize)
	}
	*m = Message{
		Type: Type(h[0]), KeySlice: KeySlice{DType: h[1], Codec: h[2], Slice: le.Uint16(h[6:]),
			Slices: le.Uint16(h[8:]), Key: le.Uint32(h[12:]), Total: le.Uint64(h[56:])},
		Priority: int8(h[3]),
		Flags:    Flags(le.Uint16(h[4:])),
		Shard:    le.Uint32(h[16:]),
		Epoch:    le.Uint64(h[24:]), Seq: le.Uint64(h[32:]), Clock: le.Uint64(h[40:]),
		Need: le.Uint64(h[48:]),
		Job:  b.parent.Job, From: b.parent.From, Incarnation: b.parent.Incarnation,
		Target: b.parent.Target, Group: b.parent.Group,
		Payload: b.rest[ItemSize : ItemSize+n : ItemSize+n],
	}
	b.rest = b.rest[ItemSize+padded:]
	if m.Type == TypeBatch || m.Flags&FlagPayloadCRC != 0 {
		return false, fmt.Errorf("%w: batch item %s with flags %#x", ErrMessage, m.Type,
			uint16(m.Flags))
	}
	err := m.check()
	return err == nil, err
}
