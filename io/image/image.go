package image

import (
	"fmt"
	"sync"
)

// Image is a picture of 8-bit samples: Height rows of Width pixels of Channels samples each, in the
// order R, G, B, A; one channel is luminance.
type Image struct {
	Pix                     []uint8
	Height, Width, Channels int
}

// New returns a black picture. It panics if an extent is not positive.
func New(height, width, channels int) *Image {
	if height < 1 || width < 1 || channels < 1 {
		panic(fmt.Sprintf("image: %d×%d with %d channels, want at least 1 of each", width, height,
			channels))
	}
	return &Image{make([]uint8, height*width*channels), height, width, channels}
}

// recycled holds pictures whose memory the next ones take, whatever their size.
var recycled sync.Pool

// Recycle gives the memory of a picture to pictures that are made later. The caller must not use
// the picture, nor what shares memory with it, any more. It spares the garbage collector the
// pictures of a data set, of which each is as large as thousands of other objects.
func (m *Image) Recycle() { recycled.Put(m) }

// undefined is New without setting the samples: the caller writes all of them.
func undefined(height, width, channels int) *Image {
	m, _ := recycled.Get().(*Image)
	if n := height * width * channels; m != nil && n > 0 && n <= cap(m.Pix) {
		return &Image{m.Pix[:n], height, width, channels}
	}
	return New(height, width, channels)
}

// row returns the samples of row y.
func (m *Image) row(y int) []uint8 {
	n := m.Width * m.Channels
	return m.Pix[y*n : (y+1)*n]
}

// At returns the samples of a pixel, which share memory with the picture.
func (m *Image) At(x, y int) []uint8 {
	i := (y*m.Width + x) * m.Channels
	return m.Pix[i : i+m.Channels : i+m.Channels]
}

// Crop returns the rectangle whose upper left corner is at (x, y). It panics if the rectangle
// exceeds the picture.
func (m *Image) Crop(x, y, width, height int) *Image {
	if x < 0 || y < 0 || x+width > m.Width || y+height > m.Height {
		panic(fmt.Sprintf("image: crop of %d×%d at (%d, %d) from %d×%d", width, height, x, y,
			m.Width, m.Height))
	}
	out := New(height, width, m.Channels)
	for i := range height {
		copy(out.row(i), m.row(y + i)[x*m.Channels:])
	}
	return out
}

// CenterCrop returns the center of the picture; its size is at most the size of the picture.
func (m *Image) CenterCrop(width, height int) *Image {
	width, height = min(width, m.Width), min(height, m.Height)
	return m.Crop((m.Width-width)/2, (m.Height-height)/2, width, height)
}

// Pad returns the picture with a border of n pixels whose samples are v.
func (m *Image) Pad(n int, v uint8) *Image {
	out := New(m.Height+2*n, m.Width+2*n, m.Channels)
	out.fill(v)
	for y := range m.Height {
		copy(out.row(y + n)[n*m.Channels:], m.row(y))
	}
	return out
}

// Planes calls f for every sample, with its channel and the number of its pixel, in the order of
// arrays whose first axis is the channel.
func (m *Image) Planes(f func(channel, pixel int, v uint8)) {
	for k := range m.Channels {
		for i, at := 0, k; at < len(m.Pix); i, at = i+1, at+m.Channels {
			f(k, i, m.Pix[at])
		}
	}
}

// Tables has the float32 that stands for each value of a sample, for each channel.
type Tables [4][256]float32

// Translate writes the picture by tables in the order of arrays whose first axis is the channel.
// dst has planes of plane numbers, in which rows are width numbers apart. The picture has at most
// four channels.
func (m *Image) Translate(dst []float32, plane, width int, t *Tables) {
	for y := range m.Height {
		src, at := m.row(y), y*width
		if m.Channels != 3 {
			for k := range m.Channels {
				to := dst[k*plane+at:][:m.Width]
				for x := range to {
					to[x] = t[k][src[x*m.Channels+k]]
				}
			}
			continue
		}
		r := dst[at:][:m.Width]
		g, b := dst[plane+at:][:len(r)], dst[2*plane+at:][:len(r)]
		for x := range r {
			p := src[3*x : 3*x+3]
			r[x], g[x], b[x] = t[0][p[0]], t[1][p[1]], t[2][p[2]]
		}
	}
}

func (m *Image) fill(v uint8) {
	for i := range m.Pix {
		m.Pix[i] = v
	}
}

// Mirror exchanges left and right, in place.
func (m *Image) Mirror() {
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
