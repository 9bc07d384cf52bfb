package io

import (
	"fmt"
	"math/rand/v2"

	"gomx/io/image"
	nd "gomx/ndarray"
)

// ImageDetConfig configures ImageDetIter.
type ImageDetConfig struct {
	PictureConfig
	// Augmenter makes pictures of the size of samples; nil: it resizes, Cubic.
	Augmenter image.DetAugmenter
	// MaxObjects is the number of rows in a label; 0: the largest number of objects in a picture.
	MaxObjects int
}

// ImageDetIter opens pictures with objects in a RecordIO file or in a folder. A label in the data
// set is as image.ObjectsOf reads it. A label in a batch has a row for each object: class, left,
// top, right, bottom and further numbers; the rows that are left have -1. The augmentation of a
// picture depends only on the seed, the epoch and the place of the picture in the data set.
//
// MXNet: image.ImageDetIter.
func ImageDetIter(c ImageDetConfig) (*ImageRecords, error) {
	src, err := c.open("ImageDetIter")
	if err != nil {
		return nil, err
	}
	row, err := c.labelShape(src)
	if err == nil && c.Augmenter == nil {
		c.Augmenter, err = image.CreateDetAugmenter(image.DetAugmentConfig{
			AugmentConfig: image.AugmentConfig{Size: c.size(), Interp: image.Cubic}})
	}
	if err != nil {
		src.close()
		return nil, err
	}
	sample := func(dst []byte, label []float32, content []byte, given []float32,
		r *rand.Rand) error {
		o, _, err := image.ObjectsOf(given)
		if err != nil {
			return err
		}
		m, err := c.decode(content)
		if err != nil {
			return err
		}
		p, o, err := c.Augmenter.ApplyDet(m, o, r)
		if err != nil {
			return err
		}
		if o.Width != row[1] || o.Len() > row[0] {
			return fmt.Errorf("%d objects of %d numbers, want at most %d of %d", o.Len(), o.Width,
				row[0], row[1])
		}
		for i := copy(label, o.Values); i < len(label); i++ {
			label[i] = -1
		}
		return c.store(floatsOf(dst), p)
	}
	return c.iterate(src, orElse(c.LabelName, "label"), row, sample)
}

// labelShape returns the shape of labels: the largest number of objects, and the numbers of one.
func (c *ImageDetConfig) labelShape(src *pictureSource) (nd.Shape, error) {
	s := nd.Shape{0, 0}
	err := src.eachLabel(func(label []float32) error {
		o, _, err := image.ObjectsOf(label)
		if err != nil {
			return err
		}
		if s[1] != 0 && o.Width != s[1] {
			return fmt.Errorf("objects of %d numbers, want %d as in pictures before", o.Width, s[1])
		}
		s[0], s[1] = max(s[0], o.Len()), o.Width
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case s[0] == 0:
		return nil, fmt.Errorf("io: ImageDetIter: no picture has objects")
	case c.MaxObjects > 0 && c.MaxObjects < s[0]:
		return nil, fmt.Errorf("io: ImageDetIter: MaxObjects %d, want at least %d, the number of "+
			"objects in a picture", c.MaxObjects, s[0])
	}
	s[0] = max(s[0], c.MaxObjects)
	return s, nil
}
