package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Augment changes pictures at random before training, like MXNet's default augmenter and in its
// order. The zero value crops the center. Source: MXNet's ImageRecordIter,
// src/io/image_aug_default.cc.
type Augment struct {
	Resize int    // first resize: length of the shorter side, in pixels; 0: none
	Interp Interp // method of all resizing

	// The picture is transformed if one of these is set.
	// Rotate is an angle in degrees, counterclockwise; 0: random, up to MaxRotateAngle either way.
	Rotate         int
	MaxRotateAngle int     // degrees
	MaxShear       float64 // (x, y) → (x+my, y) with random m up to this either way
	MinScale       float64 // smallest random factor of width and height
	MaxScale       float64 // largest random factor of width and height; 0: 1
	// MaxAspect is the largest random factor of the ratio of width to height. Without MinAspect,
	// the factor is random between 1-MaxAspect and 1+MaxAspect.
	MaxAspect float64
	MinAspect float64 // smallest random factor; 0: see MaxAspect
	MinSize   float64 // smallest width and height in pixels
	MaxSize   float64 // largest width and height in pixels; 0: no limit

	Pad  int    // width in pixels of a border that is added next
	Fill *uint8 // value of pixels that the picture does not cover; nil: 255

	// At most one of these crops is used. Without them the center is cropped; a picture that is too
	// small is enlarged first.
	RandCrop    bool // crop at a random place instead of the center
	MinCropSize int  // smallest side in pixels of a square that is cropped
	MaxCropSize int  // largest side, after which the square is resized; 0: none
	// RandomResizedCrop crops a random part of the area, from MinArea to MaxArea (0: 1), with a
	// ratio of width to height between MinAspect and MaxAspect, and resizes it. This is usual for
	// ImageNet.
	RandomResizedCrop bool
	MinArea, MaxArea  float64

	// Each is the largest random change of a factor from 1; the factors are applied in random
	// order.
	Brightness, Contrast, Saturation float64
	// Largest random changes of hue (of 180), saturation and lightness (of 255).
	RandomH, RandomS, RandomL int
	// PCANoise is the standard deviation of noise along the principal components of ImageNet's
	// colors.
	PCANoise float64
}

// fill returns a copy with defaults in place of zeros.
func (a Augment) fill() Augment {
	one := func(v *float64) {
		if *v == 0 {
			*v = 1
		}
	}
	one(&a.MinScale)
	one(&a.MaxScale)
	one(&a.MinArea)
	one(&a.MaxArea)
	if a.MinAspect == 0 {
		a.MinAspect, a.MaxAspect = 1-a.MaxAspect, 1+a.MaxAspect
	}
	if a.MaxSize == 0 {
		a.MaxSize = 1e10
	}
	if a.Fill == nil {
		a.Fill = new(uint8(255))
	}
	return a
}

// Validate returns an error for impossible or contradictory settings.
func (a Augment) Validate() error {
	a = a.fill()
	switch {
	case a.Resize < 0 || a.Pad < 0 || a.MaxRotateAngle < 0 || a.MinCropSize < 0:
		return fmt.Errorf("image: augmentation: found a negative size, want 0 or more: %+v", a)
	case int(a.Interp) >= len(interpNames):
		return fmt.Errorf("image: unknown interpolation %v", a.Interp)
	case !(0 < a.MinScale && a.MinScale <= a.MaxScale):
		return fmt.Errorf("image: scale from %v to %v, want positive and ascending", a.MinScale,
			a.MaxScale)
	case !(0 < a.MinAspect && a.MinAspect <= a.MaxAspect):
		return fmt.Errorf("image: aspect ratio from %v to %v, want positive and ascending",
			a.MinAspect, a.MaxAspect)
	case !(0 < a.MinArea && a.MinArea <= a.MaxArea && a.MaxArea <= 1):
		return fmt.Errorf("image: part of the area from %v to %v, want from above 0 to 1",
			a.MinArea, a.MaxArea)
	case !(0 <= a.MinSize && a.MinSize <= a.MaxSize):
		return fmt.Errorf("image: sizes from %v to %v, want ascending", a.MinSize, a.MaxSize)
	case a.MinCropSize > a.MaxCropSize:
		return fmt.Errorf("image: crop sizes from %d to %d, want ascending", a.MinCropSize,
			a.MaxCropSize)
	case a.RandomResizedCrop && (a.RandCrop || a.MaxCropSize > 0 || a.MinScale != 1 ||
		a.MaxScale != 1):
		return fmt.Errorf("image: RandomResizedCrop excludes RandCrop, MaxCropSize, MinScale and " +
			"MaxScale")
	case !(a.Brightness >= 0 && a.Contrast >= 0 && a.Saturation >= 0 && a.PCANoise >= 0 &&
		a.MaxShear >= 0) || a.RandomH < 0 || a.RandomS < 0 || a.RandomL < 0:
		return fmt.Errorf("image: augmentation: found a negative change of colors or shear, "+
			"want 0 or more: %+v", a)
	}
	return nil
}

// Apply changes picture m, which it may overwrite, and crops width×height pixels. The changes
// depend only on r. The settings must be valid.
func (a Augment) Apply(m *Image, width, height int, r *rand.Rand) (*Image, error) {
	a = a.fill()
	if a.Resize > 0 {
		to := sizeOf(m).short(a.Resize)
		if a.cropsNext() && to.Width >= width && to.Height >= height {
			x := a.place(to.Width-width, r)
			m = m.resizePart(to, a.Interp, Rect{x, a.place(to.Height-height, r), width, height})
			return a.colored(m, r), nil
		}
		m = m.Resize(to.Width, to.Height,
			a.Interp.choose(m.Width, m.Height, to.Width, to.Height, r))
	}
	if a.transforms() {
		m = a.transform(m, r)
	}
	if a.Pad > 0 {
		m = m.Pad(a.Pad, *a.Fill)
	}
	m, err := a.cut(m, width, height, r)
	if err != nil {
		return nil, err
	}
	return a.colored(m, r), nil
}

// colored changes the colors of a picture, in place, if it has colors.
func (a *Augment) colored(m *Image, r *rand.Rand) *Image {
	if m.Channels >= 3 {
		a.color(m, r)
	}
	return m
}

// cropsNext reports whether the first resize is followed by a crop that needs no further resize of
// large pictures, so that only a part of the resized picture is needed.
func (a *Augment) cropsNext() bool {
	return !a.transforms() && a.Pad == 0 && !a.RandomResizedCrop && a.MaxCropSize == 0 &&
		a.Interp != Random
}

// place returns the first pixel of a crop that leaves a number of pixels free.
func (a *Augment) place(free int, r *rand.Rand) int {
	if a.RandCrop {
		return r.IntN(free + 1)
	}
	return free / 2
}

func (a *Augment) transforms() bool {
	aspect := !a.RandomResizedCrop && (a.MinAspect != 1 || a.MaxAspect != 1)
	return a.MaxRotateAngle > 0 || a.MaxShear > 0 || a.Rotate > 0 || a.MinScale != 1 ||
		a.MaxScale != 1 || aspect || a.MaxSize != 1e10 || a.MinSize != 0
}

// between draws a random number.
func between(lo, hi float64, r *rand.Rand) float64 { return lo + r.Float64()*(hi-lo) }

// transform rotates, shears and scales the picture around its center.
func (a *Augment) transform(m *Image, r *rand.Rand) *Image {
	shear := between(-a.MaxShear, a.MaxShear, r)
	angle := r.IntN(2*a.MaxRotateAngle+1) - a.MaxRotateAngle
	if a.Rotate > 0 {
		angle = a.Rotate
	}
	sin, cos := math.Sincos(float64(angle) / 180 * math.Pi)
	scale, ratio := 1.0, 1.0
	if !a.RandomResizedCrop {
		scale, ratio = between(a.MinScale, a.MaxScale, r), between(a.MinAspect, a.MaxAspect, r)
	}
	hs := 2 * scale / (1 + ratio)
	ws := ratio * hs
	w, h := float64(m.Width), float64(m.Height)
	width, height := max(a.MinSize, min(a.MaxSize, scale*w)),
		max(a.MinSize, min(a.MaxSize, scale*h))
	t := Matrix{hs*cos - shear*sin*ws, hs*sin + shear*cos*ws, 0, -sin * ws, cos * ws, 0}
	t[2], t[5] = (width-t[0]*w-t[1]*h)/2, (height-t[3]*w-t[4]*h)/2
	for i, v := range t {
		t[i] = float64(float32(v)) // MXNet stores float32
	}
	nw, nh := max(1, int(width)), max(1, int(height))
	return m.Affine(t, nw, nh, a.Interp.choose(m.Width, m.Height, nw, nh, r), *a.Fill)
}

// cut crops a part of width×height pixels.
func (a *Augment) cut(m *Image, width, height int, r *rand.Rand) (*Image, error) {
	resized := func(x, y, w, h int) *Image {
		return m.Crop(x, y, w, h).Resize(width, height, a.Interp.choose(w, h, width, height, r))
	}
	switch {
	case a.RandomResizedCrop:
		if w, h, ok := a.area(m, r); ok {
			return resized(r.IntN(m.Width-w+1), r.IntN(m.Height-h+1), w, h), nil
		}
	case a.MaxCropSize > 0:
		if m.Width < a.MaxCropSize || m.Height < a.MaxCropSize {
			return nil, fmt.Errorf("image: %d×%d pixels, want at least MaxCropSize %d", m.Width,
				m.Height, a.MaxCropSize)
		}
		size := max(1, a.MinCropSize+r.IntN(a.MaxCropSize-a.MinCropSize+1))
		return resized(a.place(m.Width-size, r), a.place(m.Height-size, r), size, size), nil
	}
	by := a.Interp.choose(m.Width, m.Height, width, height, r)
	if m.Height < height {
		m = m.Resize(max(1, int(float32(height)/float32(m.Height)*float32(m.Width))), height, by)
	}
	if m.Width < width {
		m = m.Resize(width, max(height, int(float32(width)/float32(m.Width)*float32(m.Height))), by)
	}
	return m.Crop(a.place(m.Width-width, r), a.place(m.Height-height, r), width, height), nil
}

// area draws the size of a random part of the area; ok is false if it found no size that fits.
func (a *Augment) area(m *Image, r *rand.Rand) (w, h int, ok bool) {
	if a.MinArea == 1 && a.MaxArea == 1 && a.MinAspect == 1 && a.MaxAspect == 1 {
		return 0, 0, false
	}
	for range 10 {
		area := float64(m.Width*m.Height) * between(a.MinArea, a.MaxArea, r)
		ratio := between(a.MinAspect, a.MaxAspect, r)
		w, h = int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if r.Float64() > 0.5 {
			w, h = h, w
		}
		if 0 < w && w <= m.Width && 0 < h && h <= m.Height {
			return w, h, true
		}
	}
	return 0, 0, false
}
