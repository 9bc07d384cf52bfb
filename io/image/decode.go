package image

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/color"
	_ "image/jpeg" // formats that Decode reads
	_ "image/png"
	"io"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// Mode is the choice of channels in a decoded picture; its value is their number.
type Mode int

// The modes.
const (
	Gray Mode = 1 // luminance
	RGB  Mode = 3
	RGBA Mode = 4 // pixels of pictures without transparency are opaque
)

// maxRatio is the largest number of pixels per byte of a file: deflate expands a byte to at most
// 1032 bytes, and a byte holds at most eight pixels.
const maxRatio = 8 << 10

// MaxPixels is the largest number of pixels that Decode accepts: 64 Mi, 8192 pixels squared.
const MaxPixels = 64 << 20

// Decode reads a JPEG, PNG, BMP, TIFF or WebP file of at most MaxPixels pixels.
func Decode(data []byte, mode Mode) (*Image, error) { return DecodeUpTo(data, mode, MaxPixels) }

// DecodeUpTo reads a picture of at most a number of pixels. It rejects larger pictures by their
// header, before it allocates memory. Decoding takes at most about 16 bytes for each pixel that the
// header names.
func DecodeUpTo(data []byte, mode Mode, pixels int) (*Image, error) {
	if mode != Gray && mode != RGB && mode != RGBA {
		return nil, fmt.Errorf("image: mode %d, want 1, 3 or 4 channels", int(mode))
	}
	if err := checkTIFF(data); err != nil {
		return nil, err
	}
	head, format, err := stdimage.DecodeConfig(newFile(data))
	if err != nil {
		return nil, fmt.Errorf("image: %d bytes, want a picture: %w", len(data), err)
	}
	if head.Width < 1 || head.Height < 1 || head.Height > (len(data)+1)*maxRatio/head.Width {
		return nil, fmt.Errorf("image: %s of %d bytes claims %d×%d pixels, want fewer", format,
			len(data), head.Width, head.Height)
	}
	if head.Height > pixels/head.Width {
		return nil, fmt.Errorf("image: %s claims %d×%d pixels, want at most %d in all", format,
			head.Width, head.Height, pixels)
	}
	out := undefined(head.Height, head.Width, int(mode))
	if format == "jpeg" && decodeJPEG(out, data) == nil {
		return out, nil
	}
	clear(out.Pix)
	src, _, err := stdimage.Decode(newFile(data))
	if err != nil {
		return nil, fmt.Errorf("image: %s: %w", format, err)
	}
	if b := src.Bounds(); b.Dx() != head.Width || b.Dy() != head.Height {
		return nil, fmt.Errorf("image: %s: found %d×%d pixels, want %d×%d as in the header", format,
			b.Dx(), b.Dy(), head.Width, head.Height)
	}
	if ycc, ok := src.(*stdimage.YCbCr); ok && format == "jpeg" {
		fromYCbCr(out, ycc)
	} else {
		fromImage(out, src, format)
	}
	return out, nil
}

// file is a file in memory. Its method Peek saves the standard library a buffer, and its random
// access saves decoders a copy up to an offset that the file claims.
type file struct {
	*bytes.Reader
	data []byte
}

func newFile(data []byte) *file { return &file{bytes.NewReader(data), data} }

// Peek returns the next n bytes without reading them.
func (f *file) Peek(n int) ([]byte, error) {
	rest := f.data[len(f.data)-f.Len():]
	if n > len(rest) {
		return rest, io.EOF
	}
	return rest[:n], nil
}

// fromImage converts an image of the standard library.
func fromImage(out *Image, src stdimage.Image, format string) {
	b := src.Bounds()
	gray := luminance
	if format == "png" {
		gray = pngLuminance
	}
	var pixel func(x, y int) color.NRGBA
	switch s := src.(type) {
	case *stdimage.Gray:
		pixel = func(x, y int) color.NRGBA {
			v := s.GrayAt(x, y).Y
			return color.NRGBA{v, v, v, 255}
		}
	case *stdimage.NRGBA:
		pixel = s.NRGBAAt
	case *stdimage.NRGBA64:
		pixel = func(x, y int) color.NRGBA {
			c := s.NRGBA64At(x, y)
			return color.NRGBA{uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8), uint8(c.A >> 8)}
		}
	case *stdimage.Paletted:
		palette := make([]color.NRGBA, 256)
		for i, c := range s.Palette {
			palette[i] = color.NRGBAModel.Convert(c).(color.NRGBA)
		}
		pixel = func(x, y int) color.NRGBA { return palette[s.ColorIndexAt(x, y)] }
	default:
		pixel = func(x, y int) color.NRGBA {
			return color.NRGBAModel.Convert(s.At(x, y)).(color.NRGBA)
		}
	}
	i := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := pixel(x, y)
			switch out.Channels {
			case 1:
				out.Pix[i] = gray(c)
			default:
				copy(out.Pix[i:i+out.Channels], []uint8{c.R, c.G, c.B, c.A})
			}
			i += out.Channels
		}
	}
}

// luminance weighs colors by 0.299, 0.587 and 0.114 in 14 bits, as OpenCV does.
func luminance(c color.NRGBA) uint8 {
	return uint8((4899*uint32(c.R) + 9617*uint32(c.G) + 1868*uint32(c.B) + 1<<13) >> 14)
}

// pngLuminance weighs colors in 15 bits and rounds down, as libpng does.
func pngLuminance(c color.NRGBA) uint8 {
	const r, g = 9797, 19234
	return uint8((r*uint32(c.R) + g*uint32(c.G) + (1<<15-r-g)*uint32(c.B)) >> 15)
}
