package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// DetRandomCropAug cuts out a random part that holds enough of the objects. If no part does, the
// picture stays as it is.
type DetRandomCropAug struct {
	// The part of each object that the crop touches is larger than this; 0: 0.1, negative: no limit.
	MinObjectCovered float64
	Ratio            [2]float64 // least and largest ratio of width to height; zero: 0.75 to 1.33
	Area             [2]float64 // least and largest part of the area; zero: 0.05 to 1
	// Objects of which the crop holds this part or less are left out; 0: 0.3, negative: no limit.
	MinEjectCoverage float64
	MaxAttempts      int // 0: 50
}

// complete returns the settings with defaults in place of zeros.
func (a DetRandomCropAug) complete() (DetRandomCropAug, error) {
	b := DetRandomCropAug{orDefault(a.MinObjectCovered, 0.1), orElse(a.Ratio, 0.75, 1.33),
		orElse(a.Area, 0.05, 1), orDefault(a.MinEjectCoverage, 0.3), a.MaxAttempts}
	if b.MaxAttempts == 0 {
		b.MaxAttempts = 50
	}
	if !(b.Area[1] > 0 && b.Area[0] <= b.Area[1] && b.Ratio[0] > 0 && b.Ratio[0] <= b.Ratio[1]) {
		return b, fmt.Errorf("image: DetRandomCropAug: area from %v to %v and ratio from %v to %v, "+
			"want ascending and positive", b.Area[0], b.Area[1], b.Ratio[0], b.Ratio[1])
	}
	return b, nil
}

// orDefault returns a limit, a default in place of 0, and 0 in place of a negative number.
func orDefault(v, or float64) float64 {
	if v == 0 {
		return or
	}
	return max(0, v)
}

// ApplyDet implements DetAugmenter.
func (a DetRandomCropAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects, error) {
	a, err := a.complete()
	if err != nil {
		return nil, o, err
	}
	size := sizeOf(m)
	for range a.MaxAttempts {
		at, ok := a.propose(size, r)
		if !ok || !a.covers(at, size, o) {
			continue
		}
		if kept := a.keep(at, size, o); kept.Len() > 0 {
			return FixedCrop(m, at, Size{}, Linear, r), kept, nil
		}
	}
	return m, o, nil
}

// propose draws a rectangle whose area and ratio are within the limits.
func (a *DetRandomCropAug) propose(size Size, r *rand.Rand) (at Rect, ok bool) {
	all := float64(size.Width * size.Height)
	least, most := a.Area[0]*all, a.Area[1]*all
	ratio := between(a.Ratio[0], a.Ratio[1], r)
	h, top := whole(math.Sqrt(least/ratio)), whole(math.Sqrt(most/ratio))
	if whole(float64(top)*ratio) > size.Width {
		top = int((float64(size.Width) + 0.4999999) / ratio)
	}
	top = min(top, size.Height)
	if h = min(h, top); h < top {
		h += r.IntN(top - h + 1)
	}
	w := whole(float64(h) * ratio)
	if float64(w*h) < least {
		h++
		w = whole(float64(h) * ratio)
	}
	if float64(w*h) > most {
		h--
		w = whole(float64(h) * ratio)
	}
	if area := float64(w * h); area < least || area > most || w < 1 || w > size.Width || h < 1 ||
		h > size.Height {
		return at, false
	}
	y := r.IntN(size.Height - h + 1)
	return Rect{r.IntN(size.Width - w + 1), y, w, h}, true
}

// place returns a rectangle in parts of a picture.
func place(at Rect, size Size) box {
	w, h := float64(size.Width), float64(size.Height)
	return box{float64(at.X) / w, float64(at.Y) / h, float64(at.X+at.Width) / w,
		float64(at.Y+at.Height) / h}
}

// covers reports whether a rectangle holds enough of every object that it touches, and touches one.
// Objects of at most two pixels do not count.
func (a *DetRandomCropAug) covers(at Rect, size Size, o Objects) bool {
	if at.Width*at.Height < 2 {
		return false
	}
	least, crop := math.Inf(1), place(at, size)
	for i := range o.Len() {
		b := boxOf(o.Row(i))
		if b.area()*float64(size.Width)*float64(size.Height) <= 2 {
			continue
		}
		if part := crop.common(b).area() / b.area(); part > 0 {
			least = min(least, part)
		}
	}
	return !math.IsInf(least, 1) && least > a.MinObjectCovered
}

// keep returns the objects that remain in a rectangle.
func (a *DetRandomCropAug) keep(at Rect, size Size, o Objects) Objects {
	crop, kept := place(at, size), Objects{Width: o.Width}
	for i := range o.Len() {
		b := boxOf(o.Row(i))
		if inside := crop.common(b); inside.right > inside.left && inside.bottom > inside.top &&
			inside.area() > a.MinEjectCoverage*b.area() {
			kept.Values = append(kept.Values, o.Row(i)...)
			crop.within(kept.Row(kept.Len() - 1))
		}
	}
	return kept
}

// MultiCropConfig configures CreateMultiRandCropAugmenter. The lists have one setting for each
// augmenter, or one for all; nil: the default.
type MultiCropConfig struct {
	MinObjectCovered []float64
	Ratio            [][2]float64
	Area             [][2]float64
	MinEjectCoverage []float64
	MaxAttempts      []int
	Skip             float64 // probability that nothing is cropped
}

// CreateMultiRandCropAugmenter returns an augmenter that crops with the limits of one of several
// DetRandomCropAugs.
//
// MXNet: image.CreateMultiRandCropAugmenter.
func CreateMultiRandCropAugmenter(c MultiCropConfig) (DetRandomSelectAug, error) {
	lengths := []int{len(c.MinObjectCovered), len(c.Ratio), len(c.Area), len(c.MinEjectCoverage),
		len(c.MaxAttempts)}
	n := 1
	for _, l := range lengths {
		n = max(n, l)
	}
	for _, l := range lengths {
		if l > 1 && l != n {
			return DetRandomSelectAug{}, fmt.Errorf("image: settings of %v crops, want 1 or as "+
				"many for each setting", lengths)
		}
	}
	a := DetRandomSelectAug{Skip: c.Skip}
	for i := range n {
		crop := DetRandomCropAug{setting(c.MinObjectCovered, i), setting(c.Ratio, i),
			setting(c.Area, i), setting(c.MinEjectCoverage, i), setting(c.MaxAttempts, i)}
		if _, err := crop.complete(); err != nil {
			return a, err
		}
		a.List = append(a.List, crop)
	}
	return a, nil
}

// setting returns element i of a list, its only element, or the zero value.
func setting[T any](list []T, i int) (v T) {
	switch len(list) {
	case 0:
		return v
	case 1:
		return list[0]
	}
	return list[i]
}
