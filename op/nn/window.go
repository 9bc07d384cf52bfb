package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// window is the geometry of a window that slides over up to three axes; fewer axes are led by
// axes of extent one. in is the larger side (data of a convolution), out the number of positions.
type window struct {
	in, out, kernel, stride, dilate, pad [3]int
}

// newWindow lays out the attributes of a layer, lists of one number per axis or empty, over the
// spatial axes of both sides.
func newWindow(in, out dtype.Shape, kernel, stride, dilate, pad []int) window {
	lead := 3 - len(in)
	spread := func(list []int, def int) (a [3]int) {
		a = [3]int{1, 1, 1}
		if def == 0 {
			a = [3]int{}
		}
		for i := range in {
			a[lead+i] = at(list, i, def)
		}
		return a
	}
	return window{in: spread(in, 1), out: spread(out, 1), kernel: spread(kernel, 1),
		stride: spread(stride, 1), dilate: spread(dilate, 1), pad: spread(pad, 0)}
}

// at returns list[i], def when the list is empty.
func at(list []int, i, def int) int {
	if i >= len(list) {
		return def
	}
	return list[i]
}

// volume is the product of the extents.
func volume(a [3]int) int { return a[0] * a[1] * a[2] }

// span returns the positions along axis a, [lo, hi), whose window has element k inside the data.
func (w *window) span(a, k int) (lo, hi int) {
	shift := k*w.dilate[a] - w.pad[a]
	lo, hi = 0, w.out[a]
	if shift < 0 {
		lo = (-shift + w.stride[a] - 1) / w.stride[a]
	}
	if last := w.in[a] - 1 - shift; last < 0 {
		hi = 0
	} else {
		hi = min(hi, last/w.stride[a]+1)
	}
	return lo, max(lo, hi)
}

// rows visits, element by element of the kernel, every row of positions along the last axis: n
// positions from out on, whose elements lie from in on, stride apart. Offsets count from the
// beginning of one channel.
func (w *window) rows(f func(k, out, in, n int)) {
	for kd := range w.kernel[0] {
		for kh := range w.kernel[1] {
			for kw := range w.kernel[2] {
				k := (kd*w.kernel[1]+kh)*w.kernel[2] + kw
				w.plane(kd, kh, kw, func(out, in, n int) { f(k, out, in, n) })
			}
		}
	}
}

func (w *window) plane(kd, kh, kw int, f func(out, in, n int)) {
	d0, d1 := w.span(0, kd)
	h0, h1 := w.span(1, kh)
	w0, w1 := w.span(2, kw)
	if w0 == w1 {
		return
	}
	for d := d0; d < d1; d++ {
		for h := h0; h < h1; h++ {
			id := d*w.stride[0] - w.pad[0] + kd*w.dilate[0]
			ih := h*w.stride[1] - w.pad[1] + kh*w.dilate[1]
			iw := w0*w.stride[2] - w.pad[2] + kw*w.dilate[2]
			f((d*w.out[1]+h)*w.out[2]+w0, (id*w.in[1]+ih)*w.in[2]+iw, w1-w0)
		}
	}
}

// checkList reports an attribute whose length is neither zero nor the number of the kernel's axes,
// or with an element below least.
func checkList(arg string, list []int, axes, least int) error {
	if len(list) != 0 && len(list) != axes {
		return op.Errorf(arg, "%v, want %d numbers as in kernel", list, axes)
	}
	for _, v := range list {
		if v < least {
			return op.Errorf(arg, "%v, want at least %d everywhere", list, least)
		}
	}
	return nil
}

// checkWindow checks the attributes that describe a window.
func checkWindow(kernel, stride, dilate, pad []int) error {
	n := len(kernel)
	if n < 1 || n > 3 {
		return op.Errorf("kernel", "%v, want 1, 2 or 3 numbers", kernel)
	}
	for _, l := range []struct {
		arg   string
		list  []int
		least int
	}{{"kernel", kernel, 1}, {"stride", stride, 1}, {"dilate", dilate, 1}, {"pad", pad, 0}} {
		if err := checkList(l.arg, l.list, n, l.least); err != nil {
			return err
		}
	}
	return nil
}

// channelFirst reports an error for layouts whose channels come last.
func channelFirst(layout string) error {
	switch layout {
	case "NHWC", "NDHWC", "NWC":
		return op.Errorf("layout", "%s is not supported, want NCW, NCHW or NCDHW", layout)
	}
	return nil
}
