package image

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Fit is the way in which a picture gets a size.
type Fit uint8

// The ways.
const (
	Force     Fit = iota // resize without regard to the ratio of sides
	Shrink               // keep the ratio; do not enlarge
	FitInside            // keep the ratio
)

// DetAugment changes pictures with objects at random, like the default augmenter of MXNet's
// ImageDetRecordIter and in its order. The zero value resizes only. Source: MXNet,
// src/io/image_det_aug_default.cc.
type DetAugment struct {
	Resize int    // first resize: length of the shorter side, in pixels; 0: none
	Interp Interp // method of all resizing
	Fit    Fit    // last resize, to the size of samples

	Hue, Saturation, Lightness DetShift // of 180, 255 and 255
	Contrast                   DetShift // difference of a factor from 1

	MirrorP     float64 // probability that left and right are exchanged
	PadP        float64 // probability of a border
	MaxPadScale float64 // largest factor of width and height with the border
	Fill        *uint8  // value of the border; nil: 127

	CropP float64   // probability of a crop
	Crops []DetCrop // limits of crops, tried in random order; nil: one without limits
	// Objects stay if a crop holds their center, or with ByOverlap more than EmitOverlap of their
	// area.
	ByOverlap   bool
	EmitOverlap float64 // 0: 0.3
}

// DetShift is a random change: at most Most either way, with probability P.
type DetShift struct{ Most, P float64 }

// DetCrop has the limits of a crop. The pairs are the least and the largest value; zero: 0 to 1,
// and for Aspect 1 to 1.
type DetCrop struct {
	Scale          [2]float64 // root of the part of the area
	Aspect         [2]float64 // ratio of width to height
	Overlap        [2]float64 // intersection with an object over the union
	SampleCoverage [2]float64 // part of the crop that an object covers
	ObjectCoverage [2]float64 // part of an object that the crop holds
	Trials         int        // 0: 25
}

// Validate returns an error for impossible settings.
func (a DetAugment) Validate() error {
	for i, c := range a.Crops {
		c = c.complete()
		if !(c.Scale[0] >= 0 && c.Scale[0] < c.Scale[1] && c.Scale[1] <= 1 && c.Aspect[0] > 0 &&
			c.Aspect[0] <= c.Aspect[1] && c.Trials > 0) {
			return fmt.Errorf("image: crop %d with scale from %v to %v, aspect from %v to %v and %d "+
				"trials, want ascending, a scale of at most 1 and positive numbers", i, c.Scale[0],
				c.Scale[1], c.Aspect[0], c.Aspect[1], c.Trials)
		}
	}
	if a.Resize < 0 || int(a.Interp) >= len(interpNames) || a.Fit > FitInside || a.EmitOverlap < 0 {
		return fmt.Errorf("image: augmentation of objects: resize %d, %v, fit %d, overlap %v: want "+
			"known methods and 0 or more", a.Resize, a.Interp, a.Fit, a.EmitOverlap)
	}
	return nil
}

// complete returns the limits with defaults in place of zeros.
func (c DetCrop) complete() DetCrop {
	if c.Trials == 0 {
		c.Trials = 25
	}
	return DetCrop{orElse(c.Scale, 0, 1), orElse(c.Aspect, 1, 1), orElse(c.Overlap, 0, 1),
		orElse(c.SampleCoverage, 0, 1), orElse(c.ObjectCoverage, 0, 1), c.Trials}
}

// Apply changes picture m and its objects, which it may overwrite, for samples of width×height
// pixels. With Shrink and FitInside the result may be smaller. The settings must be valid.
func (a *DetAugment) Apply(m *Image, o Objects, width, height int, r *rand.Rand) (*Image,
	Objects) {
	if a.Resize > 0 {
		m = a.resize(m, sizeOf(m).short(a.Resize), r)
	}
	a.color(m, r)
	if a.MirrorP > 0 && r.Float64() < a.MirrorP {
		m.Mirror()
		o.mirror()
	}
	if a.PadP > 0 && a.MaxPadScale > 1 && r.Float64() < a.PadP {
		m, o = a.pad(m, o, r)
	}
	if a.CropP > 0 && r.Float64() < a.CropP {
		m, o = a.crop(m, o, r)
	}
	return a.resize(m, a.size(m, width, height), r), o
}

// size returns the size that the last resize gives a picture.
func (a *DetAugment) size(m *Image, width, height int) Size {
	switch {
	case a.Fit == Force:
		return Size{width, height}
	case a.Fit == Shrink && m.Width <= width && m.Height <= height:
		return sizeOf(m)
	}
	ratio := min(float32(height)/float32(m.Height), float32(width)/float32(m.Width))
	return Size{max(1, int(ratio*float32(m.Width))), max(1, int(ratio*float32(m.Height)))}
}

// resize returns the picture at a size; it is m itself if m has the size.
func (a *DetAugment) resize(m *Image, to Size, r *rand.Rand) *Image {
	by := a.Interp.choose(m.Width, m.Height, to.Width, to.Height, r)
	if to == sizeOf(m) {
		return m
	}
	return m.Resize(to.Width, to.Height, by)
}

// color changes hue, saturation, lightness and contrast, in place.
func (a *DetAugment) color(m *Image, r *rand.Rand) {
	if a.Hue.P <= 0 && a.Saturation.P <= 0 && a.Lightness.P <= 0 && a.Contrast.P <= 0 {
		return
	}
	draw := func(s DetShift) float64 {
		v := between(-s.Most, s.Most, r)
		if r.Float64() >= s.P {
			return 0
		}
		return v
	}
	h, s, l, c := int(draw(a.Hue)), int(draw(a.Saturation)), int(draw(a.Lightness)),
		draw(a.Contrast)
	if m.Channels >= 3 && (h != 0 || s != 0 || l != 0) {
		m.shiftHLS(h, l, s)
	}
	if c > 1e-3 || c < -1e-3 {
		for i, v := range m.Pix {
			m.Pix[i] = round8(float64(v) * (1 + c))
		}
	}
}

// pad adds a border of random size.
func (a *DetAugment) pad(m *Image, o Objects, r *rand.Rand) (*Image, Objects) {
	scale := between(1, a.MaxPadScale, r)
	if scale < 1.05 {
		return m, o
	}
	x, y := between(0, scale-1, r), between(0, scale-1, r)
	outer := box{-x, -y, scale - x, scale - y}
	for i := range o.Len() {
		outer.within(o.Row(i))
	}
	fill := 127.0
	if a.Fill != nil {
		fill = float64(*a.Fill)
	}
	w, h := float64(m.Width), float64(m.Height)
	out, err := AddBorder(m, Border{Top: int(y * h), Bottom: int((scale - y - 1) * h),
		Left: int(x * w), Right: int((scale - x - 1) * w),
		Values: []float64{fill, fill, fill, fill}})
	if err != nil {
		return m, o // no border has negative width
	}
	return out.(*Image), o
}

// crop cuts out a random part within the limits of one of the crops, if it finds one.
func (a *DetAugment) crop(m *Image, o Objects, r *rand.Rand) (*Image, Objects) {
	crops := a.Crops
	if crops == nil {
		crops = make([]DetCrop, 1)
	}
	for _, i := range r.Perm(len(crops)) {
		c := crops[i].complete()
		for range c.Trials {
			part := c.draw(float64(m.Width)/float64(m.Height), r)
			kept, ok := a.keep(part, &c, o)
			if !ok {
				continue
			}
			w, h := float64(m.Width), float64(m.Height)
			at := Rect{int(part.left * w), int(part.top * h),
				max(1, int((part.right-part.left)*w)), max(1, int((part.bottom-part.top)*h))}
			at.X, at.Y = min(at.X, m.Width-at.Width), min(at.Y, m.Height-at.Height)
			return m.Crop(at.X, at.Y, at.Width, at.Height), kept
		}
	}
	return m, o
}

// draw draws a part of a picture with a ratio of width to height.
func (c *DetCrop) draw(ratio float64, r *rand.Rand) box {
	scale := between(c.Scale[0], c.Scale[1], r) + 1e-12
	low, high := max(c.Aspect[0]/ratio, scale*scale), min(c.Aspect[1]/ratio, 1/(scale*scale))
	aspect := math.Sqrt(between(low, high, r))
	w, h := min(1, scale*aspect), min(1, scale/aspect)
	x, y := between(0, 1-w, r), between(0, 1-h, r)
	return box{x, y, x + w, y + h}
}

// keep returns the objects that stay in a part; ok is false if the part is beyond the limits or
// holds no object.
func (a *DetAugment) keep(part box, c *DetCrop, o Objects) (kept Objects, ok bool) {
	if o.Len() == 0 {
		return o, true
	}
	fits := false
	for i := range o.Len() {
		b := boxOf(o.Row(i))
		both := part.common(b).area()
		fits = fits || within(c.Overlap, both/(part.area()+b.area()-both)) &&
			within(c.SampleCoverage, both/part.area()) && within(c.ObjectCoverage, both/b.area())
	}
	if !fits {
		return o, false
	}
	least := a.EmitOverlap
	if least == 0 {
		least = 0.3
	}
	kept.Width = o.Width
	for i := range o.Len() {
		b := boxOf(o.Row(i))
		x, y := (b.left+b.right)/2, (b.top+b.bottom)/2
		stays := x >= part.left && x < part.right && y >= part.top && y < part.bottom
		if a.ByOverlap {
			stays = part.common(b).area() > least*b.area()
		}
		if stays {
			kept.Values = append(kept.Values, slices.Clone(o.Row(i))...)
			part.within(kept.Row(kept.Len() - 1))
		}
	}
	return kept, kept.Len() > 0
}

// within reports whether a number is within limits; 0 to 1 is no limit.
func within(limits [2]float64, v float64) bool {
	return limits == [2]float64{0, 1} || v >= limits[0] && v <= limits[1]
}
