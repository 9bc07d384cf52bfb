package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// pooling is the index arithmetic of Pooling. Elements of the data are numbered over all images
// and channels, by strides that serve both layouts.
type pooling struct {
	window
	batch, channels int
	x, y            [5]int // strides of batch, channel and three spatial axes on both sides
	avg, countPad   bool
}

func newPooling(p PoolingParams, data, output dtype.Shape) *pooling {
	channel, spatial := poolLayout(p, len(data))
	axes := len(data) - 2
	in, out := data[spatial:spatial+axes], output[spatial:spatial+axes]
	if p.GlobalPool {
		p.Kernel, p.Stride, p.Pad = in, nil, nil
	}
	g := &pooling{window: newWindow(in, out, p.Kernel, p.Stride, nil, p.Pad), batch: data[0],
		channels: data[channel],
		avg:      p.PoolType == "avg", countPad: p.CountIncludePad.Or(true)}
	for side, s := range map[*[5]int][]int{&g.x: data.Strides(), &g.y: output.Strides()} {
		side[0], side[1] = s[0], s[channel]
		for i := range axes {
			side[5-axes+i] = s[spatial+i]
		}
	}
	return g
}

// cell is one position of the window: the elements of the data from lo to hi along each axis.
type cell struct {
	out, base int
	lo, hi    [3]int
	covered   int // elements in the window, padding included
	count     int // elements that the average counts
}

// each visits all positions.
func (g *pooling) each(f func(c *cell)) {
	for i := range g.batch * g.channels {
		b, ch := i/g.channels, i%g.channels
		for pos := range volume(g.out) {
			at := [3]int{pos / g.out[2] / g.out[1], pos / g.out[2] % g.out[1], pos % g.out[2]}
			c := cell{out: b*g.y[0] + ch*g.y[1], base: b*g.x[0] + ch*g.x[1], covered: 1, count: 1}
			for a, p := range at {
				c.out += p * g.y[2+a]
				lo := p*g.stride[a] - g.pad[a]
				hi := min(lo+g.kernel[a], g.in[a]+g.pad[a])
				c.lo[a], c.hi[a] = max(lo, 0), min(hi, g.in[a])
				c.covered *= max(hi-lo, 0)
				if !g.countPad {
					lo, hi = c.lo[a], c.hi[a]
				}
				c.count *= max(hi-lo, 0)
			}
			f(&c)
		}
	}
}

// elements visits the data of one window.
func (g *pooling) elements(c *cell, f func(i int)) {
	for d := c.lo[0]; d < c.hi[0]; d++ {
		for h := c.lo[1]; h < c.hi[1]; h++ {
			for w := c.lo[2]; w < c.hi[2]; w++ {
				f(c.base + d*g.x[2] + h*g.x[3] + w*g.x[4])
			}
		}
	}
}

// scale is the factor of a sum over a window.
func (g *pooling) scale(c *cell) float64 {
	switch {
	case !g.avg:
		return 1
	case c.count == 0:
		return 0
	}
	return 1 / float64(c.count)
}

// argmax returns the first largest element of a window, -1 when there is none.
func (g *pooling) argmax(c *cell, x []float64) int {
	best := -1
	g.elements(c, func(i int) {
		if best < 0 && !math.IsNaN(x[i]) || best >= 0 && x[i] > x[best] {
			best = i
		}
	})
	return best
}

// lowest is the most negative finite value of an element type: the maximum of nothing.
func lowest(t dtype.Type) float64 {
	switch t {
	case dtype.Float64:
		return -math.MaxFloat64
	case dtype.Float16:
		return -65504
	case dtype.BFloat16:
		return float64(dtype.BF16(0xff7f).Float32())
	}
	return -math.MaxFloat32
}

func poolRef(p PoolingParams, c *op.Call) error {
	g := newPooling(p, c.In[0].Shape, c.Out[0].Shape)
	x, y := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
	power := float64(p.PValue.Or(1))
	g.each(func(w *cell) {
		if p.PoolType == "max" {
			y[w.out] = lowest(c.In[0].DType)
			if i := g.argmax(w, x); i >= 0 {
				y[w.out] = x[i]
			}
			return
		}
		sum := 0.0
		g.elements(w, func(i int) {
			if p.PoolType == "lp" {
				sum += math.Pow(x[i], power)
			} else {
				sum += x[i]
			}
		})
		if p.PoolType == "lp" {
			sum = root(sum, p.PValue.Or(1))
		}
		y[w.out] = sum * g.scale(w)
	})
	loop.Store(c.Out[0], 0, y)
	return nil
}

// root is the root of power 1, 2 or 3; the third one is defined for sums below zero too.
func root(sum float64, power int) float64 {
	switch power {
	case 2:
		return math.Sqrt(sum)
	case 3:
		return math.Cbrt(sum)
	}
	return sum
}

// poolGradRef serves all types; the sums read neither data nor output.
func poolGradRef(p PoolingParams, c *op.Call) error {
	g := newPooling(p, c.Out[0].Shape, c.In[0].Shape)
	dy, dx := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
	switch p.PoolType {
	case "max":
		x := loop.Floats(c.In[1])
		g.each(func(w *cell) {
			if i := g.argmax(w, x); i >= 0 {
				dx[i] += dy[w.out]
			}
		})
	case "lp":
		x, y, power := loop.Floats(c.In[1]), loop.Floats(c.In[2]), float64(p.PValue.Or(1))
		g.each(func(w *cell) {
			if y[w.out] == 0 && power > 1 {
				return
			}
			g.elements(w, func(i int) { dx[i] += dy[w.out] * math.Pow(x[i]/y[w.out], power-1) })
		})
	default:
		g.each(func(w *cell) {
			v := dy[w.out] * g.scale(w)
			g.elements(w, func(i int) { dx[i] += v })
		})
	}
	loop.Store(c.Out[0], 0, dx)
	return nil
}
