package image

import (
	"fmt"
	"slices"
)

// Extension is the content of a border around a picture, for a row abcdefgh. Its value is the
// number in MXNet and OpenCV.
type Extension uint8

// The contents of borders.
const (
	Constant   Extension = iota // the value of the border
	Replicate                   // aaaa|abcdefgh|hhhh
	Reflect                     // dcba|abcdefgh|hgfe
	Wrap                        // efgh|abcdefgh|abcd
	Reflect101                  // edcb|abcdefgh|gfed
)

// Border is a border to add to a picture.
type Border struct {
	Top, Bottom, Left, Right int // pixels
	Extension                Extension
	Values                   []float64 // values of a Constant border, by channel; further ones are 0
}

// AddBorder returns the picture with a border.
//
// MXNet: image.copyMakeBorder.
func AddBorder(m Picture, b Border) (Picture, error) {
	if min(b.Top, b.Bottom, b.Left, b.Right) < 0 || b.Extension > Reflect101 {
		return nil, fmt.Errorf("image: border %+v, want 0 pixels or more and a content of 0 to 4", b)
	}
	switch m := m.(type) {
	case *Image:
		out := New(m.Height+b.Top+b.Bottom, m.Width+b.Left+b.Right, m.Channels)
		extend(&b, out.Pix, m.Pix, Rect{b.Left, b.Top, m.Width, m.Height}, out.Width, m.Channels)
		return out, nil
	case *Floats:
		out := NewFloats(m.Height+b.Top+b.Bottom, m.Width+b.Left+b.Right, m.Channels)
		extend(&b, out.Pix, m.Pix, Rect{b.Left, b.Top, m.Width, m.Height}, out.Width, m.Channels)
		return out, nil
	}
	return nil, fmt.Errorf("image: border of a picture %T, want *Image or *Floats", m)
}

// extend writes a picture of width pixels and c channels: src at a place, and the border around it.
func extend[T uint8 | float32](b *Border, dst, src []T, at Rect, width, c int) {
	value := make([]T, c)
	for k := range min(c, len(b.Values)) {
		value[k] = convert[T](b.Values[k])
	}
	line := slices.Repeat(value, width)
	for y := range len(dst) / (width * c) {
		row, from := dst[y*width*c:(y+1)*width*c], b.Extension.source(y-at.Y, at.Height)
		if from < 0 {
			copy(row, line)
			continue
		}
		pix := src[from*at.Width*c : (from+1)*at.Width*c]
		copy(row[at.X*c:], pix)
		if b.Extension == Constant {
			copy(row[:at.X*c], line)
			copy(row[(at.X+at.Width)*c:], line)
			continue
		}
		side := func(from, to int) {
			for x := from; x < to; x++ {
				copy(row[x*c:(x+1)*c], pix[b.Extension.source(x-at.X, at.Width)*c:])
			}
		}
		side(0, at.X)
		side(at.X+at.Width, width)
	}
}

// convert returns a value as a sample.
func convert[T uint8 | float32](v float64) T {
	var t T
	if _, ok := any(t).(uint8); ok {
		return T(round8(v))
	}
	return T(v)
}

// source returns the pixel of an axis of size pixels whose value position i has; -1: none.
func (e Extension) source(i, size int) int {
	switch {
	case i >= 0 && i < size:
		return i
	case e == Constant:
		return -1
	case e == Replicate || size == 1:
		return min(max(i, 0), size-1)
	case e == Wrap:
		return (i%size + size) % size
	}
	period := 2 * size // one way and back
	if e == Reflect101 {
		period -= 2
	}
	if i = (i%period + period) % period; i >= size {
		i = period - 1 - i
		if e == Reflect101 {
			i++
		}
	}
	return i
}
