package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// deformer computes a deformable convolution image by image. A column matrix holds the
// interpolated data of an image: a row for each input channel and window element, a column for each
// position of the output.
type deformer struct {
	deformation
	window
	inChan, outChan  int
	size, taps, area int       // elements of an input channel, window elements, output positions
	columns          []float64 // column matrix of the image in work
}

func (d deformation) deformer(data, output dtype.Shape) *deformer {
	f := &deformer{deformation: d, inChan: data[1], outChan: output[1],
		window: newWindow(data[2:], output[2:], d.Kernel, d.Stride, d.Dilate, d.Pad)}
	f.size, f.taps, f.area = volume(f.in), volume(f.kernel), volume(f.out)
	f.columns = make([]float64, f.inChan*f.taps*f.area)
	return f
}

// reading is one interpolation: four elements of a channel, -1 for elements that are 0, and the
// position between them, both coordinates from 0 to 1.
type reading struct {
	at     [4]int // upper left, upper right, lower left, lower right
	fy, fx float64
}

// read returns the interpolation at a point of a channel; ok is false where it is 0.
func (f *deformer) read(y, x float64) (r reading, ok bool) {
	h, w, low := f.in[1], f.in[2], 0.0
	if f.modulated {
		low = -1
	}
	inside := y >= low && x >= low && y < float64(h) && x < float64(w)
	if !inside || f.modulated && (y == low || x == low) {
		return r, false
	}
	top, left := int(math.Floor(y)), int(math.Floor(x))
	bottom, right := top+1, left+1
	r.fy, r.fx = y-float64(top), x-float64(left)
	if !f.modulated {
		bottom, right = min(bottom, h-1), min(right, w-1)
	}
	for i, p := range [4][2]int{{top, left}, {top, right}, {bottom, left}, {bottom, right}} {
		if r.at[i] = p[0]*w + p[1]; p[0] < 0 || p[0] >= h || p[1] < 0 || p[1] >= w {
			r.at[i] = -1
		}
	}
	return r, true
}

// weights returns the factors of the four elements.
func (r *reading) weights() [4]float64 {
	return [4]float64{(1 - r.fy) * (1 - r.fx), (1 - r.fy) * r.fx, r.fy * (1 - r.fx), r.fy * r.fx}
}

// values returns the four elements of a channel.
func (r *reading) values(channel []float64) (v [4]float64) {
	for i, at := range r.at {
		if at >= 0 {
			v[i] = channel[at]
		}
	}
	return v
}

// each calls f for every window element and position of the offset groups of one image: place is
// the index into the mask, offset the index of the first offset; the channels of the group begin
// with first.
func (f *deformer) each(offsets []float64, visit func(r reading, place, offset, first, tap,
	pos int)) {
	for g := range f.groups {
		for tap := range f.taps {
			y0 := tap/f.kernel[2]*f.dilate[1] - f.pad[1]
			x0 := tap%f.kernel[2]*f.dilate[2] - f.pad[2]
			for pos := range f.area {
				place := (g*f.taps+tap)*f.area + pos
				offset := 2*(g*f.taps+tap)*f.area + pos
				y := float64(pos/f.out[2]*f.stride[1]+y0) + offsets[offset]
				x := float64(pos%f.out[2]*f.stride[2]+x0) + offsets[offset+f.area]
				if r, ok := f.read(y, x); ok {
					visit(r, place, offset, g*f.inChan/f.groups, tap, pos)
				}
			}
		}
	}
}

// gather fills the column matrix; mask may be nil.
func (f *deformer) gather(image, offsets, mask []float64) {
	clear(f.columns)
	f.each(offsets, func(r reading, place, _, first, tap, pos int) {
		factor := 1.0
		if mask != nil {
			factor = mask[place]
		}
		weights := r.weights()
		for c := first; c < first+f.inChan/f.groups; c++ {
			sum := 0.0
			for i, v := range r.values(image[c*f.size:]) {
				sum += weights[i] * v
			}
			f.columns[(c*f.taps+tap)*f.area+pos] = factor * sum
		}
	})
}

// rows calls visit for every weight element with its row of the column matrix and its output
// channel.
func (f *deformer) rows(visit func(weight int, column []float64, out int)) {
	n := f.inChan / f.NumGroup * f.taps
	for o := range f.outChan {
		first := o / (f.outChan / f.NumGroup) * n
		for i := range n {
			visit(o*n+i, f.columns[(first+i)*f.area:(first+i+1)*f.area], o)
		}
	}
}

// part returns the elements of image n of an array, or nil.
func part(list []float64, n, batch int) []float64 {
	size := len(list) / max(1, batch)
	return list[n*size : (n+1)*size]
}

// forward is the reference kernel.
func (d deformation) forward(c *op.Call) error {
	batch, w := c.In[0].Shape[0], d.weight()
	f := d.deformer(c.In[0].Shape, c.Out[0].Shape)
	x, offsets, weight := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[w])
	y := make([]float64, c.Out[0].Shape.Size())
	for n := range batch {
		f.gather(part(x, n, batch), part(offsets, n, batch), d.mask(c.In[2], n, batch))
		out := part(y, n, batch)
		f.rows(func(k int, column []float64, o int) {
			row := out[o*f.area : (o+1)*f.area]
			for i, v := range column {
				row[i] += weight[k] * v
			}
		})
	}
	if !d.NoBias {
		addBias(y, loop.Floats(c.In[w+1]), f.area)
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

// mask returns the mask of image n, nil for the operator without one.
func (d deformation) mask(t op.Tensor, n, batch int) []float64 {
	if !d.modulated {
		return nil
	}
	return part(loop.Floats(t), n, batch)
}

// backward is the reference kernel of the gradient.
func (d deformation) backward(c *op.Call) error {
	batch, w := c.In[1].Shape[0], d.weight()
	f := d.deformer(c.In[1].Shape, c.In[0].Shape)
	dy, x, offsets := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	weight := loop.Floats(c.In[w+1])
	grads := make([][]float64, len(c.Out))
	for i, t := range c.Out {
		grads[i] = make([]float64, t.Shape.Size())
	}
	for n := range batch {
		image, moved := part(x, n, batch), part(offsets, n, batch)
		mask, head := d.mask(c.In[3], n, batch), part(dy, n, batch)
		f.gather(image, moved, mask)
		f.backWeights(grads[w], head)
		f.backColumns(head, weight)
		var dmask []float64
		if d.modulated {
			dmask = part(grads[2], n, batch)
		}
		f.scatter(image, moved, mask, part(grads[0], n, batch), part(grads[1], n, batch), dmask)
	}
	if !d.NoBias {
		grads[w+1] = sumChannels(dy, f.outChan, f.area)
	}
	for i, t := range c.Out {
		if t.Data != nil {
			loop.Store(t, 0, grads[i])
		}
	}
	return nil
}

// backWeights adds the gradient of the weight for one image, whose column matrix is gathered.
func (f *deformer) backWeights(dw, dy []float64) {
	f.rows(func(k int, column []float64, o int) {
		for i, v := range column {
			dw[k] += dy[o*f.area+i] * v
		}
	})
}

// backColumns replaces the column matrix by its gradient.
func (f *deformer) backColumns(dy, weight []float64) {
	clear(f.columns)
	f.rows(func(k int, column []float64, o int) {
		for i := range column {
			column[i] += weight[k] * dy[o*f.area+i]
		}
	})
}

// scatter adds the gradients of an image, its offsets and its mask from the gradient of the column
// matrix.
func (f *deformer) scatter(image, offsets, mask, dx, doffsets, dmask []float64) {
	f.each(offsets, func(r reading, place, offset, first, tap, pos int) {
		weights, factor := r.weights(), 1.0
		if mask != nil {
			factor = mask[place]
		}
		for c := first; c < first+f.inChan/f.groups; c++ {
			g := f.columns[(c*f.taps+tap)*f.area+pos]
			v := r.values(image[c*f.size:])
			for i, at := range r.at {
				if dmask != nil {
					dmask[place] += g * weights[i] * v[i]
				}
				if at >= 0 {
					dx[c*f.size+at] += g * factor * weights[i]
				}
			}
			doffsets[offset] += g * factor * ((1-r.fx)*(v[2]-v[0]) + r.fx*(v[3]-v[1]))
			doffsets[offset+f.area] += g * factor * ((1-r.fy)*(v[1]-v[0]) + r.fy*(v[3]-v[2]))
		}
	})
}
