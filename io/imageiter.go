package io

import (
	"fmt"
	"math/rand/v2"

	"gomx/device"
	"gomx/dtype"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// PictureConfig is the part of a configuration that ImageIter and ImageDetIter share. The pictures
// are those of Path; without it, the files that List names; without both, the files of Images.
type PictureConfig struct {
	Path   string       // .rec file, as made by im2rec
	Index  string       // .idx file of the .rec file; empty: the .rec file is scanned for records
	List   string       // .lst file; with Path, its labels replace the labels in the records
	Images []ImageEntry // pictures in files, with their labels
	Root   string       // folder of the files

	// Of Parts ranges of the pictures, only range Part is read. All ranges have the same number of
	// pictures; the rest is left out. 0: all pictures.
	Part, Parts int

	DataShape nd.Shape // shape of one sample: channels (1, 3 or 4), height, width
	MaxPixels int      // largest number of pixels of a picture; 0: image.MaxPixels
	BatchSize int      // 0: 1
	Shuffle   bool
	Seed      uint64    // seed of the order, and of the augmentation of each picture
	LastBatch LastBatch // Auto: Pad. With RollOver, Batch.Pad counts samples of the new epoch
	Threads   int       // number of decoding threads; 0: number of cores
	DataName  string    // empty: data
	LabelName string    // empty: softmax_label, or label for objects
}

// ImageConfig configures ImageIter.
type ImageConfig struct {
	PictureConfig
	LabelWidth int // number of values in one label; 0: 1
	// Augmenter makes pictures of the size of samples; nil: it crops the center, Cubic.
	Augmenter image.Augmenter
}

// ImageIter opens pictures in a RecordIO file or in a folder. It is ImageRecordIter with augmenters
// of package image instead of fixed settings. The augmentation of a picture depends only on the
// seed, the epoch and the place of the picture in the data set.
//
// MXNet: image.ImageIter.
func ImageIter(c ImageConfig) (*ImageRecords, error) {
	c.LabelWidth = max(c.LabelWidth, 1)
	src, err := c.open("ImageIter")
	if err != nil {
		return nil, err
	}
	if c.Augmenter == nil {
		c.Augmenter = image.CreateAugmenter(image.AugmentConfig{Size: c.size(),
			Interp: image.Cubic})
	}
	sample := func(dst []byte, label []float32, content []byte, given []float32,
		r *rand.Rand) error {
		if err := copyLabel(label, given); err != nil {
			return err
		}
		m, err := c.decode(content)
		if err != nil {
			return err
		}
		p, err := c.Augmenter.Apply(m, r)
		if err != nil {
			return err
		}
		return c.store(floatsOf(dst), p)
	}
	return c.iterate(src, orElse(c.LabelName, "softmax_label"), labelRow(c.LabelWidth), sample)
}

// open checks the configuration, fills in defaults and opens the pictures.
func (c *PictureConfig) open(name string) (*pictureSource, error) {
	if s := c.DataShape; len(s) != 3 || s.Size() < 1 || s[0] != 1 && s[0] != 3 && s[0] != 4 {
		return nil, fmt.Errorf("io: %s: data shape %v, want (1, 3 or 4 channels, height, width)",
			name, s)
	}
	if c.MaxPixels < 0 {
		return nil, fmt.Errorf("io: %s: MaxPixels %d, want 0 or more", name, c.MaxPixels)
	}
	if c.LastBatch == Auto {
		c.LastBatch = Pad
	}
	if c.MaxPixels == 0 {
		c.MaxPixels = image.MaxPixels
	}
	if c.Threads < 1 {
		c.Threads = device.Cores()
	}
	c.BatchSize = max(c.BatchSize, 1)
	src, err := c.source()
	if err != nil {
		return nil, err
	}
	if src.len() == 0 {
		return nil, fmt.Errorf("io: %s: found no pictures", name)
	}
	if err := src.part(c.Part, c.Parts); err != nil {
		src.close()
		return nil, err
	}
	return src, nil
}

// source opens the pictures.
func (c *PictureConfig) source() (*pictureSource, error) {
	if c.Path != "" {
		return openRecords(c.Path, c.Index, c.List)
	}
	if c.List == "" {
		return &pictureSource{path: c.Root, entries: c.Images}, nil
	}
	list, err := ReadImageList(c.List)
	return &pictureSource{path: c.Root, entries: list}, err
}

// size returns the size of samples.
func (c *PictureConfig) size() image.Size {
	return image.Size{Width: c.DataShape[2], Height: c.DataShape[1]}
}

func (c *PictureConfig) decode(content []byte) (*image.Image, error) {
	return image.DecodeUpTo(content, image.Mode(c.DataShape[0]), c.MaxPixels)
}

// store writes a picture in the layout (channel, row, column).
func (c *PictureConfig) store(dst []float32, m image.Picture) error {
	h, w, channels := m.Bounds()
	if got := (nd.Shape{channels, h, w}); !got.Equal(c.DataShape) {
		return fmt.Errorf("the augmenter makes a picture of shape %v, want %v", got, c.DataShape)
	}
	plane := h * w
	if bytes, ok := m.(*image.Image); ok {
		bytes.Planes(func(k, i int, v uint8) { dst[k*plane+i] = float32(v) })
		return nil
	}
	pix := m.Float().Pix
	for k := range channels {
		to := dst[k*plane : (k+1)*plane]
		for i, at := 0, k; i < plane; i, at = i+1, at+channels {
			to[i] = pix[at]
		}
	}
	return nil
}

// iterate returns an iterator over the pictures of a source.
func (c *PictureConfig) iterate(src *pictureSource, label string, row nd.Shape,
	sample func(dst []byte, label []float32, content []byte, given []float32,
		r *rand.Rand) error) (*ImageRecords, error) {
	cols := &pictureColumns{src: src, threads: c.Threads, sample: sample}
	t, err := cols.table(Desc{Name: orElse(c.DataName, "data"), Shape: c.DataShape,
		DType: dtype.Float32},
		Desc{Name: label, Shape: row, DType: dtype.Float32},
		tableOptions{c.BatchSize, c.LastBatch, c.Shuffle, c.Seed})
	if err != nil {
		return nil, err
	}
	t.ord.padNew = true
	return &ImageRecords{t, src}, nil
}
