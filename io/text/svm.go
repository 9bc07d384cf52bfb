package text

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// SVM parses lines of LibSVM's format: a label, which may have a weight behind a colon, then
// index:value pairs separated by spaces. A pair without a colon has the value 1. The text from # on
// is a comment; qid:number and weights are left out. Indices count from 0 and may come in any
// order; the values of an index that comes several times are added up.
type SVM struct {
	Width int      // number of columns
	Hash  *Hashing // makes columns of names; nil: the names are indices
}

// Rows are the sparse rows of parsed lines.
type Rows struct {
	Labels  []float32
	Ends    []int64 // number of elements up to the end of each row
	Columns []int64 // of the elements, ascending within a row
	Values  []float32

	row   []element // room for sorting
	dense []float32 // room for a dense row
}

// element is an element of a row that is being sorted.
type element struct {
	column int64
	value  float32
	at     int32 // position in the line
}

// Reset drops the rows and keeps the memory.
func (r *Rows) Reset() {
	r.Labels, r.Ends, r.Columns, r.Values = r.Labels[:0], r.Ends[:0], r.Columns[:0], r.Values[:0]
}

// Parse appends the row of a line. After an error the last row is undefined.
func (s *SVM) Parse(line []byte, to *Rows) error {
	i := spaces(line, 0)
	label, n := Float(line[i:])
	if n == 0 {
		return missing(line, i, " \t\r#", "a label, which is a number")
	}
	i += n
	if i < len(line) && line[i] == ':' {
		if _, n = Float(line[i+1:]); n == 0 {
			return missing(line, i+1, " \t\r#", "a weight, which is a number")
		}
		i += 1 + n
	}
	if i < len(line) && !isSpace(line[i]) && line[i] != '#' {
		return missing(line, i, " \t\r#", "a space behind the label")
	}
	i = spaces(line, i)
	if bytes.HasPrefix(line[i:], []byte("qid:")) {
		i = wordEnd(line, i)
	}
	to.Labels = append(to.Labels, label)
	begin := len(to.Columns)
	var err error
	if s.Hash == nil {
		err = s.indexed(line, i, to)
	} else {
		err = s.hashed(line, i, to)
	}
	if err != nil {
		return err
	}
	to.close(begin)
	return nil
}

// spaces returns the position of the first byte from i on that is no space.
func spaces(line []byte, i int) int {
	for i < len(line) && isSpace(line[i]) {
		i++
	}
	return i
}

// wordEnd returns the position of the end of the word at byte i.
func wordEnd(line []byte, i int) int {
	for i < len(line) && !isSpace(line[i]) && line[i] != '#' {
		i++
	}
	return i
}

// indexed appends the elements of a line from byte i on, whose names are their columns.
func (s *SVM) indexed(line []byte, i int, to *Rows) error {
	const mostDigits = 18 // of an int64 without overflow
	columns, values := to.Columns, to.Values
	for {
		i = spaces(line, i)
		if i == len(line) || line[i] == '#' {
			to.Columns, to.Values = columns, values
			return nil
		}
		begin, column := i, int64(0)
		for i < len(line) {
			d := line[i] - '0'
			if d > 9 {
				break
			}
			column = column*10 + int64(d)
			i++
		}
		digits := i - begin
		value := float32(1)
		if i < len(line) && line[i] == ':' {
			var n int
			if value, n = Float(line[i+1:]); n == 0 || digits == 0 {
				return missing(line, begin, " \t\r#", "an index:value pair")
			}
			i += 1 + n
		}
		if digits == 0 || i < len(line) && !isSpace(line[i]) && line[i] != '#' {
			return missing(line, begin, " \t\r#", "an index:value pair")
		}
		if column >= int64(s.Width) || digits > mostDigits {
			return &Fault{begin + 1, fmt.Sprintf("index %s, want 0 to %d",
				line[begin:begin+min(digits, 40)], s.Width-1)}
		}
		columns, values = append(columns, column), append(values, value)
	}
}

// hashed appends the elements of a line from byte i on, whose names are hashed to columns.
func (s *SVM) hashed(line []byte, i int, to *Rows) error {
	for {
		i = spaces(line, i)
		if i == len(line) || line[i] == '#' {
			return nil
		}
		begin := i
		i = wordEnd(line, i)
		name, value := line[begin:i], float32(1)
		if k := bytes.LastIndexByte(name, ':'); k >= 0 {
			var n int
			if value, n = Float(name[k+1:]); n == 0 || k+1+n < len(name) {
				return missing(line, begin, " \t\r#", "a name:value pair")
			}
			name = name[:k]
		}
		column, sign := s.Hash.Column(name, s.Width)
		to.Columns, to.Values = append(to.Columns, column), append(to.Values, sign*value)
	}
}

// close ends the row whose elements begin at begin: it sorts them by column and adds up the values
// of equal columns.
func (r *Rows) close(begin int) {
	columns, values := r.Columns[begin:], r.Values[begin:]
	sorted := true
	for i := 1; i < len(columns); i++ {
		if columns[i] <= columns[i-1] {
			sorted = false
			break
		}
	}
	if !sorted {
		r.row = r.row[:0]
		for i, c := range columns {
			r.row = append(r.row, element{c, values[i], int32(i)})
		}
		slices.SortFunc(r.row, func(a, b element) int {
			if a.column != b.column {
				return cmp.Compare(a.column, b.column)
			}
			return cmp.Compare(a.at, b.at)
		})
		n := 0
		for _, e := range r.row {
			if n > 0 && columns[n-1] == e.column {
				values[n-1] += e.value
				continue
			}
			columns[n], values[n] = e.column, e.value
			n++
		}
		r.Columns, r.Values = r.Columns[:begin+n], r.Values[:begin+n]
	}
	r.Ends = append(r.Ends, int64(len(r.Columns)))
}
