package vision

import (
	"fmt"
	"math/rand/v2"

	"gomx/gluon/data"
	"gomx/io/image"
)

// The transforms of this file change pictures of shape (height, width, channels) of uint8 or
// float32. A Height of 0 in a size means a square.

// Resize gives pictures a size.
type Resize struct {
	Size      image.Size
	KeepRatio bool // with a Size without Height: scale the shorter side to Size.Width
	Interp    image.Interp
}

// Apply implements Transform.
func (a Resize) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	var f image.Augmenter = image.ForceResizeAug{Size: a.Size, Interp: a.Interp}
	if a.KeepRatio && a.Size.Height == 0 {
		f = image.ResizeAug{Size: a.Size.Width, Interp: a.Interp}
	}
	return augmented("Resize", t, f, r)
}

// augmented applies an augmenter that does not write into its picture.
func augmented(name string, t data.Tensor, a image.Augmenter, r *rand.Rand) (data.Tensor, error) {
	return eachPicture(name, t, func(m image.Picture) (image.Picture, error) {
		return a.Apply(m, r)
	})
}

// CenterCrop cuts out the middle. It enlarges pictures that are too small.
type CenterCrop struct {
	Size   image.Size
	Interp image.Interp
}

// Apply implements Transform.
func (a CenterCrop) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return augmented("CenterCrop", t, image.CenterCropAug(a), r)
}

// CropResize cuts out a rectangle, and resizes it to Size unless this is zero.
type CropResize struct {
	X, Y, Width, Height int
	Size                image.Size
	Interp              image.Interp
}

// Apply implements Transform.
func (a CropResize) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return eachPicture("CropResize", t, func(m image.Picture) (image.Picture, error) {
		h, w, _ := m.Bounds()
		if a.X < 0 || a.Y < 0 || a.Width < 1 || a.Height < 1 || a.X+a.Width > w ||
			a.Y+a.Height > h {
			return nil, fmt.Errorf("%d×%d pixels at (%d, %d) of a picture of %d×%d", a.Width,
				a.Height, a.X, a.Y, w, h)
		}
		m = image.FixedCrop(m, image.Rect{X: a.X, Y: a.Y, Width: a.Width, Height: a.Height},
			image.Size{}, a.Interp, r)
		if a.Size == (image.Size{}) {
			return m, nil
		}
		return image.ForceResizeAug{Size: a.Size, Interp: a.Interp}.Apply(m, r)
	})
}

// RandomCrop cuts out a part at a random place. It enlarges pictures that are too small.
type RandomCrop struct {
	Size   image.Size
	Pad    int     // width in pixels of a border that is added first
	Value  float64 // of the border
	Interp image.Interp
}

// Apply implements Transform.
func (a RandomCrop) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return eachPicture("RandomCrop", t, func(m image.Picture) (image.Picture, error) {
		if a.Pad != 0 {
			v := a.Value
			var err error
			if m, err = image.AddBorder(m, image.Border{Top: a.Pad, Bottom: a.Pad, Left: a.Pad,
				Right: a.Pad, Values: []float64{v, v, v, v}}); err != nil {
				return nil, err
			}
		}
		return image.RandomCropAug{Size: a.Size, Interp: a.Interp}.Apply(m, r)
	})
}

// RandomResizedCrop cuts out a random part of the area with a random ratio of width to height, and
// resizes it to Size.
type RandomResizedCrop struct {
	Size   image.Size
	Scale  [2]float64 // least and largest part of the area; zero: 0.08 to 1
	Ratio  [2]float64 // least and largest ratio; zero: 3/4 to 4/3
	Interp image.Interp
}

// Apply implements Transform.
func (a RandomResizedCrop) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return augmented("RandomResizedCrop", t, image.RandomSizedCropAug{Size: a.Size, Area: a.Scale,
		Ratio: a.Ratio, Interp: a.Interp}, r)
}

// RandomFlipLeftRight exchanges left and right at random.
type RandomFlipLeftRight struct{ P float64 } // probability; 0: 0.5

// Apply implements Transform.
func (a RandomFlipLeftRight) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return flip("RandomFlipLeftRight", t, half(a.P), 2, r)
}

// RandomFlipTopBottom exchanges top and bottom at random.
type RandomFlipTopBottom struct{ P float64 } // probability; 0: 0.5

// Apply implements Transform.
func (a RandomFlipTopBottom) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return flip("RandomFlipTopBottom", t, half(a.P), 3, r)
}

// flip reverses an axis, counted from the last, with a probability. The pictures of a batch are
// reversed together.
func flip(name string, t data.Tensor, p float64, axis int, r *rand.Rand) (data.Tensor, error) {
	n := len(t.Shape)
	if n != 3 && n != 4 {
		return t, fmt.Errorf("vision: %s: a tensor of shape %v, want a picture of shape (height, "+
			"width, channels)", name, t.Shape)
	}
	if r.Float64() >= p {
		return t, nil
	}
	length := t.Shape[n-axis]
	size := t.Shape[n-axis+1:].Size() * t.DType.Size()
	out := room(len(t.Bytes))
	for from := 0; from < len(out); from += length * size {
		for i := range length {
			copy(out[from+i*size:from+(i+1)*size], t.Bytes[from+(length-1-i)*size:])
		}
	}
	t.Bytes = out
	return t, nil
}
