package dtype

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Shape is the extent of an array along each axis. During inference a nil Shape has unknown
// rank and an extent of -1 is unknown; a non-nil empty Shape is a scalar.
type Shape []int

// Known reports whether the rank and every extent are known.
func (s Shape) Known() bool { return s != nil && !slices.Contains(s, -1) }

// Size returns the number of elements; -1 if s is not known, math.MaxInt if the number overflows.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		if d == -1 {
			return -1
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if n = int(lo); hi != 0 || n < 0 {
			n = math.MaxInt
		}
	}
	if s == nil {
		return -1
	}
	return n
}

// Equal reports whether both shapes have the same rank and extents, unknown ones included.
func (s Shape) Equal(t Shape) bool {
	return (s == nil) == (t == nil) && slices.Equal(s, t)
}

// Clone returns a copy that shares no memory with s.
func (s Shape) Clone() Shape {
	if s == nil {
		return nil
	}
	return append(Shape{}, s...)
}

// Merge combines two partly known shapes of one array; ok is false if they contradict each other.
func (s Shape) Merge(t Shape) (m Shape, ok bool) {
	if s == nil {
		return t.Clone(), true
	}
	if t == nil {
		return s.Clone(), true
	}
	if len(s) != len(t) {
		return nil, false
	}
	m = s.Clone()
	for i, d := range t {
		switch {
		case m[i] == -1:
			m[i] = d
		case d != -1 && d != m[i]:
			return nil, false
		}
	}
	return m, true
}

// Strides returns the distance in elements between neighbours along each axis of a dense
// row-major array of shape s.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// String formats s as MXNet does: "(2, 3)", "(5,)", "()"; an unknown extent prints as "?".
func (s Shape) String() string {
	if s == nil {
		return "(unknown)"
	}
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		if d == -1 {
			b.WriteByte('?')
			continue
		}
		b.WriteString(strconv.Itoa(d))
	}
	if len(s) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}
