package io

import (
	"fmt"
	"math"
	"math/rand/v2"

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
	src *pictureSource
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
	mean, err := meanPicture("ImageRecordIter", c.MeanImage, c.DataShape)
	if err != nil {
		return nil, err
	}
	p := &pictures{&c, mean}
	src, err := openRecords(c.Path, c.Index, c.List)
	if err != nil {
		return nil, err
	}
	cols := &pictureColumns{src: src, threads: c.Threads, sample: p.sample}
	t, err := cols.table(Desc{Name: orElse(c.DataName, "data"), Shape: c.DataShape,
		DType: c.DType}, Desc{Name: orElse(c.LabelName, "softmax_label"),
		Shape: labelRow(c.LabelWidth), DType: dtype.Float32},
		tableOptions{c.BatchSize, c.LastBatch, c.Shuffle, c.Seed})
	if err != nil {
		return nil, err
	}
	return &ImageRecords{t, src}, nil
}

// Close closes the file.
func (r *ImageRecords) Close() error { return r.src.close() }

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

// pictures makes samples of pictures.
type pictures struct {
	c    *ImageRecordConfig
	mean []float32
}

// meanPicture returns the values of a mean picture of the shape of samples; nil for none.
func meanPicture(name string, m *nd.Array, shape nd.Shape) ([]float32, error) {
	if m == nil {
		return nil, nil
	}
	if !m.Shape().Equal(shape) || m.DType() != dtype.Float32 {
		return nil, fmt.Errorf("io: %s: mean picture of %v %v, want float32 %v", name, m.DType(),
			m.Shape(), shape)
	}
	return m.Float32s()
}

// sample decodes, changes and stores a picture.
func (p *pictures) sample(dst []byte, label []float32, content []byte, given []float32,
	r *rand.Rand) error {
	if err := copyLabel(label, given); err != nil {
		return err
	}
	m, err := image.DecodeUpTo(content, image.Mode(p.c.DataShape[0]), p.c.MaxPixels)
	if err != nil {
		return err
	}
	whole := m
	if m, err = p.c.Augment.Apply(m, p.c.DataShape[2], p.c.DataShape[1], r); err != nil {
		return err
	}
	p.store(dst, m, r)
	recycle(whole, m)
	return nil
}

// recycle gives the memory of a decoded picture, and of what has become of it, to later pictures.
func recycle(whole, changed *image.Image) {
	if &changed.Pix[0] != &whole.Pix[0] {
		changed.Recycle()
	}
	whole.Recycle()
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
		draw := func(most float32) float32 { return (2*r.Float32() - 1) * most * c.Scale }
		contrast, light := c.Scale+draw(c.MaxRandomContrast), draw(c.MaxRandomIllumination)
		p.storeFloats(floatsOf(dst), m, contrast, light)
	}
}

// storeFloats is store for samples of float32.
func (p *pictures) storeFloats(out []float32, m *image.Image, contrast, light float32) {
	c, plane := p.c, m.Height*m.Width
	if p.mean != nil {
		m.Planes(func(k, i int, v uint8) {
			out[k*plane+i] = (float32(v)-p.mean[k*plane+i])*(contrast/c.Std[k]) + light/c.Std[k]
		})
		return
	}
	var t image.Tables
	for k := range m.Channels {
		for v := range t[k] {
			t[k][v] = (float32(v)-c.Mean[k])*(contrast/c.Std[k]) + light/c.Std[k]
		}
	}
	m.Translate(out, plane, m.Width, &t)
}

// meanAt returns the mean of value i of a channel.
func (p *pictures) meanAt(channel, i int) float32 {
	if p.mean != nil {
		return p.mean[i]
	}
	return p.c.Mean[channel]
}
