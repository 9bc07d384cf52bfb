package image

import (
	"fmt"
	"math"
)

// Resize returns the picture at another size, as cv2.resize does. Random means Auto here; only
// Augment supports it.
func (m *Image) Resize(width, height int, by Interp) *Image {
	if width < 1 || height < 1 {
		panic(fmt.Sprintf("image: resize to %d×%d, want at least 1×1", width, height))
	}
	return m.resizePart(Size{width, height}, by, Rect{0, 0, width, height})
}

// resizePart returns a part of the picture at another size. It computes no more pixels, where the
// method interpolates.
func (m *Image) resizePart(size Size, by Interp, part Rect) *Image {
	width, height := size.Width, size.Height
	by = by.choose(m.Width, m.Height, width, height, nil)
	if width == m.Width && height == m.Height {
		return m.Crop(part.X, part.Y, part.Width, part.Height)
	}
	sx, sy := float64(m.Width)/float64(width), float64(m.Height)/float64(height)
	var whole *Image
	switch {
	case by == Nearest:
		whole = m.nearest(width, height)
	case by == Area && sx >= 1 && sy >= 1, by == Linear && sx == 2 && sy == 2:
		whole = m.shrink(width, height)
	default:
		return m.interpolate(size, by, part)
	}
	if part == (Rect{0, 0, width, height}) {
		return whole
	}
	return whole.Crop(part.X, part.Y, part.Width, part.Height)
}

// ResizeShort scales the picture so that its shorter side has size pixels.
func (m *Image) ResizeShort(size int, by Interp) *Image {
	to := sizeOf(m).short(size)
	return m.Resize(to.Width, to.Height, by)
}

func (m *Image) nearest(width, height int) *Image {
	out := New(height, width, m.Channels)
	for y := range height {
		src := nearestPixel(y, height, m.Height)
		for x := range width {
			copy(out.At(x, y), m.At(nearestPixel(x, width, m.Width), src))
		}
	}
	return out
}

// axis holds, for each sample of an axis, the first tap and the weights of the taps in units of
// 1/2048.
type axis struct {
	first  []int32
	weight []int32 // taps for each sample
	taps   int
}

const weightUnit = 1 << 11

// newAxis maps count of n samples, from one on, to size pixels.
func newAxis(from, count, n, size int, by Interp, horizontal bool) axis {
	taps := by.taps()
	a := axis{make([]int32, 0, count), make([]int32, 0, count*taps), taps}
	w := make([]float32, taps)
	for i := from; i < from+count; i++ {
		a.first = append(a.first, int32(axisTaps(w, i, n, size, by, horizontal)))
		for _, v := range w {
			a.weight = append(a.weight, int32(math.RoundToEven(float64(v*weightUnit))))
		}
	}
	return a
}

// interpolate returns a part of the picture at another size.
func (m *Image) interpolate(size Size, by Interp, part Rect) *Image {
	ax := newAxis(part.X, part.Width, size.Width, m.Width, by, true)
	ay := newAxis(part.Y, part.Height, size.Height, m.Height, by, false)
	out := undefined(part.Height, part.Width, m.Channels)
	if ax.taps == 2 {
		m.linear(out, &ax, &ay)
	} else {
		m.weigh(out, &ax, &ay)
	}
	return out
}

// weigh resizes in integers: first along the rows, then across them.
func (m *Image) weigh(out *Image, ax, ay *axis) {
	rows, have := make([][]int32, ay.taps), make([]int, ay.taps)
	for k := range rows {
		rows[k], have[k] = make([]int32, out.Width*m.Channels), -1
	}
	for y := range out.Height {
		for k := range ay.taps {
			src := min(max(int(ay.first[y])+k, 0), m.Height-1)
			// Reuse a row that was resized for the previous sample.
			for j := k; j < ay.taps; j++ {
				if have[j] == src {
					rows[k], rows[j], have[k], have[j] = rows[j], rows[k], have[j], have[k]
					break
				}
			}
			if have[k] != src {
				m.resizeRow(rows[k], m.row(src), ax)
				have[k] = src
			}
		}
		across(out.row(y), rows, ay.weight[y*ay.taps:][:ay.taps])
	}
}

// resizeRow resizes one row.
func (m *Image) resizeRow(dst []int32, src []uint8, a *axis) {
	c, last := m.Channels, m.Width-1
	if a.taps == 2 && c == 3 {
		for x, first := range a.first {
			first := int(first)
			l, r := src[first*3:][:3], src[min(first+1, last)*3:][:3]
			d, u, v := dst[x*3:][:3], a.weight[2*x], a.weight[2*x+1]
			d[0], d[1], d[2] = u*int32(l[0])+v*int32(r[0]), u*int32(l[1])+v*int32(r[1]),
				u*int32(l[2])+v*int32(r[2])
		}
		return
	}
	for x, first := range a.first {
		first := int(first)
		w := a.weight[x*a.taps:][:a.taps]
		for k := range c {
			sum := int32(0)
			for t, v := range w {
				sum += v * int32(src[min(max(first+t, 0), last)*c+k])
			}
			dst[x*c+k] = sum
		}
	}
}

// across adds weighted rows. Two rows are added with four bits less, as in OpenCV's vector code.
func across(dst []uint8, rows [][]int32, w []int32) {
	if len(rows) == 2 {
		above, below, u, v := rows[0][:len(dst)], rows[1][:len(dst)], w[0], w[1]
		for i := range dst {
			// The weights are at most 1, so the sum is within 0 to 255.
			dst[i] = uint8((u*(above[i]>>4)>>16 + v*(below[i]>>4)>>16 + 2) >> 2)
		}
		return
	}
	for i := range dst {
		sum := int64(1 << 21)
		for k, v := range w {
			sum += int64(v) * int64(rows[k][i])
		}
		dst[i] = clamp8(int32(sum >> 22))
	}
}

// cover is the weight of one pixel in a sample.
type cover struct {
	pixel  int
	weight float32
}

// covers returns, for each of n samples, the pixels of an axis that it covers.
func covers(n, size int) [][]cover {
	scale := 1 / (float64(n) / float64(size))
	list := make([][]cover, n)
	for i := range list {
		from, to := float64(i)*scale, float64(i)*scale+scale
		cell := min(scale, float64(size)-from)
		last := min(int(math.Floor(to)), size-1)
		first := min(int(math.Ceil(from)), last)
		if rest := float64(first) - from; rest > 1e-3 {
			list[i] = append(list[i], cover{first - 1, float32(rest / cell)})
		}
		for p := first; p < last; p++ {
			list[i] = append(list[i], cover{p, float32(1 / cell)})
		}
		if rest := to - float64(last); rest > 1e-3 {
			list[i] = append(list[i], cover{last, float32(min(rest, 1, cell) / cell)})
		}
	}
	return list
}

// shrink makes each sample the mean of the pixels that it covers.
func (m *Image) shrink(width, height int) *Image {
	out := New(height, width, m.Channels)
	if m.Width%width == 0 && m.Height%height == 0 {
		m.blocks(out, m.Width/width, m.Height/height)
		return out
	}
	cx, cy := covers(width, m.Width), covers(height, m.Height)
	c := m.Channels
	row, sum := make([]float32, width*c), make([]float32, width*c)
	for y, rows := range cy {
		clear(sum)
		for _, r := range rows {
			src := m.row(r.pixel)
			clear(row)
			for x, pixels := range cx {
				for _, p := range pixels {
					for k := range c {
						row[x*c+k] += float32(src[p.pixel*c+k]) * p.weight
					}
				}
			}
			for i, v := range row {
				sum[i] += v * r.weight
			}
		}
		dst := out.row(y)
		for i, v := range sum {
			dst[i] = clamp8(int32(math.RoundToEven(float64(v))))
		}
	}
	return out
}

// blocks is shrink for samples that cover w×h whole pixels.
func (m *Image) blocks(out *Image, w, h int) {
	c := m.Channels
	scale := 1 / float32(w*h)
	for y := range out.Height {
		dst := out.row(y)
		for x := range out.Width {
			for k := range c {
				sum := int32(0)
				for j := range h {
					src := m.row(y*h + j)
					for i := range w {
						sum += int32(src[(x*w+i)*c+k])
					}
				}
				if w == 2 && h == 2 {
					dst[x*c+k] = uint8((sum + 2) >> 2)
				} else {
					dst[x*c+k] = clamp8(int32(math.RoundToEven(float64(float32(sum) * scale))))
				}
			}
		}
	}
}
