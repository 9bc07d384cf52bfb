package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gomx/dtype"
	dataio "gomx/io"

	nd "gomx/ndarray"
)

// iteratorCase is an iterator and the batches of its epochs.
type iteratorCase struct {
	File, Iterator string
	Kwargs         iteratorArgs
	Epochs         [][]goldenBatch
	Pads           [][]int
	Tolerance      float64
}

// iteratorArgs are the keyword arguments of all iterators.
type iteratorArgs struct {
	DataShape  []int  `json:"data_shape"`
	LabelShape []int  `json:"label_shape"`
	BatchSize  int    `json:"batch_size"`
	RoundBatch *bool  `json:"round_batch"`
	LabelCSV   string `json:"label_csv"`
	LabelSVM   string `json:"label_libsvm"`
	Label      string // file, or how NDArrayIter's is made
	Flat       bool
	LastBatch  string `json:"last_batch_handle"`
	N          int
	imageArgs
}

// goldenBatch is one batch.
type goldenBatch struct {
	Data      Ref
	Label     []Ref
	Pad       int
	Index     []int
	ValidRows *int `json:"valid_rows"` // only so many rows are defined
}

func (c *iteratorCase) run(env Env) error {
	it, err := c.open(env)
	if err != nil {
		return err
	}
	for e, want := range c.Epochs {
		if err := c.epoch(env.Golden, it, want); err != nil {
			return fmt.Errorf("epoch %d: %w", e, err)
		}
		if err := it.Reset(); err != nil {
			return err
		}
	}
	return nil
}

// open makes the iterator.
func (c *iteratorCase) open(env Env) (dataio.Iter, error) {
	path := func(name string) string {
		if name == "" {
			return ""
		}
		return env.Golden.Path("formats/" + name)
	}
	last := dataio.Auto
	if c.Kwargs.RoundBatch != nil {
		last = dataio.Round
		if !*c.Kwargs.RoundBatch {
			last = dataio.Pad
		}
	}
	text := dataio.TextConfig{Data: path(c.File), DataShape: c.Kwargs.DataShape, LabelShape: c.Kwargs.LabelShape,
		BatchSize: c.Kwargs.BatchSize, LastBatch: last}
	switch c.Iterator {
	case "CSVIter":
		text.Label = path(c.Kwargs.LabelCSV)
		return dataio.CSVIter(text)
	case "LibSVMIter":
		text.Label = path(c.Kwargs.LabelSVM)
		return dataio.LibSVMIter(text)
	case "MNISTIter":
		return dataio.MNISTIter(dataio.MNISTConfig{Image: path(c.File), Label: path(c.Kwargs.Label),
			Flat: c.Kwargs.Flat, BatchSize: c.Kwargs.BatchSize})
	case "NDArrayIter":
		return c.overArrays()
	case "ImageRecordIter":
		return c.overImages(path, last)
	}
	return nil, missing("iterator %s", c.Iterator)
}

// overArrays makes an NDArrayIter over arange(n*3).reshape(n,3) and 10*arange(n).
func (c *iteratorCase) overArrays() (dataio.Iter, error) {
	last, err := dataio.ParseLastBatch(c.Kwargs.LastBatch)
	if err != nil {
		return nil, err
	}
	n := c.Kwargs.N
	data, label := make([]float32, 3*n), make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	for i := range label {
		label[i] = float32(10 * i)
	}
	return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(data, n, 3)},
		Label: []*nd.Array{nd.FromSlice(label)}, BatchSize: c.Kwargs.BatchSize, LastBatch: last})
}

// epoch compares the batches of one epoch.
func (c *iteratorCase) epoch(g *Golden, it dataio.Iter, want []goldenBatch) error {
	for i := 0; ; i++ {
		b, err := it.Next(context.Background())
		if errors.Is(err, io.EOF) && i == len(want) {
			return nil
		}
		if errors.Is(err, io.EOF) || err == nil && i >= len(want) {
			return fmt.Errorf("ends with batch %d: %t, want %d batches", i, err != nil, len(want))
		}
		if err != nil {
			return err
		}
		if err := c.batch(g, b, &want[i]); err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
	}
}

// batch compares one batch.
func (c *iteratorCase) batch(g *Golden, b *dataio.Batch, want *goldenBatch) error {
	pad := want.Pad
	if want.ValidRows != nil {
		pad = c.Kwargs.BatchSize - *want.ValidRows // some of MXNet's iterators leave rows undefined and do not say so
	}
	if b.Pad != pad {
		return fmt.Errorf("pad %d, want %d", b.Pad, pad)
	}
	if c.hasIndex() && want.ValidRows == nil && !slices.Equal(b.Index, want.Index) {
		return fmt.Errorf("index %v, want %v", b.Index, want.Index)
	}
	if len(b.Label) != len(want.Label) {
		return fmt.Errorf("%d labels, want %d", len(b.Label), len(want.Label))
	}
	if err := c.array(g, "data", b.Data[0], want.Data, want.ValidRows); err != nil {
		return err
	}
	for i, l := range want.Label {
		if err := c.array(g, fmt.Sprintf("label %d", i), b.Label[i], l, want.ValidRows); err != nil {
			return err
		}
	}
	return nil
}

// hasIndex reports whether MXNet's iterator fills in the index.
func (c *iteratorCase) hasIndex() bool { return c.Iterator == "CSVIter" || c.Iterator == "LibSVMIter" }

func (c *iteratorCase) array(g *Golden, what string, x *nd.Array, r Ref, rows *int) error {
	want, err := g.Array(formatsArchive, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return err
	}
	if want.DType != dtype.Float32 {
		return fmt.Errorf("%s: golden dtype %v, want float32", what, want.DType)
	}
	if rows != nil && got.Shape.Equal(want.Shape) {
		got, want = got.Rows(*rows), want.Rows(*rows)
	}
	return compare(what, got, want, Tolerance{Abs: c.Tolerance})
}
