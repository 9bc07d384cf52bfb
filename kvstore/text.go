package kvstore

import "fmt"

// String describes the store by its name.
func (s *local) String() string { return fmt.Sprintf("<Store %s: one process>", s.name) }

// String describes the store by its name and this worker's place.
func (s *dist) String() string {
	return fmt.Sprintf("<Store %s: worker %d of %d>", s.name, s.Rank(), s.NumWorkers())
}

// String describes the table by its name and size.
func (t *Table) String() string {
	if t == nil {
		return "<Table: nil>"
	}
	return fmt.Sprintf("<Table %s: %d rows of %d numbers>", t.name, t.rows, t.columns)
}
