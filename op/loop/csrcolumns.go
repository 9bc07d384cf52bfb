package loop

import (
	mathbits "math/bits"
	"slices"
	"sync"

	"gomx/op"
)

// ColumnsOf returns the columns of a csr matrix that have elements. They are found once for each
// content of s.
func ColumnsOf(s *op.Sparse) *op.Columns { return s.Columns(findColumns) }

// markedColumns is the number of columns per element up to which a bit for each column costs less
// than sorting the elements.
const markedColumns = 256

// findColumns finds the columns.
func findColumns(s *op.Sparse) *op.Columns {
	c := &op.Columns{At: make([]int64, s.N)}
	if s.Shape[1] <= markedColumns*s.N {
		markColumns(s, c)
		return c
	}
	g := GroupBy(s.Indices)
	c.Keys = g.Keys
	for k := range c.Keys {
		for _, i := range g.Places(k) {
			c.At[i] = int64(k)
		}
	}
	return c
}

// ElementsOf returns the row of each element of a csr matrix, and the elements grouped by their
// columns.
func ElementsOf(s *op.Sparse) (rows []int64, g Groups) {
	c := ColumnsOf(s)
	e := c.Elements(func() *op.Elements { return sortElements(s, c) })
	return e.Rows, Groups{Keys: c.Keys, Starts: e.Starts, Order: e.Order}
}

// sortElements counts the elements of each column and puts them in their order.
func sortElements(s *op.Sparse, c *op.Columns) *op.Elements {
	e := &op.Elements{Rows: make([]int64, s.N), Starts: make([]int64, len(c.Keys)+1),
		Order: make([]int32, s.N)}
	for r := range s.Shape[0] {
		for i := s.Starts[r]; i < s.Starts[r+1]; i++ {
			e.Rows[i] = int64(r)
		}
	}
	for _, k := range c.At {
		e.Starts[k+1]++
	}
	for k := range c.Keys {
		e.Starts[k+1] += e.Starts[k]
	}
	next := slices.Clone(e.Starts)
	for i, k := range c.At {
		e.Order[next[k]] = int32(i)
		next[k]++
	}
	return e
}

// markRoom has memory for a bit of each column, and for the number of marked columns before each
// word of bits.
var markRoom = sync.Pool{New: func() any { return new(marks) }}

type marks struct {
	words  []uint64
	before []int32
}

// markColumns fills Keys and At: it marks the columns in a list of bits and counts the marks.
func markColumns(s *op.Sparse, c *op.Columns) {
	m := markRoom.Get().(*marks)
	defer markRoom.Put(m)
	n := (s.Shape[1] + 63) / 64
	m.words, m.before = slices.Grow(m.words[:0], n)[:n], slices.Grow(m.before[:0], n)[:n]
	clear(m.words)
	for _, k := range s.Indices {
		m.words[k>>6] |= 1 << (k & 63)
	}
	total := int32(0)
	for i, w := range m.words {
		m.before[i] = total
		total += int32(mathbits.OnesCount64(w))
	}
	c.Keys = make([]int64, 0, total)
	for i, w := range m.words {
		for ; w != 0; w &= w - 1 {
			c.Keys = append(c.Keys, int64(i<<6+mathbits.TrailingZeros64(w)))
		}
	}
	for i, k := range s.Indices {
		below := m.words[k>>6] & (1<<(k&63) - 1)
		c.At[i] = int64(m.before[k>>6]) + int64(mathbits.OnesCount64(below))
	}
}
