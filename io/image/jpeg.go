package image

import stdimage "image"

// fromYCbCr converts a JPEG from the samples of its file. Like libjpeg by default, it interpolates
// chroma at half the resolution with a triangle and converts colors in fixed point with 16
// fractional bits. The standard library takes the nearest sample instead.
func fromYCbCr(out *Image, src *stdimage.YCbCr) {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	luma := func(y int) []uint8 { return src.Y[src.YOffset(b.Min.X, b.Min.Y+y):][:w] }
	if out.Channels == 1 {
		for y := range h {
			copy(out.row(y), luma(y))
		}
		return
	}
	sx, sy := 1, 1
	switch src.SubsampleRatio {
	case stdimage.YCbCrSubsampleRatio422:
		sx = 2
	case stdimage.YCbCrSubsampleRatio420:
		sx, sy = 2, 2
	case stdimage.YCbCrSubsampleRatio440:
		sy = 2
	case stdimage.YCbCrSubsampleRatio411:
		sx = 4
	case stdimage.YCbCrSubsampleRatio410:
		sx, sy = 4, 2
	}
	up := upsampler{w: w, cw: (w + sx - 1) / sx, ch: (h + sy - 1) / sy, sx: sx, sy: sy,
		stride: src.CStride}
	cb, cr := make([]uint8, w+sx), make([]uint8, w+sx)
	for y := range h {
		up.row(cb, src.Cb, y)
		up.row(cr, src.Cr, y)
		dst := out.row(y)
		for x, l := range luma(y) {
			d := dst[x*out.Channels:]
			d[0], d[1], d[2] = mixYCbCr(int32(l), int32(cb[x])-128, int32(cr[x])-128)
			if out.Channels == 4 {
				d[3] = 255
			}
		}
	}
}

// mixYCbCr is the color conversion of JFIF, rounded as in libjpeg.
func mixYCbCr(y, cb, cr int32) (r, g, b uint8) {
	const half = 1 << 15
	return clamp8(y + (91881*cr+half)>>16), clamp8(y + (-22554*cb-46802*cr+half)>>16),
		clamp8(y + (116130*cb+half)>>16)
}

func clamp8(v int32) uint8 { return uint8(min(max(v, 0), 255)) }

// upsampler makes rows of chroma at full resolution from a plane of cw×ch samples, each for sx×sy
// pixels.
type upsampler struct {
	w, cw, ch, sx, sy int
	stride            int
	sums              []int32
}

// row makes row y of the picture.
func (u *upsampler) row(dst, plane []uint8, y int) {
	at := func(cy int) []uint8 { return plane[min(max(cy, 0), u.ch-1)*u.stride:][:u.cw] }
	near := at(y / u.sy)
	other := near
	if u.sy == 2 {
		if other = at(y/2 - 1); y%2 == 1 {
			other = at(y/2 + 1)
		}
	}
	switch {
	case u.sx == 1 && u.sy == 1:
		copy(dst, near)
	case u.sx == 2 && u.cw > 2 && u.sy == 1:
		u.sum(near, near, 1, 0)
		u.triangle(dst, 2, 1, 2)
	case u.sx == 2 && u.cw > 2:
		u.sum(near, other, 3, 1)
		u.triangle(dst, 4, 8, 7)
	case u.sx == 1: // interpolate between rows only
		for x := range near {
			dst[x] = uint8((3*int32(near[x]) + int32(other[x]) + int32(1+y%2)) >> 2)
		}
	default:
		for x := range u.w {
			dst[x] = near[x/u.sx]
		}
	}
}

// sum adds two rows with weights a and b.
func (u *upsampler) sum(near, other []uint8, a, b int32) {
	u.sums = u.sums[:0]
	for x := range near {
		u.sums = append(u.sums, a*int32(near[x])+b*int32(other[x]))
	}
}

// triangle makes two samples from each sum: three parts of it and one of its neighbor on that side,
// plus the bias left or right, shifted. The outermost samples have no neighbor.
func (u *upsampler) triangle(dst []uint8, shift int32, left, right int32) {
	s, last := u.sums, len(u.sums)-1
	for i, v := range s {
		l, r := v, v
		if i > 0 {
			l = s[i-1]
		}
		if i < last {
			r = s[i+1]
		}
		dst[2*i] = uint8((3*v + l + left) >> shift)
		if 2*i+1 < len(dst) {
			dst[2*i+1] = uint8((3*v + r + right) >> shift)
		}
	}
}
