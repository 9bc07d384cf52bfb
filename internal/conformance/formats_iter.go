package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gomx/dtype"
	dataio "gomx/io"

	nd "gomx/ndarray"
)

// iteratorCase is an iterator and the batches of its epochs.
type iteratorCase struct {
	described
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
	Label      string // file, or the formula of NDArrayIter's array
	Data       string // formula of NDArrayIter's array
	Flat       bool
	Shuffle    bool
	Silent     bool   // prints nothing, which ours never do
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
	ValidRows *int `json:"valid_rows"` // number of rows that are defined
}

func (c *iteratorCase) run(env Env) error {
	if k := c.Kwargs; k.Shuffle || k.RandCrop || k.RandMirror {
		return errors.New("shuffle, rand_crop and rand_mirror are random: nothing to compare with")
	}
	if err := c.checkPads(); err != nil {
		return err
	}
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

// checkPads compares the case's list of all pads with the pads of its batches.
func (c *iteratorCase) checkPads() error {
	for e, batches := range c.Epochs {
		var pads []int
		for _, b := range batches {
			pads = append(pads, b.Pad)
		}
		if c.Pads != nil && (len(c.Pads) != len(c.Epochs) || !slices.Equal(pads, c.Pads[e])) {
			return fmt.Errorf("the case has the pads %v, its epoch %d %v", c.Pads, e, pads)
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
	text := dataio.TextConfig{Data: path(c.File), DataShape: c.Kwargs.DataShape,
		LabelShape: c.Kwargs.LabelShape,
		BatchSize:  c.Kwargs.BatchSize, LastBatch: last}
	switch c.Iterator {
	case "CSVIter":
		text.Label = path(c.Kwargs.LabelCSV)
		return dataio.CSVIter(dataio.CSVConfig{TextConfig: text})
	case "LibSVMIter":
		text.Label = path(c.Kwargs.LabelSVM)
		return dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: text})
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

// overArrays makes an NDArrayIter over arrays that the formulas of the case give.
func (c *iteratorCase) overArrays() (dataio.Iter, error) {
	last, err := dataio.ParseLastBatch(c.Kwargs.LastBatch)
	if err != nil {
		return nil, err
	}
	data, err := countUp(c.Kwargs.Data, c.Kwargs.N)
	if err != nil {
		return nil, err
	}
	cfg := dataio.NDArrayConfig{Data: []*nd.Array{data}, BatchSize: c.Kwargs.BatchSize,
		LastBatch: last}
	if c.Kwargs.Label != "" {
		label, err := countUp(c.Kwargs.Label, c.Kwargs.N)
		if err != nil {
			return nil, err
		}
		cfg.Label = []*nd.Array{label}
	}
	return dataio.NDArrayIter(cfg)
}

// countingUp is the formula of an array: "arange(n*3).reshape(n,3)" or "10*arange(n)".
var countingUp = regexp.MustCompile(`^(?:(\d+)\*)?arange\(n((?:\*\d+)*)\)(?:\.reshape\(n((?:,\d+)*)\))?$`)

// countUp computes the formula of an array for n rows.
func countUp(text string, n int) (*nd.Array, error) {
	m := countingUp.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if m == nil {
		return nil, fmt.Errorf("unknown array %q, want such as arange(n*3).reshape(n,3) or "+
			"10*arange(n)", text)
	}
	numbers := func(s, by string) (list []int) {
		for part := range strings.SplitSeq(strings.TrimPrefix(s, by), by) {
			if v, err := strconv.Atoi(part); err == nil {
				list = append(list, v)
			}
		}
		return list
	}
	factor, shape := 1, append(nd.Shape{n}, numbers(m[3], ",")...)
	if m[1] != "" {
		factor = numbers(m[1], "*")[0]
	}
	size := n
	for _, v := range numbers(m[2], "*") {
		size *= v
	}
	if size != shape.Size() {
		return nil, fmt.Errorf("array %q has %d elements and the shape %v", text, size, shape)
	}
	list := make([]float32, size)
	for i := range list {
		list[i] = float32(factor * i)
	}
	return nd.FromSlice(list, shape...), nil
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
		// Some of MXNet's iterators leave rows undefined without counting them as padding.
		pad = c.Kwargs.BatchSize - *want.ValidRows
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
		if err := c.array(g, fmt.Sprintf("label %d", i), b.Label[i], l,
			want.ValidRows); err != nil {
			return err
		}
	}
	return nil
}

// hasIndex reports whether MXNet's iterator fills in the index.
func (c *iteratorCase) hasIndex() bool {
	return c.Iterator == "CSVIter" || c.Iterator == "LibSVMIter"
}

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
