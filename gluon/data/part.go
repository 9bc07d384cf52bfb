package data

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// Batch is the samples of one step. Its arrays belong to the loader: see the package documentation.
type Batch struct {
	Data  *nd.Array     // array of the first part; nil: the part has no array, or several
	Label *nd.Array     // array of the second part; nil likewise
	Parts [][]*nd.Array // arrays of all parts; Append gives a part one array for each sample
	Size  int           // number of samples
	Index []int         // numbers of the samples in the data set
}

// single returns the only array of part k, or nil.
func (b *Batch) single(k int) *nd.Array {
	if k < len(b.Parts) && len(b.Parts[k]) == 1 {
		return b.Parts[k][0]
	}
	return nil
}

// Part is the memory of one part of a batch. A loader uses it for one batch after the other, and so
// allocates arrays only where shapes change.
type Part struct {
	dev    device.Device
	arrays []*nd.Array // arrays of the present batch
	rooms  []*room     // memory of the arrays, and of arrays of earlier batches
}

// Add adds an array of n rows to the part. row returns the bytes of row i: memory of its own, or
// scratch, which has the size of a row, is aligned for elements and begins with any content.
func (p *Part) Add(n int, t dtype.Type, shape nd.Shape,
	row func(i int, scratch []byte) []byte) error {
	k := len(p.arrays)
	if k == len(p.rooms) {
		p.rooms = append(p.rooms, &room{dev: p.dev})
	}
	a, err := p.rooms[k].fill(n, t, shape, row)
	if err != nil {
		p.rooms[k] = &room{dev: p.dev} // a failed operation on the old memory has no effect on new
		return err
	}
	p.arrays = append(p.arrays, a)
	return nil
}

// directRow is the number of bytes from which a row is written into the array by a transfer of its
// own, without a copy between. A transfer costs about as much as a copy of so many bytes.
const directRow = 16 << 10

// room is the memory of one array, which the shapes of several batches may use.
type room struct {
	dev   device.Device
	flat  *nd.Array // all memory, as a vector; nil: none
	array *nd.Array // view of the beginning of flat, with the shape of the last batch
	rows  []*nd.Array
	stage []byte // rows on the way to flat
}

// fill writes rows into an array of shape (n, shape…).
func (m *room) fill(n int, t dtype.Type, shape nd.Shape, row func(i int, scratch []byte) []byte) (
	*nd.Array, error) {
	whole := append(nd.Shape{n}, shape...)
	bytes, ok := size(t, whole)
	if !ok {
		return nil, fmt.Errorf("a batch of shape %v and %v is too large", whole, t)
	}
	if bytes == 0 {
		return nd.Empty(whole, nd.As(t), nd.On(m.dev)), nil
	}
	m.reshape(whole, t)
	per := bytes / n
	if m.dev.Kind == device.KindCPU && per >= directRow {
		return m.array, m.direct(n, per, row)
	}
	m.stage = sized(m.stage, bytes)
	for i := range n {
		place := m.stage[i*per : (i+1)*per]
		if b := row(i, place); &b[0] != &place[0] {
			copy(place, b)
		}
	}
	return m.array, m.array.WriteBytes(m.stage)
}

// direct writes each row into the array.
func (m *room) direct(n, per int, row func(i int, scratch []byte) []byte) error {
	if len(m.rows) == 0 {
		elements := m.array.Size() / n
		for i := range n {
			m.rows = append(m.rows, m.flat.Slice(i*elements, (i+1)*elements))
		}
	}
	m.stage = sized(m.stage, per)
	for i, r := range m.rows {
		if err := r.WriteBytes(row(i, m.stage)); err != nil {
			return err
		}
	}
	return nil
}

// reshape makes array a view of the shape.
func (m *room) reshape(shape nd.Shape, t dtype.Type) {
	if m.array != nil && m.flat.DType() == t && m.array.Shape().Equal(shape) {
		return
	}
	n := shape.Size()
	if m.flat == nil || m.flat.DType() != t || m.flat.Size() < n {
		m.flat = nd.Empty(nd.Shape{n}, nd.As(t), nd.On(m.dev))
	}
	m.array, m.rows = m.flat.Slice(0, n).Reshape(shape...), nil
}

// sized returns n bytes that are aligned for every element type, in the memory of b if they fit.
func sized(b []byte, n int) []byte {
	if cap(b) < n {
		b = make([]byte, (n+15)&^15)
	}
	return b[:n]
}
