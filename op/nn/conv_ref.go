package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// convolution is the index arithmetic of a grouped convolution from in channels to out channels.
// Deconvolution is the same with the roles of both sides exchanged.
type convolution struct {
	window
	batch, groups   int
	inChan, outChan int // of all groups together
}

func newConvolution(p ConvolutionParams, data, output dtype.Shape) *convolution {
	return &convolution{
		window: newWindow(data[2:], output[2:], p.Kernel, p.Stride, p.Dilate, p.Pad),
		batch:  data[0], groups: p.NumGroup, inChan: data[1], outChan: output[1],
	}
}

// each visits every multiplication of the layer in rows: weight element w joins n output elements
// from out on with the input elements from in on, stride apart.
func (g *convolution) each(f func(w, out, in, n int)) {
	ci, co := g.inChan/g.groups, g.outChan/g.groups
	inSize, outSize, taps := volume(g.in), volume(g.out), volume(g.kernel)
	for b := range g.batch {
		for o := range g.outChan {
			for i := range ci {
				w0 := (o*ci + i) * taps
				out0 := (b*g.outChan + o) * outSize
				in0 := (b*g.inChan + o/co*ci + i) * inSize
				g.rows(func(k, out, in, n int) { f(w0+k, out0+out, in0+in, n) })
			}
		}
	}
}

// forward computes y += w * x.
func (g *convolution) forward(y, x, w []float64) {
	s := g.stride[2]
	g.each(func(k, out, in, n int) {
		v := w[k]
		for j := range n {
			y[out+j] += v * x[in+j*s]
		}
	})
}

// backData computes dx += wᵀ * dy.
func (g *convolution) backData(dx, dy, w []float64) {
	s := g.stride[2]
	g.each(func(k, out, in, n int) {
		v := w[k]
		for j := range n {
			dx[in+j*s] += v * dy[out+j]
		}
	})
}

// backWeight computes dw += dy * x.
func (g *convolution) backWeight(dw, dy, x []float64) {
	s := g.stride[2]
	g.each(func(k, out, in, n int) {
		sum := 0.0
		for j := range n {
			sum += dy[out+j] * x[in+j*s]
		}
		dw[k] += sum
	})
}

// addBias adds bias[c] to every element of channel c; y has shape (n, len(bias), size/n/len(bias)).
func addBias(y, bias []float64, spatial int) {
	for i := range y {
		y[i] += bias[i/spatial%len(bias)]
	}
}

// sumChannels is the gradient of addBias.
func sumChannels(dy []float64, channels, spatial int) []float64 {
	db := make([]float64, channels)
	for i, v := range dy {
		db[i/spatial%channels] += v
	}
	return db
}

func convRef(p ConvolutionParams, c *op.Call) error {
	g := newConvolution(p, c.In[0].Shape, c.Out[0].Shape)
	y := make([]float64, c.Out[0].Shape.Size())
	g.forward(y, loop.Floats(c.In[0]), loop.Floats(c.In[1]))
	if !p.NoBias {
		addBias(y, loop.Floats(c.In[2]), volume(g.out))
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

func convGradRef(p ConvolutionParams, c *op.Call) error {
	g := newConvolution(p, c.In[1].Shape, c.In[0].Shape)
	dy := loop.Floats(c.In[0])
	if c.Out[0].Data != nil {
		dx := make([]float64, c.Out[0].Shape.Size())
		g.backData(dx, dy, loop.Floats(c.In[2]))
		loop.Store(c.Out[0], 0, dx)
	}
	if c.Out[1].Data != nil {
		dw := make([]float64, c.Out[1].Shape.Size())
		g.backWeight(dw, dy, loop.Floats(c.In[1]))
		loop.Store(c.Out[1], 0, dw)
	}
	if !p.NoBias && c.Out[2].Data != nil {
		loop.Store(c.Out[2], 0, sumChannels(dy, g.outChan, volume(g.out)))
	}
	return nil
}
