package io

import (
	"fmt"
	"math/rand/v2"

	"gomx/io/image"
	nd "gomx/ndarray"
)

// ImageDetRecordConfig configures ImageDetRecordIter.
type ImageDetRecordConfig struct {
	Path  string // .rec file
	Index string // .idx file; empty: the order of the .rec file
	List  string // .lst file, whose labels replace the labels in the records; empty: none

	// Of Parts ranges of the bytes of the file, the records that begin in range Part are read. 0:
	// all records.
	Part, Parts int

	DataShape     nd.Shape // shape of one sample: channels (1, 3 or 4), height, width
	LabelWidth    int      // number of values that every label has; 0: any number
	LabelPadWidth int      // number of values to which labels are filled up; 0: the largest label
	LabelPadValue *float32 // value that fills labels up; nil: -1

	image.DetAugment

	// A value v becomes (v - mean)/Std·Scale.
	Mean      [4]float32 // mean of red, green, blue and transparency, or of luminance
	MeanImage *nd.Array  // mean of each value of a sample, used instead of Mean
	Std       [4]float32 // 0: 1
	Scale     float32    // 0: 1

	MaxPixels int // largest number of pixels of a picture; 0: image.MaxPixels
	BatchSize int // 0: 1
	Shuffle   bool
	Seed      uint64    // seed of the order, and of the augmentation of each picture
	LastBatch LastBatch // Auto: Round
	Threads   int       // number of decoding threads; 0: number of cores
	DataName  string    // empty: data
	LabelName string    // empty: label
}

// ImageDetRecordIter opens a RecordIO file of pictures with objects, whose labels are as
// image.ObjectsOf reads them. A label in a batch has channels, height and width of the picture in
// the sample, the number of values of the label, the label after augmentation, and values that fill
// it up. Where a picture is smaller than the sample, the rest is as of a black picture.
//
// MXNet: ImageDetRecordIter.
func ImageDetRecordIter(c ImageDetRecordConfig) (*ImageRecords, error) {
	if c.LastBatch == Auto {
		c.LastBatch = Round
	}
	shared := PictureConfig{Path: c.Path, Index: c.Index, List: c.List, DataShape: c.DataShape,
		MaxPixels: c.MaxPixels, BatchSize: c.BatchSize, Shuffle: c.Shuffle, Seed: c.Seed,
		LastBatch: c.LastBatch, Threads: c.Threads, DataName: c.DataName}
	if err := c.check(); err != nil {
		return nil, err
	}
	d := detPictures{c: &c, shared: &shared}
	if err := d.norm.set(&c); err != nil {
		return nil, err
	}
	src, err := shared.open("ImageDetRecordIter")
	if err != nil {
		return nil, err
	}
	if err = src.bytePart(c.Part, c.Parts); err == nil {
		d.width, err = c.labelWidth(src)
	}
	if err != nil {
		src.close()
		return nil, err
	}
	return shared.iterate(src, orElse(c.LabelName, "label"), nd.Shape{4 + d.width}, d.sample)
}

// check fills in defaults and returns an error for impossible values.
func (c *ImageDetRecordConfig) check() error {
	if c.LabelWidth < 0 || c.Path == "" {
		return fmt.Errorf("io: ImageDetRecordIter: file %q and LabelWidth %d, want a file and 0 or "+
			"more", c.Path, c.LabelWidth)
	}
	if c.LabelPadValue == nil {
		c.LabelPadValue = new(float32(-1))
	}
	return c.DetAugment.Validate()
}

// labelWidth returns the number of values to which labels are filled up.
func (c *ImageDetRecordConfig) labelWidth(src *pictureSource) (int, error) {
	most := 0
	err := src.eachLabel(func(label []float32) error {
		if c.LabelWidth > 0 && len(label) != c.LabelWidth {
			return fmt.Errorf("label of %d numbers, want %d", len(label), c.LabelWidth)
		}
		most = max(most, len(label))
		return nil
	})
	if err == nil && c.LabelPadWidth > 0 && c.LabelPadWidth < most {
		err = fmt.Errorf("io: ImageDetRecordIter: LabelPadWidth %d, want at least %d, the length of "+
			"a label", c.LabelPadWidth, most)
	}
	return max(most, c.LabelPadWidth), err
}

// bytePart keeps the records that begin in one of several ranges of the bytes of the file, as
// dmlc::InputSplit does.
func (s *pictureSource) bytePart(part, parts int) error {
	if parts <= 1 && part == 0 {
		return nil
	}
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	step := (size + int64(parts) - 1) / max(1, int64(parts))
	step = (step + 3) &^ 3
	var kept []int64
	for _, off := range s.offsets {
		if off >= step*int64(part) && off < step*int64(part+1) {
			kept = append(kept, off)
		}
	}
	if part < 0 || part >= parts || len(kept) == 0 {
		return fmt.Errorf("io: %s: part %d of %d has %d records, want a part below their number "+
			"with at least one", s.path, part, parts, len(kept))
	}
	s.offsets = kept
	return nil
}

// detPictures makes samples of pictures with objects.
type detPictures struct {
	c      *ImageDetRecordConfig
	shared *PictureConfig
	norm   detNormalize
	width  int // values to which labels are filled up
}

// sample decodes, changes and stores a picture and its objects.
func (d *detPictures) sample(dst []byte, label []float32, content []byte, given []float32,
	r *rand.Rand) error {
	o, head, err := image.ObjectsOf(given)
	if err != nil {
		return err
	}
	m, err := d.shared.decode(content)
	if err != nil {
		return err
	}
	whole := m
	m, o = d.c.DetAugment.Apply(m, o, d.c.DataShape[2], d.c.DataShape[1], r)
	label[0], label[1], label[2] = float32(m.Channels), float32(m.Height), float32(m.Width)
	label[3] = float32(len(head) + len(o.Values))
	n := 4 + copy(label[4:], head)
	n += copy(label[n:], o.Values)
	for i := n; i < len(label); i++ {
		label[i] = *d.c.LabelPadValue
	}
	d.norm.store(floatsOf(dst), m, d.c.DataShape)
	recycle(whole, m)
	return nil
}

// detNormalize converts pixel values to samples.
type detNormalize struct {
	tables image.Tables // samples of values, with the means of the channels
	mean   []float32    // mean of each value of a sample; nil: tables have the mean
	factor [4]float32   // of values, if mean is used
}

// set fills in the tables.
func (n *detNormalize) set(c *ImageDetRecordConfig) error {
	mean, err := meanPicture("ImageDetRecordIter", c.MeanImage, c.DataShape)
	if err != nil {
		return err
	}
	n.mean = mean
	scale := c.Scale
	if scale == 0 {
		scale = 1
	}
	for k := range n.tables {
		mean, std := c.Mean[k], c.Std[k]
		if n.mean != nil {
			mean = 0
		}
		if std == 0 {
			std = 1
		}
		n.factor[k] = scale / std
		for v := range n.tables[k] {
			n.tables[k][v] = (float32(v) - mean) / std * scale
		}
	}
	return nil
}

// store writes a picture to the upper left corner of a sample of shape s.
func (n *detNormalize) store(dst []float32, m *image.Image, s nd.Shape) {
	plane := s[1] * s[2]
	if m.Height < s[1] || m.Width < s[2] {
		for k := range s[0] {
			to := dst[k*plane : (k+1)*plane]
			for i := range to {
				to[i] = n.tables[k][0]
			}
		}
	}
	m.Translate(dst, plane, s[2], &n.tables)
	for k := range s[0] {
		to := dst[k*plane : (k+1)*plane]
		if n.mean != nil {
			for i := range to {
				to[i] -= n.mean[k*plane+i] * n.factor[k]
			}
		}
	}
}
