package text

import (
	"bytes"
	"fmt"
)

// SparseCSV appends the row of a line of width numbers, without its zeros.
func SparseCSV(line []byte, width int, to *Rows) error {
	to.dense = append(to.dense[:0], make([]float32, width)...)
	if err := CSV(line, to.dense); err != nil {
		return err
	}
	for i, v := range to.dense {
		if v != 0 {
			to.Columns, to.Values = append(to.Columns, int64(i)), append(to.Values, v)
		}
	}
	to.Labels, to.Ends = append(to.Labels, 0), append(to.Ends, int64(len(to.Columns)))
	return nil
}

// CSV parses a line of numbers that are separated by commas into all of row.
func CSV(line []byte, row []float32) error {
	at := 0
	for i := range row {
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		v, n := Float(line[at:])
		end := at + n
		for end < len(line) && isSpace(line[end]) {
			end++
		}
		switch {
		case n == 0 || end < len(line) && line[end] != ',':
			return missing(line, at, ",", "a number")
		case end == len(line) && i+1 < len(row), end < len(line) && i+1 == len(row):
			return &Fault{end + 1, fmt.Sprintf("%d values, want %d",
				bytes.Count(line, []byte{','})+1, len(row))}
		}
		row[i] = v
		at = end + 1
	}
	return nil
}

// missing is the fault of a line that has something unwanted at byte at, up to one of the bytes of
// ends.
func missing(line []byte, at int, ends, want string) error {
	found := line[at:]
	if i := bytes.IndexAny(found, ends); i >= 0 {
		found = found[:i]
	}
	const most = 40
	if found = bytes.TrimRight(found, " \t\r"); len(found) > most {
		found = append(bytes.Clone(found[:most]), "…"...)
	}
	return &Fault{at + 1, fmt.Sprintf("found %q, want %s", found, want)}
}
