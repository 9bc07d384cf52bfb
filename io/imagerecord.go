package io

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// ImageRecordConfig configures ImageRecordIter.
type ImageRecordConfig struct {
	Path string // .rec file, as made by im2rec
	// .idx file of the .rec file; empty: the .rec file is scanned for records when it is opened
	Index string
	List  string // .lst file, whose labels replace the labels in the records; empty: none

	DataShape  nd.Shape // shape of one sample: channels (1, 3 or 4), height, width
	LabelWidth int      // number of values in one label; 0: 1
	// element type of the samples: Float32, Uint8 (unchanged), Int8 (mean subtracted, rounded)
	DType dtype.Type

	// MaxPixels is the largest number of pixels that a picture in the file may have; 0:
	// image.MaxPixels.
	MaxPixels int

	image.Augment
	Normalize

	BatchSize int // 0: 1
	Shuffle   bool
	Seed      uint64    // seed of the order, and of the augmentation of each picture
	LastBatch LastBatch // Auto: Round
	Threads   int       // number of decoding threads; 0: number of cores
	DataName  string    // empty: data
	LabelName string    // empty: softmax_label
}

// Normalize converts pixel values v to samples:
// (v - mean)·scale·contrast/std + illumination·scale/std.
type Normalize struct {
	Mean                  [4]float32 // mean of red, green, blue and transparency, or of luminance
	MeanImage             *nd.Array  // mean of each value of a sample, used instead of Mean
	Std                   [4]float32 // 0: 1
	Scale                 float32    // 0: 1
	MaxRandomContrast     float32    // contrast is drawn from [1 - this, 1 + this]
	MaxRandomIllumination float32    // illumination is drawn from [-this, this]
	Mirror                bool       // exchange left and right
	RandMirror            bool       // exchange left and right of half of the pictures
}

// ImageRecords iterates over the pictures in a RecordIO file. Next reads, decodes and augments the
// pictures of a batch on several threads; with Prefetch, this happens while a network computes. An
// iterator is used by one goroutine at a time, and must be closed.
type ImageRecords struct {
	*Table
	src *pictures
}

// ImageRecordIter opens a RecordIO file of pictures. The augmentation of a picture depends only on
// the seed, the epoch and its place in the file.
//
// Where MXNet leaves the end of the last batch undefined (round_batch false), LastBatch Pad fills
// it and Batch.Pad counts the padding.
func ImageRecordIter(c ImageRecordConfig) (*ImageRecords, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &pictures{c: &c, labels: map[uint64][]float32{}}
	if err := p.normalize(); err != nil {
		return nil, err
	}
	if c.List != "" {
		list, err := ReadImageList(c.List)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			p.labels[e.ID] = e.Label
		}
	}
	if err := p.open(); err != nil {
		return nil, err
	}
	row := nd.Shape{c.LabelWidth}
	if c.LabelWidth == 1 {
		row = nd.Shape{}
	}
	data := column{name: orElse(c.DataName, "data"), row: c.DataShape, typ: c.DType,
		n: len(p.offsets), read: p.read}
	label := column{name: orElse(c.LabelName, "softmax_label"), row: row, typ: dtype.Float32,
		n: len(p.offsets), fill: p.fillLabels}
	t, err := newTable([]column{data}, []column{label}, tableOptions{c.BatchSize, c.LastBatch,
		c.Shuffle, c.Seed})
	if err != nil {
		return nil, errors.Join(err, p.f.Close())
	}
	p.ord = t.ord
	return &ImageRecords{t, p}, nil
}

// Close closes the file.
func (r *ImageRecords) Close() error { return r.src.f.Close() }

// check fills in defaults and returns an error for impossible values.
func (c *ImageRecordConfig) check() error {
	s := c.DataShape
	switch {
	case len(s) != 3 || s.Size() < 1 || s[0] != 1 && s[0] != 3 && s[0] != 4:
		return fmt.Errorf("io: ImageRecordIter: data shape %v, want (1, 3 or 4 channels, "+
			"height, width)", s)
	case c.MaxPixels < 0:
		return fmt.Errorf("io: ImageRecordIter: MaxPixels %d, want 0 or more", c.MaxPixels)
	case c.LabelWidth < 0:
		return fmt.Errorf("io: ImageRecordIter: LabelWidth %d, want 0 or more", c.LabelWidth)
	case c.DType != dtype.Float32 && c.DType != dtype.Uint8 && c.DType != dtype.Int8:
		return fmt.Errorf("io: ImageRecordIter: samples of %v, want float32, uint8 or int8",
			c.DType)
	}
	if c.LastBatch == Auto {
		c.LastBatch = Round
	}
	if c.MaxPixels == 0 {
		c.MaxPixels = image.MaxPixels
	}
	if c.Threads < 1 {
		c.Threads = device.Cores()
	}
	if c.Scale == 0 {
		c.Scale = 1
	}
	for i, v := range c.Std {
		if v == 0 {
			c.Std[i] = 1
		}
	}
	c.BatchSize, c.LabelWidth = max(c.BatchSize, 1), max(c.LabelWidth, 1)
	return c.Augment.Validate()
}

// pictures reads samples from a file.
type pictures struct {
	c       *ImageRecordConfig
	f       *os.File
	offsets []int64 // offset of each record
	mean    []float32
	labels  map[uint64][]float32 // labels of the .lst file, by the number of the picture
	ord     *order
	drawn   []float32 // labels of the rows that were read last
}

// open opens the file and finds its records.
func (p *pictures) open() error {
	f, err := os.Open(p.c.Path)
	if err != nil {
		return fmt.Errorf("io: %w", err)
	}
	p.f = f
	if p.c.Index == "" {
		p.offsets, err = scanRecords(f)
	} else {
		err = p.readIndex()
	}
	if err == nil && len(p.offsets) == 0 {
		err = fmt.Errorf("found no records")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("io: %s: %w", p.c.Path, err), f.Close())
	}
	return nil
}

func (p *pictures) readIndex() error {
	x, err := openRecordIndex(p.c.Index)
	if err != nil {
		return err
	}
	for _, k := range x.Keys {
		p.offsets = append(p.offsets, x.Offset[k])
	}
	return nil
}

// normalize checks and stores the mean picture.
func (p *pictures) normalize() error {
	m := p.c.MeanImage
	if m == nil {
		return nil
	}
	if !m.Shape().Equal(p.c.DataShape) || m.DType() != dtype.Float32 {
		return fmt.Errorf("io: ImageRecordIter: mean picture of %v %v, want float32 %v", m.DType(),
			m.Shape(), p.c.DataShape)
	}
	var err error
	p.mean, err = m.Float32s()
	return err
}

// read reads the samples of rows, each on one of the threads.
func (p *pictures) read(dst []byte, rows []int) error {
	n := len(dst) / len(rows)
	p.drawn = append(p.drawn[:0], make([]float32, len(rows)*p.c.LabelWidth)...)
	var next atomic.Int64
	errs := make([]error, min(p.c.Threads, len(rows)))
	var wg sync.WaitGroup
	for t := range errs {
		wg.Go(func() {
			w := pictureReader{p: p}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(rows) {
					return
				}
				if err := w.read(dst[i*n:(i+1)*n], p.drawn[i*p.c.LabelWidth:][:p.c.LabelWidth],
					rows[i]); err != nil {
					errs[t] = fmt.Errorf("%s: record %d: %w", p.c.Path, rows[i], err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// fillLabels returns the labels of the rows that have just been read.
func (p *pictures) fillLabels(dst []byte, _ []int) {
	copy(floatsOf(dst), p.drawn)
}

// pictureReader is the state of one thread that reads samples.
type pictureReader struct {
	p    *pictures
	file RecordReader
	rng  rand.PCG
}

// read reads one sample and its label.
func (w *pictureReader) read(dst []byte, label []float32, row int) error {
	p := w.p
	off := p.offsets[row]
	w.file.r = io.NewSectionReader(p.f, off, math.MaxInt64-off)
	payload, err := w.file.Next()
	if err != nil {
		return truncated(err)
	}
	h, content, err := UnpackRecord(payload)
	if err != nil {
		return err
	}
	from := h.Label
	if p.c.List != "" {
		if from = p.labels[h.ID]; from == nil {
			return fmt.Errorf("picture %d is not in %s", h.ID, p.c.List)
		}
	}
	if copy(label, from) != len(from) || len(from) != len(label) {
		return fmt.Errorf("label of %d numbers, want %d", len(from), len(label))
	}
	m, err := image.DecodeUpTo(content, image.Mode(p.c.DataShape[0]), p.c.MaxPixels)
	if err != nil {
		return err
	}
	w.rng.Seed(p.c.Seed^0x9e3779b97f4a7c15, uint64(p.ord.epoch)<<40|uint64(row))
	r := rand.New(&w.rng)
	if m, err = p.c.Augment.Apply(m, p.c.DataShape[2], p.c.DataShape[1], r); err != nil {
		return err
	}
	p.store(dst, m, r)
	return nil
}

// store normalizes a picture and writes it in the layout (channel, row, column).
func (p *pictures) store(dst []byte, m *image.Image, r *rand.Rand) {
	c := p.c
	if c.RandMirror && r.IntN(2) == 1 || c.Mirror {
		m.Mirror()
	}
	plane := m.Height * m.Width
	switch c.DType {
	case dtype.Uint8:
		m.Planes(func(k, i int, v uint8) { dst[k*plane+i] = v })
	case dtype.Int8:
		m.Planes(func(k, i int, v uint8) {
			dst[k*plane+i] = byte(int8(min(
				max(int(v)-int(math.Round(float64(p.meanAt(k, k*plane+i)))), -128), 127)))
		})
	default:
		out := floatsOf(dst)
		draw := func(most float32) float32 { return (2*r.Float32() - 1) * most * c.Scale }
		contrast, light := c.Scale+draw(c.MaxRandomContrast), draw(c.MaxRandomIllumination)
		m.Planes(func(k, i int, v uint8) {
			out[k*plane+i] = (float32(v)-p.meanAt(k, k*plane+i))*(contrast/c.Std[k]) +
				light/c.Std[k]
		})
	}
}

// meanAt returns the mean of value i of a channel.
func (p *pictures) meanAt(channel, i int) float32 {
	if p.mean != nil {
		return p.mean[i]
	}
	return p.c.Mean[channel]
}
