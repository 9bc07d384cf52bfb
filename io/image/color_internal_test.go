package image

import "testing"

// TestHLS wants colors to survive the way to hue, lightness and saturation and back, as far as
// steps of two degrees let them.
func TestHLS(t *testing.T) {
	for _, c := range [][6]uint8{{255, 0, 0, 0, 128, 255}, {0, 255, 0, 60, 128, 255},
		{0, 0, 255, 120, 128, 255}, {90, 90, 90, 0, 90, 0}, {255, 255, 255, 0, 255, 0}} {
		if h, l, s := toHLS(c[0], c[1], c[2]); h != c[3] || l != c[4] || s != c[5] {
			t.Errorf("%v is %d, %d, %d, want %v", c[:3], h, l, s, c[3:])
		}
	}
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				want := [3]uint8{uint8(r), uint8(g), uint8(b)}
				h, l, s := toHLS(want[0], want[1], want[2])
				x, y, z := fromHLS(h, l, s)
				for k, v := range [3]uint8{x, y, z} {
					if d := int(v) - int(want[k]); d < -6 || d > 6 {
						t.Fatalf("%v comes back as %d, %d, %d", want, x, y, z)
					}
				}
			}
		}
	}
}
