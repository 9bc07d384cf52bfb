package ndarray

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gomx/dtype"
	"gomx/op"
)

// FromImage makes an array of uint8 on the processor from an image: of shape (height, width, 3)
// with the channels red, green and blue, or (height, width, 1) for an image.Gray or image.Gray16.
// Transparency is dropped: the colors are not premultiplied by it.
func FromImage(img image.Image) *Array {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	channels, row := 3, rgbRow
	switch m := img.(type) {
	case *image.Gray, *image.Gray16:
		channels, row = 1, grayRow
	case *image.NRGBA:
		row = packedRow(m.Pix[m.PixOffset(b.Min.X, b.Min.Y):], m.Stride)
	case *image.RGBA:
		if m.Opaque() {
			row = packedRow(m.Pix[m.PixOffset(b.Min.X, b.Min.Y):], m.Stride)
		}
	}
	data := make([]uint8, w*h*channels)
	for y := range h {
		row(data[y*w*channels:(y+1)*w*channels], img, y)
	}
	return FromSlice(data, h, w, channels)
}

// rgbRow reads row y of any image.
func rgbRow(dst []uint8, img image.Image, y int) {
	b := img.Bounds()
	for x := range b.Dx() {
		c := color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
		dst[3*x], dst[3*x+1], dst[3*x+2] = c.R, c.G, c.B
	}
}

// grayRow reads row y of an image without colors.
func grayRow(dst []uint8, img image.Image, y int) {
	b := img.Bounds()
	for x := range dst {
		dst[x] = color.GrayModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.Gray).Y
	}
}

// packedRow returns a function that reads rows of pixels of four bytes.
func packedRow(pix []uint8, stride int) func(dst []uint8, _ image.Image, y int) {
	return func(dst []uint8, _ image.Image, y int) {
		src := pix[y*stride:]
		for x := range len(dst) / 3 {
			copy(dst[3*x:3*x+3], src[4*x:])
		}
	}
}

// Image waits for a and returns it as an image: an image.Gray for shape (height, width) or
// (height, width, 1), an image.NRGBA for three channels, red, green and blue, or four with the
// opacity. Elements are rounded and limited to 0 … 255.
func (a *Array) Image() (image.Image, error) {
	a.mem("Image")
	channels := 0
	switch len(a.shape) {
	case 2:
		channels = 1
	case 3:
		channels = a.shape[2]
	}
	if channels != 1 && channels != 3 && channels != 4 {
		return nil, &op.Error{Op: "Image", Site: op.CallSite(),
			Msg: fmt.Sprintf("the array has shape %v, want (height, width) or (height, width, "+
				"channels) with 1, 3 or 4 channels", a.shape)}
	}
	data, err := a.pixels()
	if err != nil {
		return nil, err
	}
	box := image.Rect(0, 0, a.shape[1], a.shape[0])
	if channels == 1 {
		m := image.NewGray(box)
		copy(m.Pix, data)
		return m, nil
	}
	m := image.NewNRGBA(box)
	for i := range len(data) / channels {
		m.Pix[4*i+3] = 255
		copy(m.Pix[4*i:], data[i*channels:(i+1)*channels])
	}
	return m, nil
}

// pixels returns the values as bytes.
func (a *Array) pixels() ([]uint8, error) {
	if a.dtype == dtype.Uint8 {
		return Values[uint8](a)
	}
	v, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	data := make([]uint8, len(v))
	for i, x := range v {
		if x = math.Round(x); x > 0 { // false for NaN
			data[i] = uint8(min(x, 255))
		}
	}
	return data, nil
}
