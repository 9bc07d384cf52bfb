package rows

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// The state of a Part as bytes, all of it or some rows, for snapshots and other copies. Numbers are
// little-endian:
//
//	the description (AppendSpec)
//	length of the values before the last round 8, these values (wire.Sparse)
//	tag of the states 8, number of states 4, bytes of each 4
//	number of rows 8, and for each its number 4, its value, its states

// ErrState is wrapped by errors about states that cannot be read.
var ErrState = errors.New("rows: damaged state")

// Len returns how many rows Append may append.
func (p *Part) Len() int { return p.Store.N() }

// Append appends the state with the rows in slots from one to another; undo says that the values
// before the last round are in it.
func (p *Part) Append(dst []byte, from, to int, undo bool) []byte {
	dst = p.AppendHead(dst, to-from, undo)
	for slot := from; slot < to; slot++ {
		dst = p.Store.AppendRecord(dst, uint32(slot))
	}
	return dst
}

// AppendHead appends the part of the state in front of the records of n rows, which follow.
func (p *Part) AppendHead(dst []byte, n int, undo bool) []byte {
	le := binary.LittleEndian
	dst = AppendSpec(dst, p.Store.Spec)
	var before []byte
	if undo {
		before = p.undo
	}
	dst = le.AppendUint64(dst, uint64(len(before)))
	dst = append(dst, before...)
	widths, tag := p.Store.States()
	dst = le.AppendUint64(dst, tag)
	dst = le.AppendUint32(dst, uint32(len(widths)))
	for _, w := range widths {
		dst = le.AppendUint32(dst, uint32(w))
	}
	return le.AppendUint64(dst, uint64(n))
}

// State is what Append has written, read in place.
type State struct {
	Spec    Spec
	undo    []byte
	tag     uint64
	widths  []int
	records []byte
}

// CutState takes a state off b.
func CutState(b *[]byte, id ps.ID, parts uint16, t dtype.Type) (s State, err error) {
	le := binary.LittleEndian
	head, err := cut(b, headSize)
	if err != nil {
		return s, err
	}
	if s.Spec, _, err = DecodeSpec(id, parts, t, head); err != nil {
		return s, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.undo, err = cutLong(b); err != nil {
		return s, err
	}
	if len(s.undo) > 0 {
		if _, err := wire.DecodeSparse(s.undo, s.Spec.Row, s.Spec.Len()); err != nil {
			return s, fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	h, err := cut(b, 12)
	if err != nil {
		return s, err
	}
	s.tag = le.Uint64(h)
	size := uint64(4 + s.Spec.Row)
	n := le.Uint32(h[8:])
	if n > 16 {
		return s, fmt.Errorf("%w: %d states of a row", ErrState, n)
	}
	for range n {
		if h, err = cut(b, 4); err != nil {
			return s, err
		}
		w := le.Uint32(h)
		if w == 0 || w > 1<<28 {
			return s, fmt.Errorf("%w: a state of %d bytes", ErrState, w)
		}
		s.widths = append(s.widths, int(w))
		size += uint64(w)
	}
	if h, err = cut(b, 8); err != nil {
		return s, err
	}
	count := le.Uint64(h)
	if count > s.Spec.Len() {
		return s, fmt.Errorf("%w: %d rows of %d", ErrState, count, s.Spec.Len())
	}
	if s.records, err = cut(b, count*size); err != nil {
		return s, err
	}
	for r := s.records; len(r) > 0; r = r[size:] {
		if id := le.Uint32(r); uint64(id) >= s.Spec.Len() {
			return s, fmt.Errorf("%w: row %d of %d", ErrState, id, s.Spec.Len())
		}
	}
	return s, nil
}

// cut takes n bytes off b.
func cut(b *[]byte, n uint64) ([]byte, error) {
	if n > uint64(len(*b)) {
		return nil, fmt.Errorf("%w: %d bytes left, want %d", ErrState, len(*b), n)
	}
	out := (*b)[:n:n]
	*b = (*b)[n:]
	return out, nil
}

// cutLong takes a length of 8 bytes and so many bytes off b.
func cutLong(b *[]byte) ([]byte, error) {
	h, err := cut(b, 8)
	if err != nil {
		return nil, err
	}
	return cut(b, binary.LittleEndian.Uint64(h))
}

// Take takes over a state: its rows replace rows of their numbers, and come to the others.
func (p *Part) Take(s *State) error {
	if p.Store.Spec != s.Spec {
		return fmt.Errorf("%w: rows %+v, they were %+v", ErrState, s.Spec, p.Store.Spec)
	}
	p.undo = append([]byte(nil), s.undo...)
	if _, tag := p.Store.States(); tag != s.tag || len(p.Store.cols) != len(s.widths)+1 {
		p.Store.SetStates(s.widths, s.tag)
	}
	size := p.Store.Record()
	for r := s.records; len(r) > 0; r = r[size:] {
		p.Store.SetRecord(r[:size])
	}
	return nil
}
