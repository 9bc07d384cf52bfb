package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Sparse is a list of rows, read in place: their numbers, which ascend without repetition, and for
// each its bytes, or none where a list names rows only. Encoded it is the number of rows (4 bytes),
// the bytes of their numbers (4), the numbers as differences (the first, then each from the one
// before, as unsigned varints), zeros up to a multiple of 8, and the rows one after the other.
type Sparse struct {
	N    int
	ids  []byte
	Rows []byte
}

// sparseHead is the length of the fixed part.
const sparseHead = 8

// AppendIDs begins a list of the given rows; the rows' bytes follow.
func AppendIDs(dst []byte, ids []uint32) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(len(ids)))
	dst = le.AppendUint32(dst, 0)
	last := uint32(0)
	for _, id := range ids {
		dst = binary.AppendUvarint(dst, uint64(id-last))
		last = id
	}
	le.PutUint32(dst[start+4:], uint32(len(dst)-start-sparseHead))
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// DecodeSparse reads a list whose rows have so many bytes and numbers below limit. It refuses
// everything that AppendIDs does not write.
func DecodeSparse(b []byte, row int, limit uint64) (Sparse, error) {
	s, err := DecodeCoded(b, limit)
	if err == nil && uint64(len(s.Rows)) != uint64(s.N)*uint64(row) {
		return Sparse{}, fmt.Errorf("%w: %d bytes of values for %d rows of %d", ErrBody, len(s.Rows),
			s.N, row)
	}
	return s, err
}

// DecodeCoded is DecodeSparse for rows whose values are compressed: Rows is the code of all of them.
func DecodeCoded(b []byte, limit uint64) (Sparse, error) {
	if len(b) < sparseHead {
		return Sparse{}, fmt.Errorf("%w: %d bytes of rows", ErrBody, len(b))
	}
	n, size := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
	padded := (sparseHead + size + 7) &^ 7
	if n > size || padded > uint64(len(b)) {
		return Sparse{}, fmt.Errorf("%w: %d bytes for %d rows with %d bytes of numbers", ErrBody,
			len(b), n, size)
	}
	s := Sparse{N: int(n), ids: b[sparseHead : sparseHead+size], Rows: b[padded:]}
	rest, last := s.ids, uint64(0)
	for i := range s.N {
		d, k := binary.Uvarint(rest)
		if k <= 0 || i > 0 && d == 0 || d >= limit || last+d >= limit {
			return Sparse{}, fmt.Errorf("%w: row %d of %d: %d behind %d, want ascending numbers "+
				"below %d", ErrBody, i, n, d, last, limit)
		}
		last += d
		rest = rest[k:]
	}
	if len(rest) != 0 {
		return Sparse{}, fmt.Errorf("%w: %d bytes behind the numbers of %d rows", ErrBody,
			len(rest), n)
	}
	return s, nil
}

// IDs appends the rows' numbers.
func (s *Sparse) IDs(dst []uint32) []uint32 {
	dst = slices.Grow(dst, s.N)
	rest, last := s.ids, uint32(0)
	for range s.N {
		d, k := binary.Uvarint(rest)
		last += uint32(d)
		rest = rest[k:]
		dst = append(dst, last)
	}
	return dst
}
