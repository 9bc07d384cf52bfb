package image

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// DetRandomPadAug puts pictures at a random place of a larger picture of one color.
type DetRandomPadAug struct {
	Ratio       [2]float64 // least and largest ratio of width to height; zero: 0.75 to 1.33
	Area        [2]float64 // least and largest area, in parts of the old; zero: 1 to 3
	MaxAttempts int        // 0: 50
	Values      []float64  // of the border, for each channel; nil: 128
}

// ApplyDet implements DetAugmenter.
func (a DetRandomPadAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects, error) {
	ratios, areas, attempts := orElse(a.Ratio, 0.75, 1.33), orElse(a.Area, 1, 3), a.MaxAttempts
	if !(areas[0] > 0 && areas[0] <= areas[1] && ratios[0] > 0 && ratios[0] <= ratios[1]) {
		return nil, o, fmt.Errorf("image: DetRandomPadAug: area from %v to %v and ratio from %v to "+
			"%v, want ascending and positive", areas[0], areas[1], ratios[0], ratios[1])
	}
	if attempts == 0 {
		attempts = 50
	}
	values := a.Values
	if values == nil {
		values = []float64{128, 128, 128, 128}
	}
	for range attempts {
		if at, ok := padding(sizeOf(m), ratios, areas, r); ok {
			return padded(m, o, at, values)
		}
	}
	return m, o, nil
}

// padding draws the extent of a larger picture, and the place of the old one in it.
func padding(size Size, ratios, areas [2]float64, r *rand.Rand) (at Rect, ok bool) {
	if areas[1] <= 1 {
		return at, false
	}
	all := float64(size.Width * size.Height)
	ratio := between(ratios[0], ratios[1], r)
	h, top := whole(math.Sqrt(areas[0]*all/ratio)), whole(math.Sqrt(areas[1]*all/ratio))
	if whole(float64(h)*ratio) < size.Width {
		h = int((float64(size.Width) + 0.499999) / ratio)
	}
	if h = min(max(h, size.Height), top); h < top {
		h += r.IntN(top - h + 1)
	}
	w := whole(float64(h) * ratio)
	if h-size.Height < 2 || w-size.Width < 2 {
		return at, false
	}
	y := r.IntN(h - size.Height + 1)
	return Rect{r.IntN(w - size.Width + 1), y, w, h}, true
}

// padded puts a picture at (at.X, at.Y) of a picture of the extent of at.
func padded(m Picture, o Objects, at Rect, values []float64) (Picture, Objects, error) {
	size := sizeOf(m)
	m, err := AddBorder(m, Border{Top: at.Y, Bottom: at.Height - at.Y - size.Height, Left: at.X,
		Right: at.Width - at.X - size.Width, Values: values})
	o.Values = slices.Clone(o.Values)
	for i := range o.Len() {
		b := o.Row(i)
		for k := 1; k < 5; k += 2 {
			b[k] = (b[k]*float32(size.Width) + float32(at.X)) / float32(at.Width)
			b[k+1] = (b[k+1]*float32(size.Height) + float32(at.Y)) / float32(at.Height)
		}
	}
	return m, o, err
}
