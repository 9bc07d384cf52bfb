package image_test

import (
	"bytes"
	stdimage "image"
	"image/color/palette"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"gomx/internal/hostile"
	"gomx/io/image"
)

// pictures are small files of every format that Go can write.
func pictures(t *testing.T) map[string][]byte {
	m := noise(3, 24, 20, 3)
	src := stdimage.NewNRGBA(stdimage.Rect(0, 0, 20, 24))
	for i := range 24 * 20 {
		copy(src.Pix[4*i:], append(m.Pix[3*i:3*i+3:3*i+3], 255))
	}
	paletted := stdimage.NewPaletted(src.Rect, palette.Plan9)
	deep := stdimage.NewGray16(src.Rect)
	out := map[string][]byte{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"jpeg":         func(b *bytes.Buffer) error { return jpeg.Encode(b, src, nil) },
		"png":          func(b *bytes.Buffer) error { return png.Encode(b, src) },
		"png, palette": func(b *bytes.Buffer) error { return png.Encode(b, paletted) },
		"png, 16 bits": func(b *bytes.Buffer) error { return png.Encode(b, deep) },
		"bmp":          func(b *bytes.Buffer) error { return bmp.Encode(b, src) },
		"tiff": func(b *bytes.Buffer) error {
			return tiff.Encode(b, src, &tiff.Options{Compression: tiff.Deflate})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	return out
}

func TestHostilePictures(t *testing.T) {
	const pixels = 1 << 20
	for name, file := range pictures(t) {
		hostile.Kind{Name: name, Seeds: [][]byte{file}, Extra: 16 * pixels,
			Decode: func(file []byte) error {
				_, err := image.DecodeUpTo(file, image.RGB, pixels)
				return err
			}}.Run(t)
	}
}

// TestPixels wants pictures above a limit to be refused, and those at the limit not.
func TestPixels(t *testing.T) {
	for name, file := range pictures(t) {
		if _, err := image.DecodeUpTo(file, image.RGB, 480); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := image.DecodeUpTo(file, image.RGB, 479); err == nil ||
			!strings.Contains(err.Error(), "claims 20×24 pixels, want at most 479 in all") {
			t.Errorf("%s: got %v, want an error of the limit", name, err)
		}
	}
}
