package ndarray_test

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// picture fills an image with different colors.
func picture(set func(x, y int, c color.Color), alpha uint8) {
	for y := range 4 {
		for x := range 5 {
			set(x, y, color.NRGBA{uint8(40 * x), uint8(50 * y), uint8(10 * (x + y)), alpha})
		}
	}
}

func TestImages(t *testing.T) {
	box := image.Rect(0, 0, 5, 4)
	gray, gray16, rgba, nrgba, wide := image.NewGray(box), image.NewGray16(box), image.NewRGBA(box),
		image.NewNRGBA(box), image.NewNRGBA64(box)
	picture(gray.Set, 255)
	picture(gray16.Set, 255)
	picture(rgba.Set, 255)
	picture(nrgba.Set, 7)
	picture(wide.Set, 255)
	part := image.Rect(1, 1, 4, 3)
	for name, img := range map[string]image.Image{
		"gray": gray, "gray16": gray16, "rgba": rgba, "nrgba": nrgba, "wide": wide,
		"part of gray": gray.SubImage(part), "part of rgba": rgba.SubImage(part),
		"part of nrgba": nrgba.SubImage(part),
		"palette":       image.NewPaletted(box, color.Palette{color.White}),
	} {
		t.Run(name, func(t *testing.T) {
			x := nd.FromImage(img)
			b := img.Bounds()
			if s := x.Shape(); x.DType() != dtype.Uint8 || len(s) != 3 || s[0] != b.Dy() ||
				s[1] != b.Dx() {
				t.Fatalf("got %v %v for %v", x.DType(), s, b)
			}
			back, err := x.Image()
			if err != nil {
				t.Fatal(err)
			}
			for y := range b.Dy() {
				for k := range b.Dx() {
					got := color.NRGBAModel.Convert(back.At(k, y)).(color.NRGBA)
					want := color.NRGBAModel.Convert(img.At(b.Min.X+k, b.Min.Y+y)).(color.NRGBA)
					if want.A = 255; got != want {
						t.Fatalf("at %d, %d: got %v, want %v", k, y, got, want)
					}
				}
			}
		})
	}
}

func TestImagesOfOtherArrays(t *testing.T) {
	x := nd.FromSlice([]float32{-3, 0.6, 254.7, 400, float32(math.NaN()), 7}, 2, 3)
	img, err := x.Image()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := img.(*image.Gray).Pix, []uint8{0, 1, 255, 255, 0, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	img, err = nd.FromSlice([]uint8{1, 2, 3, 4}, 1, 1, 4).Image()
	if err != nil || img.At(0, 0) != (color.NRGBA{1, 2, 3, 4}) {
		t.Errorf("got %v, %v", img, err)
	}
	for _, shape := range []nd.Shape{{3}, {2, 2, 2}, {1, 1, 1, 1}} {
		if _, err := nd.Zeros(shape).Image(); err == nil ||
			!strings.Contains(err.Error(), "want (height, width)") {
			t.Errorf("shape %v: got %v", shape, err)
		}
	}
}
