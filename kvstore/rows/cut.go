package rows

import "errors"

// ErrCut says that a cut cannot be read to its end: its store has been closed, or its states have
// changed their form, or another cut has begun.
var ErrCut = errors.New("rows: the cut has ended")

// Cut reads all rows as they are at one moment, piece by piece, while the store changes: a row that
// is about to change before it has been read comes with the next piece. So a cut takes a bit for
// each row, and the memory of the rows that change between two pieces.
type Cut struct {
	store *Store
	pos   int      // next slot
	n     int      // rows at the moment
	early []uint64 // bits of slots whose rows have changed before their turn
	saved []byte   // records of these rows that no piece has had
	spare []byte   // memory of the piece before
}

// Cut begins to read. It ends an earlier cut that has not been read to its end.
func (s *Store) Cut() *Cut {
	s.cut = &Cut{store: s, n: s.n, early: make([]uint64, (s.n+63)/64)}
	return s.cut
}

// keep copies a row that is about to change, for the cut.
func (s *Store) keep(slot uint32) {
	c := s.cut
	if c == nil || int(slot) < c.pos || int(slot) >= c.n || c.early[slot/64]>>(slot%64)&1 != 0 {
		return
	}
	c.early[slot/64] |= 1 << (slot % 64)
	c.saved = s.AppendRecord(c.saved, slot)
}

// Len returns how many rows the cut has.
func (c *Cut) Len() int { return c.n }

// Next returns the records of further rows, none at the end: about so many bytes of them, and the
// rows that have changed since the piece before. They are valid until the next call.
func (c *Cut) Next(bytes int) ([]byte, error) {
	if c.pos == c.n && len(c.saved) == 0 {
		return nil, nil
	}
	s := c.store
	if s.cut != c {
		return nil, ErrCut
	}
	dst := c.saved
	for size := s.Record(); c.pos < c.n && (len(dst) == 0 || len(dst)+size <= bytes); c.pos++ {
		if slot := uint32(c.pos); c.early[slot/64]>>(slot%64)&1 == 0 {
			dst = s.AppendRecord(dst, slot)
		}
	}
	c.saved, c.spare = c.spare[:0], dst
	if c.pos == c.n {
		s.cut = nil
	}
	return dst, nil
}
