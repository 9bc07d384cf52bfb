package wire

import "encoding/binary"

// RowsHead is the length of the head of a group of rows.
const RowsHead = 16

// Rows is a group of a push to a table: the rows of one block, and a delta for each. The payload of
// a push has one group for each block: key, slice, number of rows, bytes of deltas, then the rows'
// numbers and one delta per row, each part padded to 8 bytes.
type Rows struct {
	Key     uint32
	Slice   uint16 // number of the block
	Numbers []byte // of the rows within the block, 4 bytes each
	Deltas  []byte // one per row, in the same order
}

// AppendRows begins a group; the numbers and deltas of its n rows of row bytes follow.
func AppendRows(dst []byte, key uint32, slice uint16, n, row int) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, key)
	dst = le.AppendUint16(dst, slice)
	dst = le.AppendUint16(dst, 0)
	dst = le.AppendUint32(dst, uint32(n))
	return le.AppendUint32(dst, uint32(n*row))
}

// Pad8 appends zeros until the length is a multiple of 8.
func Pad8(dst []byte) []byte {
	for len(dst)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// NextRows takes a group off a payload. It reports false when the payload begins with no group.
func NextRows(b []byte) (g Rows, rest []byte, ok bool) {
	if len(b) < RowsHead {
		return Rows{}, nil, false
	}
	le := binary.LittleEndian
	n, size := uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	numbers := (4*n + 7) &^ 7
	deltas := (size + 7) &^ 7
	if n == 0 || RowsHead+numbers+deltas > uint64(len(b)) {
		return Rows{}, nil, false
	}
	g.Key, g.Slice = le.Uint32(b), le.Uint16(b[4:])
	g.Numbers = b[RowsHead : RowsHead+4*n]
	g.Deltas = b[RowsHead+numbers : RowsHead+numbers+size]
	return g, b[RowsHead+numbers+deltas:], true
}
