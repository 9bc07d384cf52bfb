// Package rows holds the rows of a matrix that exist: those that somebody has written. All others
// are a function of a seed, the key and the row's number, so that every copy agrees on them without
// a message, before and after a crash.
//
//	s := rows.New(rows.Spec{Rows: 100e6, Row: 64, DType: dtype.Float32, Init: rows.Uniform(1, 0.1)})
//	slot := s.Touch(id)         // made at the first touch
//	copy(s.Row(0, slot), value) // column 0 has the values, the others the optimizer's states
//	s.Read(id, out)             // makes no row
//
// Servers hold sparse keys and tables in stores, one for each slice; a table of one process is one.
//
// # Memory
//
// A row takes its bytes, the bytes of its states, its number (4 bytes), and its place in an index
// by number (4 to 10 bytes). Rows lie in pages outside of the Go heap, which the collector neither
// scans nor counts; a store never moves them, so that it grows without a second copy.
package rows
