package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Augmenter changes pictures. It holds settings and no state: several goroutines may use it at
// once.
//
// MXNet: image.Augmenter, whose interp is Cubic by default; here it is Linear.
type Augmenter interface {
	// Apply returns the changed picture. It may overwrite m and return it. Random changes depend
	// only on r.
	Apply(m Picture, r *rand.Rand) (Picture, error)
}

// SequentialAug applies one augmenter after the other.
type SequentialAug []Augmenter

// Apply implements Augmenter.
func (a SequentialAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	for _, one := range a {
		var err error
		if m, err = one.Apply(m, r); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// RandomOrderAug applies augmenters in random order.
type RandomOrderAug []Augmenter

// Apply implements Augmenter.
func (a RandomOrderAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	for _, i := range r.Perm(len(a)) {
		var err error
		if m, err = a[i].Apply(m, r); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ResizeAug scales pictures so that their shorter side has Size pixels.
type ResizeAug struct {
	Size   int
	Interp Interp
}

// Apply implements Augmenter.
func (a ResizeAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	if a.Size < 1 {
		return nil, fmt.Errorf("image: ResizeAug: side of %d pixels, want at least 1", a.Size)
	}
	return ResizeShort(m, a.Size, a.Interp, r), nil
}

// ForceResizeAug gives all pictures one size.
type ForceResizeAug struct {
	Size   Size
	Interp Interp
}

// Apply implements Augmenter.
func (a ForceResizeAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	s, err := a.Size.square()
	if err != nil {
		return nil, err
	}
	return ResizeTo(m, s, a.Interp, r), nil
}

// CenterCropAug cuts out the middle, as CenterCrop does.
type CenterCropAug struct {
	Size   Size
	Interp Interp
}

// Apply implements Augmenter.
func (a CenterCropAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	s, err := a.Size.square()
	if err != nil {
		return nil, err
	}
	m, _ = CenterCrop(m, s, a.Interp, r)
	return m, nil
}

// RandomCropAug cuts out a part at a random place, as RandomCrop does.
type RandomCropAug struct {
	Size   Size
	Interp Interp
}

// Apply implements Augmenter.
func (a RandomCropAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	s, err := a.Size.square()
	if err != nil {
		return nil, err
	}
	m, _ = RandomCrop(m, s, a.Interp, r)
	return m, nil
}

// RandomSizedCropAug cuts out a random part of the area, with a random ratio of width to height,
// and resizes it to Size. If ten parts exceed the picture, it cuts out the middle.
type RandomSizedCropAug struct {
	Size   Size
	Area   [2]float64 // least and largest part of the area; zero: 0.08 to 1
	Ratio  [2]float64 // least and largest ratio; zero: 3/4 to 4/3
	Interp Interp
}

// Apply implements Augmenter.
func (a RandomSizedCropAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	m, _, err := a.Crop(m, r)
	return m, err
}

// Crop is Apply that also returns the place of the part.
//
// MXNet: image.random_size_crop.
func (a RandomSizedCropAug) Crop(m Picture, r *rand.Rand) (Picture, Rect, error) {
	size, err := a.Size.square()
	if err != nil {
		return nil, Rect{}, err
	}
	areas, ratios := orElse(a.Area, 0.08, 1), orElse(a.Ratio, 3./4, 4./3)
	if !(areas[0] >= 0 && areas[1] >= areas[0] && ratios[0] > 0 && ratios[1] >= ratios[0]) {
		return nil, Rect{}, fmt.Errorf("image: RandomSizedCropAug: area from %v to %v and ratio "+
			"from %v to %v, want ascending and positive", areas[0], areas[1], ratios[0], ratios[1])
	}
	src := sizeOf(m)
	for range 10 {
		area := between(areas[0], areas[1], r) * float64(src.Width*src.Height)
		ratio := math.Exp(between(math.Log(ratios[0]), math.Log(ratios[1]), r))
		w, h := int(math.RoundToEven(math.Sqrt(area*ratio))),
			int(math.RoundToEven(math.Sqrt(area/ratio)))
		if 0 < w && w <= src.Width && 0 < h && h <= src.Height {
			at := Rect{r.IntN(src.Width - w + 1), r.IntN(src.Height - h + 1), w, h}
			return FixedCrop(m, at, size, a.Interp, r), at, nil
		}
	}
	m, at := CenterCrop(m, size, a.Interp, r)
	return m, at, nil
}

// orElse returns a range, or another in place of zeros.
func orElse(given [2]float64, low, high float64) [2]float64 {
	if given == [2]float64{} {
		return [2]float64{low, high}
	}
	return given
}

// HorizontalFlipAug exchanges left and right with probability P.
type HorizontalFlipAug struct{ P float64 }

// Apply implements Augmenter.
func (a HorizontalFlipAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	if r.Float64() < a.P {
		m.mirror()
	}
	return m, nil
}

// CastAug converts samples to float32.
type CastAug struct{}

// Apply implements Augmenter.
func (CastAug) Apply(m Picture, _ *rand.Rand) (Picture, error) { return m.Float(), nil }
