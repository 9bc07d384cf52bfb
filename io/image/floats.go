package image

import (
	"fmt"
	"math"
)

// Floats is a picture of float32 samples, in the layout of Image.
type Floats struct {
	Pix                     []float32
	Height, Width, Channels int
}

// NewFloats returns a black picture. It panics if an extent is not positive.
func NewFloats(height, width, channels int) *Floats {
	if height < 1 || width < 1 || channels < 1 {
		panic(fmt.Sprintf("image: %d×%d with %d channels, want at least 1 of each", width, height,
			channels))
	}
	return &Floats{make([]float32, height*width*channels), height, width, channels}
}

// Bounds implements Picture.
func (m *Floats) Bounds() (height, width, channels int) { return m.Height, m.Width, m.Channels }

// Float returns m.
func (m *Floats) Float() *Floats { return m }

// row returns the samples of row y.
func (m *Floats) row(y int) []float32 {
	n := m.Width * m.Channels
	return m.Pix[y*n : (y+1)*n]
}

// Crop returns the rectangle whose upper left corner is at (x, y). It panics if the rectangle
// exceeds the picture.
func (m *Floats) Crop(x, y, width, height int) *Floats {
	if x < 0 || y < 0 || x+width > m.Width || y+height > m.Height {
		panic(fmt.Sprintf("image: crop of %d×%d at (%d, %d) from %d×%d", width, height, x, y,
			m.Width, m.Height))
	}
	out := NewFloats(height, width, m.Channels)
	for i := range height {
		copy(out.row(i), m.row(y + i)[x*m.Channels:])
	}
	return out
}

// Mirror exchanges left and right, in place.
func (m *Floats) Mirror() {
	c := m.Channels
	for y := range m.Height {
		row := m.row(y)
		for l, r := 0, len(row)-c; l < r; l, r = l+c, r-c {
			for k := range c {
				row[l+k], row[r+k] = row[r+k], row[l+k]
			}
		}
	}
}

func (m *Floats) crop(r Rect) Picture { return m.Crop(r.X, r.Y, r.Width, r.Height) }
func (m *Floats) mirror()             { m.Mirror() }
func (m *Floats) resize(width, height int, by Interp) Picture {
	return m.Resize(width, height, by)
}

// Resize returns the picture at another size, as cv2.resize does. Random means Auto. Values are not
// limited to the range of the picture's values.
func (m *Floats) Resize(width, height int, by Interp) *Floats {
	if width < 1 || height < 1 {
		panic(fmt.Sprintf("image: resize to %d×%d, want at least 1×1", width, height))
	}
	by = by.choose(m.Width, m.Height, width, height, nil)
	if width == m.Width && height == m.Height {
		return m.Crop(0, 0, width, height)
	}
	sx, sy := float64(m.Width)/float64(width), float64(m.Height)/float64(height)
	var cx, cy [][]cover
	switch {
	case by == Nearest:
		cx, cy = nearestCovers(width, m.Width), nearestCovers(height, m.Height)
	case by == Area && sx >= 1 && sy >= 1, by == Linear && sx == 2 && sy == 2:
		cx, cy = covers(width, m.Width), covers(height, m.Height)
	default:
		cx, cy = tapCovers(width, m.Width, by, true), tapCovers(height, m.Height, by, false)
	}
	return m.combine(cx, cy)
}

// combine makes each sample of the weighted pixels of its row and its column.
func (m *Floats) combine(cx, cy [][]cover) *Floats {
	out := NewFloats(len(cy), len(cx), m.Channels)
	c := m.Channels
	narrow := make([][]float32, m.Height) // rows of the new width
	for y, rows := range cy {
		dst := out.row(y)
		for _, r := range rows {
			if narrow[r.pixel] == nil {
				narrow[r.pixel] = make([]float32, len(dst))
				src, to := m.row(r.pixel), narrow[r.pixel]
				for x, pixels := range cx {
					for _, p := range pixels {
						for k := range c {
							to[x*c+k] += src[p.pixel*c+k] * p.weight
						}
					}
				}
			}
			for i, v := range narrow[r.pixel] {
				dst[i] += v * r.weight
			}
		}
	}
	return out
}

// nearestCovers gives each of n samples one pixel of an axis.
func nearestCovers(n, size int) [][]cover {
	list := make([][]cover, n)
	for i := range list {
		list[i] = []cover{{nearestPixel(i, n, size), 1}}
	}
	return list
}

// nearestPixel returns the pixel of an axis that sample i of n has.
func nearestPixel(i, n, size int) int {
	return min(int(float64(i)*(1/(float64(n)/float64(size)))), size-1)
}

// tapCovers gives each of n samples the taps of an interpolation; pixels beyond the ends of the
// axis are the pixels at the ends.
func tapCovers(n, size int, by Interp, horizontal bool) [][]cover {
	list := make([][]cover, n)
	w := make([]float32, by.taps())
	for i := range list {
		first := axisTaps(w, i, n, size, by, horizontal)
		for k, v := range w {
			list[i] = append(list[i], cover{min(max(first+k, 0), size-1), v})
		}
	}
	return list
}

// axisTaps returns the first tap of sample i of n on an axis of size pixels, and writes the weights
// of its taps. Area, when it enlarges, interpolates between two pixels and changes only within the
// width of one pixel.
func axisTaps(w []float32, i, n, size int, by Interp, horizontal bool) (first int) {
	scale := 1 / (float64(n) / float64(size))
	f := float32((float64(i)+0.5)*scale - 0.5)
	at := int(math.Floor(float64(f)))
	f -= float32(at)
	if by == Area {
		at = int(math.Floor(float64(i) * scale))
		f = max(0, float32(float64(i+1)-float64(at+1)*(float64(n)/float64(size))))
		f -= float32(math.Floor(float64(f)))
	}
	if len(w) == 2 && horizontal && (at < 0 || at >= size-1) {
		at, f = min(max(at, 0), size-1), 0
	}
	by.weights(w, f)
	return at - (len(w)/2 - 1)
}
