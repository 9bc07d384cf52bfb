package image

import (
	"fmt"
	"math/rand/v2"
)

// Size is the extent of a picture in pixels. In the settings of augmenters, a Height of 0 means a
// square.
type Size struct{ Width, Height int }

// Rect is a rectangle of pixels, given by its upper left corner and its extent.
type Rect struct{ X, Y, Width, Height int }

// Picture is an *Image, whose samples are bytes, or a *Floats. Augmenters work on both. Other
// packages cannot add types of pictures.
type Picture interface {
	// Bounds returns the extents of the picture.
	Bounds() (height, width, channels int)
	// Float returns the picture itself if its samples are float32, and a copy otherwise.
	Float() *Floats

	crop(r Rect) Picture
	resize(width, height int, by Interp) Picture
	mirror()
}

var _, _ Picture = (*Image)(nil), (*Floats)(nil)

// Bounds implements Picture.
func (m *Image) Bounds() (height, width, channels int) { return m.Height, m.Width, m.Channels }

// Float returns a copy with samples of float32.
func (m *Image) Float() *Floats {
	out := NewFloats(m.Height, m.Width, m.Channels)
	for i, v := range m.Pix {
		out.Pix[i] = float32(v)
	}
	return out
}

func (m *Image) crop(r Rect) Picture { return m.Crop(r.X, r.Y, r.Width, r.Height) }
func (m *Image) mirror()             { m.Mirror() }
func (m *Image) resize(width, height int, by Interp) Picture {
	return m.Resize(width, height, by)
}

// square completes a size of settings, and returns an error for a size without pixels.
func (s Size) square() (Size, error) {
	if s.Height == 0 {
		s.Height = s.Width
	}
	if s.Width < 1 || s.Height < 1 {
		return s, fmt.Errorf("image: size of %d×%d pixels, want at least 1×1", s.Width, s.Height)
	}
	return s, nil
}

// sizeOf returns the size of a picture.
func sizeOf(m Picture) Size {
	h, w, _ := m.Bounds()
	return Size{w, h}
}

// ResizeTo returns the picture at another size. r chooses the method if it is Random; nil means
// Auto then.
//
// MXNet: image.imresize.
func ResizeTo(m Picture, to Size, by Interp, r *rand.Rand) Picture {
	s := sizeOf(m)
	if s == to {
		return m
	}
	return m.resize(to.Width, to.Height, by.choose(s.Width, s.Height, to.Width, to.Height, r))
}

// ResizeShort returns the picture scaled so that its shorter side has size pixels.
//
// MXNet: image.resize_short.
func ResizeShort(m Picture, size int, by Interp, r *rand.Rand) Picture {
	return ResizeTo(m, sizeOf(m).short(size), by, r)
}

// short returns the size of a picture whose shorter side gets a length.
func (s Size) short(side int) Size {
	if s.Height > s.Width {
		return Size{side, side * s.Height / s.Width}
	}
	return Size{side * s.Width / s.Height, side}
}

// ScaleDown returns the largest size of the given ratio of sides, at most the given size, that a
// picture of size src contains.
//
// MXNet: image.scale_down.
func ScaleDown(src, size Size) Size {
	w, h := float64(size.Width), float64(size.Height)
	if sh := float64(src.Height); sh < h {
		w, h = w*sh/h, sh
	}
	if sw := float64(src.Width); sw < w {
		w, h = sw, h*sw/w
	}
	return Size{int(w), int(h)}
}

// FixedCrop cuts out a rectangle, and resizes it to a size unless this is zero. It panics if the
// rectangle exceeds the picture.
//
// MXNet: image.fixed_crop.
func FixedCrop(m Picture, at Rect, size Size, by Interp, r *rand.Rand) Picture {
	if whole := sizeOf(m); at != (Rect{0, 0, whole.Width, whole.Height}) {
		m = m.crop(at)
	}
	if size == (Size{}) {
		return m
	}
	return ResizeTo(m, size, by, r)
}

// CenterCrop cuts out the middle and returns its place. A picture that is smaller than size is
// enlarged: the largest part with the ratio of size is cut out and resized.
//
// MXNet: image.center_crop.
func CenterCrop(m Picture, size Size, by Interp, r *rand.Rand) (Picture, Rect) {
	src := sizeOf(m)
	at := part(src, size)
	at.X, at.Y = (src.Width-at.Width)/2, (src.Height-at.Height)/2
	return FixedCrop(m, at, size, by, r), at
}

// RandomCrop is CenterCrop at a random place.
//
// MXNet: image.random_crop.
func RandomCrop(m Picture, size Size, by Interp, r *rand.Rand) (Picture, Rect) {
	src := sizeOf(m)
	at := part(src, size)
	at.X, at.Y = r.IntN(src.Width-at.Width+1), r.IntN(src.Height-at.Height+1)
	return FixedCrop(m, at, size, by, r), at
}

// part returns the extent of the part of a picture that becomes a picture of a size.
func part(src, size Size) Rect {
	s := ScaleDown(src, size)
	return Rect{Width: max(1, s.Width), Height: max(1, s.Height)}
}
