package ndarray

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

const (
	formatLimit = 1000 // elements; larger arrays are abbreviated
	formatEdge  = 3    // elements shown at each end of an abbreviated axis
	formatWidth = 75   // characters per line
)

// String waits for a and formats its values as NumPy does, followed by a line with shape and
// device. Large arrays are abbreviated. A sparse array prints its stored values with their places.
// If computing the values has failed, the error is printed instead.
func (a *Array) String() string {
	if a == nil || a.chunk == nil || a.closed.Load() {
		return "<Array: closed>"
	}
	if a.chunk.sparse != nil {
		return a.sparseText()
	}
	values, err := a.Float64s()
	if err != nil {
		return a.foot() + ": " + err.Error()
	}
	return a.text(values)
}

// text formats values, the values of a, with the line of shape and device.
func (a *Array) text(values []float64) string {
	return newFormatter(a, values).nested(0, 0) + "\n" + a.foot()
}

// foot returns the line with shape, element type and device.
func (a *Array) foot() string {
	dims := make([]string, len(a.shape))
	for i, d := range a.shape {
		dims[i] = strconv.Itoa(d)
	}
	about := strings.Join(dims, "x")
	if about == "" {
		about = "scalar"
	}
	if a.dtype != dtype.Float32 {
		about += " " + a.dtype.String()
	}
	if class := sparseClasses[a.Storage()]; class != "" {
		return fmt.Sprintf("<%s %s @%v>", class, about, a.Device())
	}
	return fmt.Sprintf("<Array %s %v>", about, a.Device())
}

// formatter prints the values of one array. Unsigned 64-bit integers above 2⁵³ are rounded.
type formatter struct {
	shape  Shape
	values []float64
	edge   int // elements shown at each end of an axis; 0: all
	text   func(v float64) string
	width  int // characters per number
}

func newFormatter(a *Array, values []float64) *formatter {
	f := &formatter{shape: a.shape, values: values}
	if len(values) > formatLimit {
		f.edge = formatEdge
	}
	var shown []float64
	f.walk(0, 0, func(v float64) { shown = append(shown, v) })
	f.text = textOf(a.dtype, shown)
	for _, v := range shown {
		f.width = max(f.width, len(f.text(v)))
	}
	return f
}

// skip reports whether element i of an axis of n elements is left out.
func (f *formatter) skip(i, n int) bool {
	return f.edge > 0 && n > 2*f.edge && i >= f.edge && i < n-f.edge
}

// walk calls do for every value shown below index at of the first axis axes.
func (f *formatter) walk(axis, at int, do func(v float64)) {
	if axis == len(f.shape) {
		if len(f.values) > 0 {
			do(f.values[at])
		}
		return
	}
	n := f.shape[axis]
	for i := range n {
		if !f.skip(i, n) {
			f.walk(axis+1, at*n+i, do)
		}
	}
}

// nested formats the values below index at of the first axis axes.
func (f *formatter) nested(axis, at int) string {
	if axis == len(f.shape) {
		return f.pad(f.text(f.values[at]))
	}
	if axis == len(f.shape)-1 {
		return f.row(at)
	}
	n := f.shape[axis]
	sep := strings.Repeat("\n", len(f.shape)-axis-1) + strings.Repeat(" ", axis+1)
	var parts []string
	for i := 0; i < n; i++ {
		if f.skip(i, n) {
			parts = append(parts, "...")
			i = n - f.edge
		}
		parts = append(parts, f.nested(axis+1, at*n+i))
	}
	return "[" + strings.Join(parts, sep) + "]"
}

// row formats the last axis, in lines of limited width.
func (f *formatter) row(at int) string {
	rank := len(f.shape)
	n, width := f.shape[rank-1], formatWidth-rank
	var b strings.Builder
	b.WriteByte('[')
	column := rank // column of the next number, counted after the opening brackets
	add := func(word string) {
		switch {
		case column+len(word) > width && column > rank:
			b.WriteString("\n" + strings.Repeat(" ", rank))
			column = rank
		case column > rank:
			b.WriteByte(' ')
		}
		b.WriteString(word)
		column += len(word) + 1
	}
	for i := 0; i < n; i++ {
		if f.skip(i, n) {
			add("...")
			i = n - f.edge
		}
		add(f.pad(f.text(f.values[at*n+i])))
	}
	b.WriteByte(']')
	return b.String()
}

// pad fills s with spaces on the left to the width of all numbers.
func (f *formatter) pad(s string) string { return strings.Repeat(" ", f.width-len(s)) + s }

// textOf chooses how to write the numbers of an array, as NumPy does: integers without a point,
// other numbers with the digits that they need, at most eight, and with exponents if the range is
// wide.
func textOf(t dtype.Type, shown []float64) func(float64) string {
	switch {
	case t == dtype.Bool:
		return func(v float64) string {
			if v != 0 {
				return "True"
			}
			return "False"
		}
	case !t.IsFloat():
		return func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	}
	bits := 64
	if t != dtype.Float64 {
		bits = 32
	}
	low, high := math.Inf(1), 0.0
	for _, v := range shown {
		if m := math.Abs(v); m > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			low, high = min(low, m), max(high, m)
		}
	}
	verb := byte('f')
	if high > 0 && (high >= 1e8 || low < 1e-4 || high/low > 1000) {
		verb = 'e'
	}
	digits := 0
	for _, v := range shown {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			digits = max(digits, fraction(v, verb, bits))
		}
	}
	return func(v float64) string {
		switch {
		case math.IsNaN(v):
			return "nan"
		case math.IsInf(v, 1):
			return "inf"
		case math.IsInf(v, -1):
			return "-inf"
		case verb == 'e':
			return withPoint(strconv.FormatFloat(v, verb, digits, 64), digits)
		}
		own := fraction(v, verb, bits)
		return withPoint(strconv.FormatFloat(v, verb, own, bits), own) + strings.Repeat(" ",
			digits-own)
	}
}

// fraction returns the number of digits after the point that v needs, at most eight.
func fraction(v float64, verb byte, bits int) int {
	digits := func(s string) int {
		mantissa, _, _ := strings.Cut(s, "e")
		_, frac, _ := strings.Cut(mantissa, ".")
		return len(strings.TrimRight(frac, "0"))
	}
	if n := digits(strconv.FormatFloat(v, verb, -1, bits)); n <= 8 {
		return n
	}
	return digits(strconv.FormatFloat(v, verb, 8, bits))
}

// withPoint appends the point that strconv leaves out when no digits follow it.
func withPoint(s string, digits int) string {
	if digits > 0 {
		return s
	}
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return s + "."
	}
	return mantissa + ".e" + exp
}

// Format implements fmt.Formatter. It waits for the values. %v, %+v and %s print the result of
// String, %q quotes it. Other verbs apply to the elements: %.2f prints them with two digits after
// the point, %d, %x and %o print integers, and a width applies to each element; the shape is left
// out. If computing the values has failed, Format prints %!v(error), with the verb in place of v.
// Elements that do not fit the verb appear as fmt prints them: %!d(float64=1.5).
func (a *Array) Format(s fmt.State, verb rune) {
	if a == nil || a.chunk == nil || a.closed.Load() {
		fmt.Fprintf(s, "%%!%c(ndarray.Array: closed)", verb)
		return
	}
	if a.chunk.sparse != nil && (verb == 'v' || verb == 's') {
		io.WriteString(s, a.sparseText())
		return
	}
	values, err := a.Float64s()
	if err != nil {
		fmt.Fprintf(s, "%%!%c(%s: %v)", verb, a.foot(), err)
		return
	}
	switch verb {
	case 'v', 's':
		io.WriteString(s, a.text(values))
		return
	case 'q':
		fmt.Fprintf(s, "%q", a.text(values))
		return
	}
	f := newFormatter(a, values)
	format := fmt.FormatString(s, verb)
	f.text = func(v float64) string {
		return fmt.Sprintf(format, element(verb, v, a.dtype.IsFloat()))
	}
	f.width = 0
	f.walk(0, 0, func(v float64) { f.width = max(f.width, len(f.text(v))) })
	io.WriteString(s, f.nested(0, 0))
}

// element converts v to the type that a verb formats: to int64 if the verb is for integers and v
// has an integer value, otherwise it stays a float64.
func element(verb rune, v float64, float bool) any {
	whole := v == math.Trunc(v) && math.Abs(v) < 1<<63
	if whole && (strings.ContainsRune("dboOcU", verb) || !float && (verb == 'x' || verb == 'X')) {
		return int64(v)
	}
	return v
}

// sparseClasses are MXNet's names of the classes of sparse arrays.
var sparseClasses = map[Storage]string{RowSparse: "RowSparseNDArray", CSR: "CSRNDArray"}

// sparseText formats the stored values of a sparse array with their places: one line for an element
// of a csr array, one for a row of a row_sparse array.
func (a *Array) sparseText() string {
	var lines []string
	err := a.content("String", func(s *op.Sparse) error {
		values, row := loop.Floats(s.Values()), s.Row()
		place := func(i int) string { return fmt.Sprintf("(%d)", s.Indices[i]) }
		if s.Storage == CSR {
			place = func(i int) string {
				r, _ := slices.BinarySearch(s.Starts, int64(i)+1)
				return fmt.Sprintf("(%d, %d)", r-1, s.Indices[i])
			}
		}
		text := textOf(a.dtype, values)
		for i := 0; i < s.N; i++ {
			if s.N > formatLimit && i == formatEdge {
				lines = append(lines, "...")
				i = s.N - formatEdge
			}
			line := place(i)
			for k, v := range values[i*row : (i+1)*row] {
				if row > 2*formatEdge && k == formatEdge && row*s.N > formatLimit {
					line += " ..."
				}
				if row > 2*formatEdge && k >= formatEdge && k < row-formatEdge &&
					row*s.N > formatLimit {
					continue
				}
				line += " " + text(v)
			}
			lines = append(lines, line)
		}
		return nil
	})
	if err != nil {
		return a.foot() + ": " + err.Error()
	}
	return strings.Join(append(lines, a.foot()), "\n")
}
