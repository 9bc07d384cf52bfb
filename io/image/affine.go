package image

import "math"

// Matrix maps a pixel (x, y) to (M[0]·x + M[1]·y + M[2], M[3]·x + M[4]·y + M[5]).
type Matrix [6]float64

// inverse returns the inverse matrix; for a singular matrix it returns zeros, as OpenCV does.
func (m Matrix) inverse() Matrix {
	d := m[0]*m[4] - m[1]*m[3]
	if d != 0 {
		d = 1 / d
	}
	r := Matrix{m[4] * d, -m[1] * d, 0, -m[3] * d, m[0] * d, 0}
	r[2] = -r[0]*m[2] - r[1]*m[5]
	r[5] = -r[3]*m[2] - r[4]*m[5]
	return r
}

// Positions between pixels are rounded to 1/32, as in cv2.warpAffine.
const (
	affineBits = 10
	subBits    = 5
	subSteps   = 1 << subBits
)

// Affine transforms the picture onto a canvas of the given size. Pixels of the canvas that the
// picture does not cover get the value outside. Area means Linear.
func (m *Image) Affine(t Matrix, width, height int, by Interp, outside uint8) *Image {
	out := New(height, width, m.Channels)
	by = by.choose(m.Width, m.Height, width, height, nil)
	if by == Area {
		by = Linear
	}
	inv := t.inverse()
	round := func(v float64) int { return int(math.RoundToEven(v * (1 << affineBits))) }
	taps := by.taps()
	table := make([]float32, subSteps*taps)
	for i := range subSteps {
		by.weights(table[i*taps:][:taps], float32(i)/subSteps)
	}
	for y := range height {
		x0, y0 := round(inv[1]*float64(y)+inv[2]), round(inv[4]*float64(y)+inv[5])
		for x := range width {
			px, py := x0+round(inv[0]*float64(x)), y0+round(inv[3]*float64(x))
			if by == Nearest {
				const half = 1 << (affineBits - 1)
				m.tap(out.At(x, y), (px+half)>>affineBits, (py+half)>>affineBits, outside)
				continue
			}
			const half = 1 << (affineBits - subBits - 1)
			px, py = (px+half)>>(affineBits-subBits), (py+half)>>(affineBits-subBits)
			m.sample(out.At(x, y), px>>subBits, py>>subBits, table[px&(subSteps-1)*taps:][:taps],
				table[py&(subSteps-1)*taps:][:taps], outside)
		}
	}
	return out
}

// tap copies pixel (x, y) to dst, or the value outside.
func (m *Image) tap(dst []uint8, x, y int, outside uint8) {
	if x < 0 || y < 0 || x >= m.Width || y >= m.Height {
		for k := range dst {
			dst[k] = outside
		}
		return
	}
	copy(dst, m.At(x, y))
}

// sample computes the weighted mean of the pixels around a position.
func (m *Image) sample(dst []uint8, x, y int, wx, wy []float32, outside uint8) {
	x, y = x-(len(wx)/2-1), y-(len(wy)/2-1)
	for k := range dst {
		sum := float32(0)
		for j, b := range wy {
			for i, a := range wx {
				v := outside
				if px, py := x+i, y+j; px >= 0 && py >= 0 && px < m.Width && py < m.Height {
					v = m.Pix[(py*m.Width+px)*m.Channels+k]
				}
				sum += a * b * float32(v)
			}
		}
		dst[k] = clamp8(int32(math.Floor(float64(sum) + 0.5)))
	}
}
