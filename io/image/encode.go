package image

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/jpeg"
	"image/png"
)

// JPEG encodes the picture with a quality from 1 to 100. Transparency is dropped.
func (m *Image) JPEG(quality int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m.standard(), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return b.Bytes(), nil
}

// PNG encodes the picture without loss.
func (m *Image) PNG() ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, m.standard()); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return b.Bytes(), nil
}

// standard returns the picture as an image of the standard library. With one or four channels, they
// share memory.
func (m *Image) standard() stdimage.Image {
	r := stdimage.Rect(0, 0, m.Width, m.Height)
	switch m.Channels {
	case 1:
		return &stdimage.Gray{Pix: m.Pix, Stride: m.Width, Rect: r}
	case 4:
		return &stdimage.NRGBA{Pix: m.Pix, Stride: 4 * m.Width, Rect: r}
	}
	out := stdimage.NewRGBA(r)
	for i, j := 0, 0; i < len(m.Pix); i, j = i+m.Channels, j+4 {
		copy(out.Pix[j:j+3], m.Pix[i:])
		out.Pix[j+3] = 255
	}
	return out
}
