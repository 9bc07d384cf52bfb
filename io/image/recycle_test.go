package image

import (
	"bytes"
	stdimage "image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"testing"
)

// TestRecycledPictures decodes and resizes pictures of random sizes in memory that other pictures
// have left, damaged files between them: every picture is the same as in fresh memory.
func TestRecycledPictures(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range 100 {
		w, h := 8+rng.IntN(60), 8+rng.IntN(60)
		src := stdimage.NewRGBA(stdimage.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				src.Set(x, y, color.RGBA{uint8(rng.Uint32()), uint8(x * 4), uint8(y * 4), 255})
			}
		}
		var file bytes.Buffer
		if err := jpeg.Encode(&file, src, nil); err != nil {
			t.Fatal(err)
		}
		a, err := Decode(file.Bytes(), RGB)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Decode(file.Bytes(), RGB) // a is in use: b has other memory
		if err != nil {
			t.Fatal(err)
		}
		to := sizeOf(a).short(16)
		small := a.Resize(to.Width, to.Height, Linear)
		if i%7 == 0 { // damaged files leave decoders in a bad state
			_, _ = Decode(file.Bytes()[:file.Len()/2], RGB)
		}
		again := b.Resize(to.Width, to.Height, Linear)
		if !bytes.Equal(a.Pix, b.Pix) || !bytes.Equal(small.Pix, again.Pix) {
			t.Fatalf("seed %d: picture %d differs in recycled memory", seed, i)
		}
		for _, m := range []*Image{a, small, b, again} {
			for k := range m.Pix {
				m.Pix[k] = 77
			}
			m.Recycle()
		}
	}
}
