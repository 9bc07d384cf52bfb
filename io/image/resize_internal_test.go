package image

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestLinearAgrees compares the interpolation between two pixels, which may be in C, with the
// general one in Go, and parts with the whole.
func TestLinearAgrees(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := New(1+r.IntN(30), 1+r.IntN(30), []int{1, 3, 4}[r.IntN(3)])
		for i := range m.Pix {
			m.Pix[i] = uint8(r.IntN(256))
		}
		size := Size{1 + r.IntN(60), 1 + r.IntN(60)}
		by := []Interp{Linear, Area, Cubic}[r.IntN(3)]
		ax, ay := newAxis(0, size.Width, size.Width, m.Width, by, true),
			newAxis(0, size.Height, size.Height, m.Height, by, false)
		want := New(size.Height, size.Width, m.Channels)
		m.weigh(want, &ax, &ay)
		x, y := r.IntN(size.Width), r.IntN(size.Height)
		part := Rect{x, y, 1 + r.IntN(size.Width-x), 1 + r.IntN(size.Height-y)}
		for _, p := range []Rect{{0, 0, size.Width, size.Height}, part} {
			got := m.interpolate(size, by, p)
			if !bytes.Equal(got.Pix, want.Crop(p.X, p.Y, p.Width, p.Height).Pix) {
				t.Fatalf("seed %d: %v of %d×%d with %d channels at %v: part %v differs", seed, by,
					m.Width, m.Height, m.Channels, size, p)
			}
		}
	}
}
