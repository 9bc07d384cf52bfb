package image

import "math"

// Zoom is the change of scale of a picture that is rotated.
type Zoom uint8

// The changes of scale.
const (
	KeepScale Zoom = iota
	ZoomIn         // the result shows no pixels outside the picture
	ZoomOut        // the result shows the whole picture
)

// Rotate returns the picture turned around its center, counterclockwise, in its old extents. Pixels
// outside are black.
//
// MXNet: image.imrotate.
func (m *Floats) Rotate(degrees float64, zoom Zoom) *Floats {
	out := NewFloats(m.Height, m.Width, m.Channels)
	rotate(out.Pix, m.Pix, m.Height, m.Width, degrees, zoom, func(pixel int) (at, next, n int) {
		return pixel * m.Channels, 1, m.Channels
	})
	return out
}

// RotatePlanes is Rotate for samples in the order channel, row, column.
func RotatePlanes(src []float32, channels, height, width int, degrees float64,
	zoom Zoom) []float32 {
	dst := make([]float32, len(src))
	rotate(dst, src, height, width, degrees, zoom, func(pixel int) (at, next, n int) {
		return pixel, height * width, channels
	})
	return dst
}

// rotate interpolates the rotated picture. samples returns the place of the first of n samples of a
// pixel and the distance to the next.
func rotate(dst, src []float32, height, width int, degrees float64, zoom Zoom,
	samples func(pixel int) (at, next, n int)) {
	if len(src) == 0 {
		return
	}
	angle := degrees * math.Pi / 180
	sin, cos := math.Sincos(angle)
	h, w := float64(height), float64(width)
	scale := zoom.factor(angle, h, w)
	cx, cy := (w-1)/2, (h-1)/2
	for i := range height * width {
		dx, dy := float64(i%width)-cx, float64(i/width)-cy
		x, y := cx+scale*(dx*cos-dy*sin), cy+scale*(dx*sin+dy*cos)
		left, top := math.Floor(x), math.Floor(y)
		to, next, n := samples(i)
		for corner := range 4 {
			px, py := int(left)+corner%2, int(top)+corner/2
			weight := math.Abs(1-float64(corner%2)-(x-left)) * math.Abs(1-float64(corner/2)-(y-top))
			if px < 0 || py < 0 || px >= width || py >= height || weight == 0 {
				continue
			}
			from, _, _ := samples(py*width + px)
			for k := range n {
				dst[to+k*next] += float32(weight) * src[from+k*next]
			}
		}
	}
}

// factor returns the distance of neighboring pixels of the result in the picture, for pictures of
// height h and width w.
func (z Zoom) factor(angle, h, w float64) float64 {
	if z == KeepScale {
		return 1
	}
	corner, diagonal := math.Atan(h/w), math.Hypot(h, w)
	angle = math.Abs(angle)
	x := diagonal * max(math.Abs(math.Cos(corner+angle)), math.Abs(math.Cos(corner-angle)))
	y := diagonal * max(math.Abs(math.Sin(corner+angle)), math.Abs(math.Sin(corner-angle)))
	if z == ZoomOut {
		return max(x/w, y/h)
	}
	return min(w/x, h/y)
}
