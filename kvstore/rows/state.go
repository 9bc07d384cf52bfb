package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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
	dst = appendWidths(dst, widths)
	return le.AppendUint64(dst, uint64(n))
}

// appendWidths appends the bytes of the states of a row.
func appendWidths(dst []byte, widths []int) []byte {
	for _, w := range widths {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(w))
	}
	return dst
}

// takeWidths takes n numbers of appendWidths.
func takeWidths(from *wire.Source, n uint32) (widths []int, err error) {
	if n > mostStates {
		return nil, fmt.Errorf("%d states of a row", n)
	}
	b, err := from.Take(4 * uint64(n))
	if err != nil {
		return nil, err
	}
	for ; len(b) > 0; b = b[4:] {
		w := binary.LittleEndian.Uint32(b)
		if w == 0 || w > 1<<28 {
			return nil, fmt.Errorf("a state of %d bytes", w)
		}
		widths = append(widths, int(w))
	}
	return widths, nil
}

// recordSize returns the bytes of the number of a row and of its parts.
func recordSize(widths []int) int {
	n := 4
	for _, w := range widths {
		n += w
	}
	return n
}

// State is a state that Append has written, up to its records, which Part.Take reads.
type State struct {
	Spec   Spec
	undo   []byte
	tag    uint64
	widths []int
	count  uint64 // of records
	from   *wire.Source
}

// ReadState begins to read a state. Nothing else may be taken before Part.Take.
func ReadState(from *wire.Source, id ps.ID, parts uint16, t dtype.Type) (s State, err error) {
	if err = s.read(from, id, parts, t); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	return s, nil
}

func (s *State) read(from *wire.Source, id ps.ID, parts uint16, t dtype.Type) error {
	le := binary.LittleEndian
	head, err := from.Take(headSize + 8)
	if err != nil {
		return err
	}
	if s.Spec, _, err = DecodeSpec(id, parts, t, head[:headSize]); err != nil {
		return err
	}
	if s.undo, err = from.Take(le.Uint64(head[headSize:])); err != nil {
		return err
	}
	if len(s.undo) > 0 {
		if _, err := wire.DecodeSparse(s.undo, s.Spec.Row, s.Spec.Len()); err != nil {
			return err
		}
	}
	if head, err = from.Take(12); err != nil {
		return err
	}
	s.tag = le.Uint64(head)
	if s.widths, err = takeWidths(from, le.Uint32(head[8:])); err != nil {
		return err
	}
	if head, err = from.Take(8); err != nil {
		return err
	}
	s.count, s.from = le.Uint64(head), from
	if s.count > s.Spec.Len() || s.count > from.Left()/uint64(s.record()) {
		return fmt.Errorf("%d rows of %d, with %d bytes each of %d", s.count, s.Spec.Len(), s.record(),
			from.Left())
	}
	return nil
}

// mostStates is how many states a row may have.
const mostStates = 16

// record returns the bytes of a record.
func (s *State) record() int { return s.Spec.Row + recordSize(s.widths) }

// pieceSize is about how many bytes of records are read at once.
const pieceSize = 1 << 20

// Take takes over a state: its rows replace rows of their numbers, and come to the others. It reads
// the records piece by piece. When one of them is damaged, some rows have been taken over.
func (p *Part) Take(s *State) error {
	if p.Store.Spec != s.Spec {
		return fmt.Errorf("%w: rows %+v, they were %+v", ErrState, s.Spec, p.Store.Spec)
	}
	p.undo = append([]byte(nil), s.undo...)
	if had, tag := p.Store.States(); tag != s.tag || !slices.Equal(had, s.widths) {
		p.Store.SetStates(s.widths, s.tag)
	}
	size := uint64(s.record())
	var buf []byte
	for s.count > 0 {
		n := min(s.count, max(1, pieceSize/size))
		b, err := s.from.TakeTo(buf, n*size)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		for r := b; len(r) > 0; r = r[size:] {
			if id := binary.LittleEndian.Uint32(r); uint64(id) >= s.Spec.Len() {
				return fmt.Errorf("%w: row %d of %d", ErrState, id, s.Spec.Len())
			}
			p.Store.SetRecord(r[:size])
		}
		buf, s.count = b, s.count-n
	}
	return nil
}
