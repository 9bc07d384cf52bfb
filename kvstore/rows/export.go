package rows

import (
	"encoding/binary"
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// States is the optimizer's states of some rows of a slice, without their values, on the way to or
// from a worker. Encoded, in numbers that are little-endian, it is
//
//	key 4 bytes, slice 2, zeros 2
//	tag of the states 8, rows that exist 8, number of records 8, number of states 4, bytes of each 4
//	for each record the number of its row 4, its states
type States struct {
	ID      ps.ID
	Tag     uint64 // of the optimizer that has made them
	Rows    uint64 // rows of the slice that exist
	Widths  []int  // bytes of the states of a row
	Records []byte
}

// Record returns the bytes of a record.
func (st *States) Record() int { return recordSize(st.Widths) }

// Append appends the encoded states.
func (st *States) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, st.ID.Key)
	dst = le.AppendUint16(dst, st.ID.Slice)
	dst = le.AppendUint16(dst, 0)
	dst = le.AppendUint64(dst, st.Tag)
	dst = le.AppendUint64(dst, st.Rows)
	dst = le.AppendUint64(dst, uint64(len(st.Records)/st.Record()))
	dst = le.AppendUint32(dst, uint32(len(st.Widths)))
	dst = appendWidths(dst, st.Widths)
	return append(dst, st.Records...)
}

// ReadStates takes states that Append has written off a source.
func ReadStates(from *wire.Source) (st States, err error) {
	h, err := from.Take(36)
	if err != nil {
		return States{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	le := binary.LittleEndian
	st = States{ID: ps.ID{Key: le.Uint32(h), Slice: le.Uint16(h[4:])}, Tag: le.Uint64(h[8:]),
		Rows: le.Uint64(h[16:])}
	count := le.Uint64(h[24:])
	if st.Widths, err = takeWidths(from, le.Uint32(h[32:])); err != nil {
		return States{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	if count > from.Left()/uint64(st.Record()) {
		return States{}, fmt.Errorf("%w: %d rows with %d bytes each in %d bytes", ErrState, count,
			st.Record(), from.Left())
	}
	st.Records, err = from.Take(count * uint64(st.Record()))
	return st, err
}

// Export returns the numbers of the rows in slots from one on, about so many bytes of them, with
// their states unless the question is for bare numbers. It tells how many rows exist, too.
func (s *Store) Export(w wire.RowsAsk, bytes int) States {
	st := States{ID: ps.ID{Key: s.Key, Slice: uint16(s.Part)}, Rows: uint64(s.n)}
	if !w.Bare {
		if st.Widths, st.Tag = s.States(); len(st.Widths) == 0 {
			return st
		}
	}
	from := min(w.From, st.Rows)
	to := min(st.Rows, from+uint64(max(1, bytes/st.Record())))
	st.Records = make([]byte, 0, int(to-from)*st.Record())
	for slot := uint32(from); slot < uint32(to); slot++ {
		st.Records = binary.LittleEndian.AppendUint32(st.Records, s.ID(slot))
		for i := range st.Widths {
			st.Records = append(st.Records, s.Row(i+1, slot)...)
		}
	}
	return st
}

// Import gives rows states, and makes the rows that do not exist. States of another optimizer are
// dropped.
func (s *Store) Import(st *States) error {
	size := st.Record()
	for r := st.Records; len(r) > 0; r = r[size:] {
		if id := binary.LittleEndian.Uint32(r); uint64(id) >= s.Len() {
			return fmt.Errorf("%w: row %d of %d", ErrState, id, s.Len())
		}
	}
	if had, tag := s.States(); tag != st.Tag || !slices.Equal(had, st.Widths) {
		s.SetStates(st.Widths, st.Tag)
	}
	for r := st.Records; len(r) > 0; r = r[size:] {
		slot, b := s.Touch(binary.LittleEndian.Uint32(r)), r[4:]
		for i := range st.Widths {
			b = b[copy(s.Row(i+1, slot), b):]
		}
	}
	return nil
}
