package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// HeaderSize is the length of every header.
const HeaderSize = 96

// Version is the version of the format of messages. Decode refuses others.
const Version = 5

// magic reads "gomx" in a dump.
const magic = 'g' | 'o'<<8 | 'm'<<16 | 'x'<<24

// MaxPayload is the longest payload of one message: larger arrays are sliced.
const MaxPayload = 1<<31 - 1

// Owner keeps the memory of a received payload alive until Release is called, once, from any
// goroutine.
type Owner interface{ Release() }

// Lent is the Owner of a payload that the receiver reads where the sender has it, in memory that
// the sender may write again at any time. It cannot be kept: Take copies it.
type Lent interface {
	Owner
	// Intact reports, after the payload has been read, that the sender had not written it again.
	Intact() bool
}

// Intact reports whether all that has been read so far of a payload with this owner is as it was
// sent. It asks the owner of a payload that is Lent; all others stay as they are.
func Intact(o Owner) bool {
	l, lent := o.(Lent)
	return !lent || l.Intact()
}

// Keeps reports whether a receiver may keep a payload with this owner without copying it.
func Keeps(o Owner) bool {
	_, lent := o.(Lent)
	return !lent && o != nil
}

// Message is one message: the header of all types, and a payload. Types whose fields have other
// names than pushes and pulls have are read and written by methods such as Refusal and
// SetRefusal; the constants of Type say which. Fields that a type does not use are zero.
type Message struct {
	Type  Type
	Flags Flags
	Job   uint64 // drawn at the start of a job; messages of other jobs are dropped
	Shard uint32
	// of the shard, as the sender knows it; from the scheduler the term of its lead (package view),
	// 0 if it has none and in refusals by its transport
	Epoch       uint64
	From        Node
	Incarnation uint32 // of the sender
	Target      uint32 // incarnation of the receiver that the message is for, 0: of any
	// Group is the number of the group that a worker knows, modulo 65536.
	Group uint16
	Seq   uint64 // identity of a push on (rank, shard), or number of a request
	// of a push: its number for the key; of a pull: the puller's own pushes that it must see
	Clock    uint64
	Need     uint64 // of a pull: lowest version that answers it
	Priority int8   // higher goes first
	KeySlice
	Payload []byte
	Owner   Owner // of Payload; nil or Lent when it must be copied to be kept
}

// KeySlice names the slice of a key that a message is about, and the encoding of its values.
type KeySlice struct {
	Key    uint32
	Slice  uint16 // number of the slice, below Slices
	Slices uint16 // number of slices of the key
	DType  uint8  // element type of the plain values, a dtype.Type
	Codec  uint8  // encoding of the payload, 0 for plain values
	Total  uint64 // bytes of the whole key, plain
}

// castagnoli is the polynomial that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of b.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// ChecksumMore returns the CRC-32C of b behind bytes whose CRC-32C is sum.
func ChecksumMore(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// AppendHeader appends the header to dst. With FlagPayloadCRC it reads the whole payload.
func (m *Message) AppendHeader(dst []byte) []byte {
	var zero [HeaderSize]byte
	dst = append(dst, zero[:]...)
	h := dst[len(dst)-HeaderSize:]
	le := binary.LittleEndian
	le.PutUint32(h[0:], magic)
	h[4] = Version
	h[5] = byte(m.Type)
	le.PutUint16(h[6:], uint16(m.Flags))
	le.PutUint64(h[8:], m.Job)
	le.PutUint64(h[16:], m.Epoch)
	le.PutUint64(h[24:], m.Seq)
	le.PutUint64(h[32:], m.Clock)
	le.PutUint64(h[40:], m.Need)
	le.PutUint64(h[48:], m.Total)
	le.PutUint32(h[56:], m.Shard)
	le.PutUint32(h[60:], m.Incarnation)
	le.PutUint32(h[64:], m.Key)
	le.PutUint16(h[68:], m.Slice)
	le.PutUint16(h[70:], m.Slices)
	le.PutUint16(h[72:], m.From.Rank)
	h[74] = byte(m.From.Role)
	h[75] = m.DType
	h[76] = m.Codec
	h[77] = byte(m.Priority)
	le.PutUint16(h[78:], m.Group)
	le.PutUint32(h[80:], uint32(len(m.Payload)))
	if m.Flags&FlagPayloadCRC != 0 {
		le.PutUint32(h[84:], Checksum(m.Payload))
	}
	le.PutUint32(h[88:], m.Target)
	le.PutUint32(h[HeaderSize-4:], Checksum(h[:HeaderSize-4]))
	return dst
}

// Errors that Decode wraps.
var (
	// ErrHeader says that a header is not one of ours: length, magic, version or checksum are
	// wrong.
	ErrHeader = errors.New("wire: not a header of this format")
	// ErrVersion says that a message is of another release of gomx. ErrHeader is wrapped beside it.
	ErrVersion = errors.New("all processes of a job must be of one release of gomx")
	// ErrMessage says that a header is intact, but makes no sense.
	ErrMessage = errors.New("wire: malformed message")
	// ErrPayload says that a payload has another length or checksum than its header says.
	ErrPayload = errors.New("wire: damaged payload")
)

// PayloadSize returns the length of the payload behind a header, and an error if the header is not
// of this format or claims more than most bytes. A reader of a stream calls it before Decode.
func PayloadSize(header []byte, most int) (int, error) {
	if err := checkHeader(header); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(header[80:])
	if uint64(n) > uint64(most) {
		return 0, fmt.Errorf("%w: %d bytes, want at most %d", ErrPayload, n, most)
	}
	return int(n), nil
}

// checkHeader refuses bytes that are not a header of this format.
func checkHeader(h []byte) error {
	le := binary.LittleEndian
	switch {
	case len(h) != HeaderSize:
		return fmt.Errorf("%w: %d bytes, want %d", ErrHeader, len(h), HeaderSize)
	case le.Uint32(h) != magic:
		return fmt.Errorf("%w: it begins with %#x, want %#x", ErrHeader, le.Uint32(h),
			uint32(magic))
	case h[4] != Version:
		return fmt.Errorf("%w: version %d, want %d: %w", ErrHeader, h[4], Version, ErrVersion)
	case le.Uint32(h[HeaderSize-4:]) != Checksum(h[:HeaderSize-4]):
		return fmt.Errorf("%w: its checksum is wrong", ErrHeader)
	}
	return nil
}

// Decode reads a header into m and attaches the payload without copying it. It returns an error,
// and leaves m in an unspecified state, for anything that AppendHeader does not write. It never
// panics and allocates nothing unless it fails.
func Decode(header, payload []byte, m *Message) error {
	if err := checkHeader(header); err != nil {
		return err
	}
	le, h := binary.LittleEndian, header[:HeaderSize]
	*m = Message{
		Type: Type(h[5]), Flags: Flags(le.Uint16(h[6:])), Job: le.Uint64(h[8:]),
		Epoch: le.Uint64(h[16:]),
		Seq:   le.Uint64(h[24:]), Clock: le.Uint64(h[32:]), Need: le.Uint64(h[40:]),
		KeySlice: KeySlice{Total: le.Uint64(h[48:]), Key: le.Uint32(h[64:]),
			Slice: le.Uint16(h[68:]), Slices: le.Uint16(h[70:]), DType: h[75], Codec: h[76]},
		Shard: le.Uint32(h[56:]), Incarnation: le.Uint32(h[60:]),
		From:     Node{Role: Role(h[74]), Rank: le.Uint16(h[72:])},
		Priority: int8(h[77]), Target: le.Uint32(h[88:]), Group: le.Uint16(h[78:]),
		Payload: payload,
	}
	if err := m.check(); err != nil {
		return err
	}
	if n := le.Uint32(h[80:]); uint64(n) != uint64(len(payload)) {
		return fmt.Errorf("%w: %s with %d bytes, its header says %d", ErrPayload, m.Type,
			len(payload), n)
	}
	sum := le.Uint32(h[84:])
	if m.Flags&FlagPayloadCRC == 0 {
		if sum != 0 {
			return fmt.Errorf("%w: payload checksum without its flag", ErrMessage)
		}
	} else if got := Checksum(payload); got != sum {
		return fmt.Errorf("%w: %s with checksum %#x, its header says %#x", ErrPayload, m.Type, got,
			sum)
	}
	return nil
}

// check refuses faults of a header whose checksum is right, and in an item of a batch.
func (m *Message) check() error {
	switch {
	case !m.Type.Valid():
		return fmt.Errorf("%w: unknown %s", ErrMessage, m.Type)
	case m.Flags&^knownFlags != 0:
		return fmt.Errorf("%w: unknown flags %#x", ErrMessage, uint16(m.Flags&^knownFlags))
	case !m.From.Role.Valid():
		return fmt.Errorf("%w: %s from %s", ErrMessage, m.Type, m.From)
	case m.Slice != 0 && m.Slice >= m.Slices:
		return fmt.Errorf("%w: slice %d of %d", ErrMessage, m.Slice, m.Slices)
	case len(m.Payload) > MaxPayload:
		return fmt.Errorf("%w: %d bytes, want at most %d", ErrPayload, len(m.Payload), MaxPayload)
	}
	return nil
}

// Take returns a payload that the caller may keep and the owner to release when done with it. When
// the payload has no owner or is Lent it is copied into buf, if that is large enough, or else to a
// new slice, and the owner is nil.
func (m *Message) Take(buf []byte) ([]byte, Owner) {
	if Keeps(m.Owner) {
		o := m.Owner
		m.Owner = nil
		return m.Payload, o
	}
	return append(buf[:0], m.Payload...), nil
}

// String describes the message without its payload, for logs and tests.
func (m *Message) String() string {
	return fmt.Sprintf("%s from %s/%d shard %d epoch %d seq %d clock %d need %d key %d slice "+
		"%d/%d flags %#x %d bytes",
		m.Type, m.From, m.Incarnation, m.Shard, m.Epoch, m.Seq, m.Clock, m.Need, m.Key, m.Slice,
		m.Slices, uint16(m.Flags), len(m.Payload))
}

// SliceUnit divides the length of all slices of a key but the last.
const SliceUnit = 64

// Slices returns into how many slices of at most size bytes a key of total bytes is cut. The result
// is at least 1; size is rounded up until 65535 slices are enough.
func Slices(total, size uint64) uint16 {
	const most = 1<<16 - 1
	units := ceil(total, SliceUnit)
	each := max(1, size/SliceUnit, ceil(units, most))
	return uint16(max(1, ceil(units, each)))
}

// ceil returns a/b rounded up.
func ceil(a, b uint64) uint64 {
	n := a / b
	if a%b != 0 {
		n++
	}
	return n
}

// Range returns the bytes from lo to hi that a slice covers. It returns 0, 0 for a slice that holds
// nothing.
func Range(total uint64, slice, slices uint16) (lo, hi uint64) {
	if slices <= 1 {
		return 0, total
	}
	units := ceil(total, SliceUnit)
	each := ceil(units, uint64(slices))
	lo, hi = each*uint64(slice), each*(uint64(slice)+1)
	if lo >= units {
		return 0, 0
	}
	return lo * SliceUnit, min(total, hi*SliceUnit)
}
