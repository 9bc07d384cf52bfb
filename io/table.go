package io

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// column is one array of a data set: samples of equal shape, in memory or in a file.
type column struct {
	name string
	row  nd.Shape   // shape of one sample
	typ  dtype.Type // element type of the batches
	n    int        // number of samples
	fill func(dst []byte, rows []int)
	read func(dst []byte, rows []int) error // reads samples of a file; replaces fill

	// whole holds the samples in the element type of the batches, which are views of it; it
	// replaces fill.
	whole *nd.Array
	// store writes the samples of rows into a csr array of a batch; it replaces fill. prepare,
	// which may be nil, is called before.
	store   func(s *op.Sparse, rows []int) error
	prepare func(rows []int) error
}

// copyRows copies the samples of rows to dst.
func (c *column) copyRows(dst []byte, rows []int) error {
	switch {
	case c.read != nil:
		return c.read(dst, rows)
	case c.whole == nil:
		c.fill(dst, rows)
		return nil
	}
	for len(rows) > 0 {
		n := 1 // number of contiguous samples
		for n < len(rows) && rows[n] == rows[0]+n {
			n++
		}
		part := c.whole.Slice(rows[0], rows[0]+n)
		err := part.ReadBytes(context.Background(), dst[:n*c.rowBytes()])
		part.Close()
		if err != nil {
			return err
		}
		dst, rows = dst[n*c.rowBytes():], rows[n:]
	}
	return nil
}

func (c *column) rowBytes() int { return c.row.Size() * c.typ.Size() }

func (c *column) desc(batch int) Desc {
	d := Desc{Name: c.name, Shape: append(nd.Shape{batch}, c.row...), DType: c.typ}
	if c.store != nil {
		d.Storage = nd.CSR
	}
	return d
}

// write writes the samples of rows to an array of a batch; stage has room for them.
func (c *column) write(a *nd.Array, rows []int, stage []byte) error {
	if c.store == nil {
		dst := stage[:c.rowBytes()*len(rows)]
		if err := c.copyRows(dst, rows); err != nil {
			return fmt.Errorf("io: reading %s: %w", c.name, err)
		}
		if err := a.WriteBytes(dst); err != nil {
			return fmt.Errorf("io: filling %s: %w", c.name, err)
		}
		return nil
	}
	if c.prepare != nil {
		if err := c.prepare(rows); err != nil {
			return fmt.Errorf("io: reading %s: %w", c.name, err)
		}
	}
	if err := a.WriteContent(func(s *op.Sparse) error { return c.store(s, rows) }); err != nil {
		return fmt.Errorf("io: filling %s: %w", c.name, err)
	}
	return nil
}

// floatsOf views the memory of float32 samples.
func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// byteRows returns a fill function for samples that are stored in the format of the batches.
func byteRows(data []byte, rowBytes int) func([]byte, []int) {
	return func(dst []byte, rows []int) {
		for i, r := range rows {
			copy(dst[i*rowBytes:(i+1)*rowBytes], data[r*rowBytes:])
		}
	}
}

// Table iterates over samples. NDArrayIter and MNISTIter keep all samples in memory; CSVIter,
// LibSVMIter and ImageRecordIter read them from files. A Table is used by one goroutine at a time.
type Table struct {
	cols  []column
	nData int
	ord   *order
	ring  []*Batch // filled in turn; entries are made at first use
	turn  int
	stage []byte
	share share
	views map[int]*Batch // keyed by the first sample; nil unless all columns can be viewed
}

// keepDefault is the number of further calls of Next during which a batch stays valid.
const keepDefault = 2

func newTable(data, label []column, o tableOptions) (*Table, error) {
	cols := append(slices.Clone(data), label...)
	for _, c := range cols {
		if c.n != cols[0].n {
			return nil, fmt.Errorf("io: %s has %d samples, %s has %d, want as many", c.name, c.n,
				cols[0].name, cols[0].n)
		}
	}
	ord, err := newOrder(cols[0].n, o.batch, o.last, o.shuffle, o.seed)
	if err != nil {
		return nil, err
	}
	t := &Table{cols: cols, nData: len(data), ord: ord, ring: make([]*Batch, keepDefault+1)}
	if !slices.ContainsFunc(cols, func(c column) bool { return c.whole == nil }) {
		t.views = map[int]*Batch{}
	}
	return t, nil
}

// tableOptions is the configuration of every in-memory iterator.
type tableOptions struct {
	batch   int
	last    LastBatch
	shuffle bool
	seed    uint64
}

// Next returns the next batch, io.EOF at the end of the epoch.
func (t *Table) Next(ctx context.Context) (*Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := t.ring[t.turn]
	if b == nil {
		b = &Batch{Index: make([]int, t.ord.batch)}
		t.ring[t.turn] = b
	}
	pad, ok := t.next(b.Index)
	if !ok {
		return nil, io.EOF
	}
	if t.views != nil && inARow(b.Index) {
		v := t.view(b.Index)
		v.Pad = pad
		return v, nil
	}
	t.turn = (t.turn + 1) % len(t.ring)
	b.Pad = pad
	t.allocate(b)
	for i := range t.cols {
		if err := t.cols[i].write(t.array(b, i), b.Index, t.stage); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (t *Table) array(b *Batch, i int) *nd.Array {
	if i < t.nData {
		return b.Data[i]
	}
	return b.Label[i-t.nData]
}

// allocate makes the arrays of a batch of the ring and its staging memory.
func (t *Table) allocate(b *Batch) {
	if len(b.Data) > 0 {
		return
	}
	biggest := 0
	for i := range t.cols {
		d := t.cols[i].desc(t.ord.batch)
		var a *nd.Array
		if d.Storage == nd.Dense {
			a = nd.Empty(d.Shape, nd.As(d.DType))
			biggest = max(biggest, a.Bytes())
		} else {
			a = nd.ZerosOf(d.Storage, d.Shape, nd.As(d.DType))
		}
		if i < t.nData {
			b.Data = append(b.Data, a)
		} else {
			b.Label = append(b.Label, a)
		}
	}
	if len(t.stage) < biggest {
		t.stage = make([]byte, (biggest+15)&^15)
	}
}

// inARow reports whether the numbers in rows are consecutive.
func inARow(rows []int) bool {
	for i, r := range rows {
		if r != rows[0]+i {
			return false
		}
	}
	return true
}

// view returns the batch of rows as a view of the columns. Views are cached by their first sample;
// the cache is cleared when it grows because epochs begin at different samples.
func (t *Table) view(rows []int) *Batch {
	first := rows[0]
	if b := t.views[first]; b != nil {
		return b
	}
	if len(t.views) > 2*t.ord.n/t.ord.batch+2 {
		clear(t.views)
	}
	b := &Batch{Index: slices.Clone(rows)}
	for i := range t.cols {
		v := t.cols[i].whole.Slice(first, first+len(rows))
		if i < t.nData {
			b.Data = append(b.Data, v)
		} else {
			b.Label = append(b.Label, v)
		}
	}
	t.views[first] = b
	return b
}

// Reset begins the next epoch.
func (t *Table) Reset() error {
	t.ord.reset()
	t.share.running = t.share.running && t.ord.used
	return nil
}

// SetEpoch begins epoch number e, counted from 0. With shuffling, the epoch has the order of its
// number.
func (t *Table) SetEpoch(e int) {
	t.ord.seek(e)
	t.share.running = false
}

// Keep makes every batch stay valid during at least n further calls of Next.
func (t *Table) Keep(n int) {
	for len(t.ring) < n+1 {
		t.ring = slices.Insert(t.ring, t.turn, (*Batch)(nil))
	}
}

// Epoch begins an epoch and returns its batches for a range loop.
func (t *Table) Epoch() iter.Seq2[*Batch, error] { return Epoch(context.Background(), t) }

// ProvideData describes the arrays of Batch.Data.
func (t *Table) ProvideData() []Desc { return t.provide(t.cols[:t.nData]) }

// ProvideLabel describes the arrays of Batch.Label.
func (t *Table) ProvideLabel() []Desc { return t.provide(t.cols[t.nData:]) }

func (t *Table) provide(cols []column) []Desc {
	d := make([]Desc, len(cols))
	for i := range cols {
		d[i] = cols[i].desc(t.ord.batch)
	}
	return d
}

// BatchSize returns the number of samples per batch.
func (t *Table) BatchSize() int { return t.ord.batch }

// Samples returns the number of samples in the data set.
func (t *Table) Samples() int { return t.ord.n }

// Batches returns the number of batches of the current epoch, or of this part of it. After Reshard
// it is the number of rounds that are left from there on: the batches of the part that has most.
func (t *Table) Batches() int {
	s := &t.share
	switch {
	case s.files:
		return t.ord.batches()
	case !s.exact:
		return t.ord.batches() / max(1, s.parts)
	}
	left := t.ord.batches()
	if s.running {
		left = s.end - s.from
	}
	return (left + s.parts - 1) / s.parts
}
