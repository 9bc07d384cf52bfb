package rows

import "errors"

// ErrCut says that a cut cannot be read to its end: its store has been closed, or its states have
// changed their form, or another cut has begun.
var ErrCut = errors.New("rows: the cut has ended")

// Cut reads all rows as they are at one moment, piece by piece, while the store changes: a row that
// is about to change before it has been read is copied first.
type Cut struct {
	store *Store
	pos   int               // next slot
	n     int               // rows at the moment
	saved map[uint32][]byte // records of rows that have changed since, by slot
}

// Cut begins to read. It ends an earlier cut that has not been read to its end.
func (s *Store) Cut() *Cut {
	s.cut = &Cut{store: s, n: s.n, saved: map[uint32][]byte{}}
	return s.cut
}

// keep copies a row that is about to change, for the cut.
func (s *Store) keep(slot uint32) {
	c := s.cut
	if c == nil || int(slot) < c.pos || int(slot) >= c.n || c.saved[slot] != nil {
		return
	}
	c.saved[slot] = s.AppendRecord(make([]byte, 0, s.Record()), slot)
}

// Len returns how many rows the cut has.
func (c *Cut) Len() int { return c.n }

// Next returns the records of further rows, about so many bytes of them, none at the end.
func (c *Cut) Next(bytes int) ([]byte, error) {
	if c.pos == c.n {
		return nil, nil
	}
	s := c.store
	if s.cut != c {
		return nil, ErrCut
	}
	to := min(c.n, c.pos+max(1, bytes/s.Record()))
	dst := make([]byte, 0, (to-c.pos)*s.Record())
	for ; c.pos < to; c.pos++ {
		slot := uint32(c.pos)
		if old := c.saved[slot]; old != nil {
			dst = append(dst, old...)
			delete(c.saved, slot)
		} else {
			dst = s.AppendRecord(dst, slot)
		}
	}
	if c.pos == c.n {
		s.cut = nil
	}
	return dst, nil
}
