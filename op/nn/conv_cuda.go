//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Convolution, func(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
		if last, err := convolutionLast(p, a); last != nil || err != nil {
			return last, err
		}
		a = plainArgs(a)
		k, err := newConvCUDA(newConvolution(p, a.In[0].Shape, a.Out[0].Shape), a.Out[0].DType)
		if err != nil {
			return nil, err
		}
		r, err := attach.OnQueue(k.scratch, func(q *cuda.Queue, c *op.Call) error {
			var bias unsafe.Pointer
			if !p.NoBias {
				bias = c.In[2].Data
			}
			return k.forward(q, c.Out[0].Data, c.In[0].Data, c.In[1].Data, bias, c.Scratch)
		})
		r.In = a.In
		return r, err
	})
	attach.CUDA(ConvolutionGrad, func(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
		if last, err := convolutionGradLast(p, a); last != nil || err != nil {
			return last, err
		}
		a = plainArgs(a)
		k, err := newConvCUDA(newConvolution(p, a.In[1].Shape, a.In[0].Shape), a.In[0].DType)
		if err != nil {
			return nil, err
		}
		bias, err := biasGradCUDA(a.In[0], p.NoBias)
		if err != nil {
			return nil, err
		}
		r, err := attach.OnQueue(max(k.scratch, bias.Scratch()),
			func(q *cuda.Queue, c *op.Call) error {
				dy, x, w := c.In[0].Data, c.In[1].Data, c.In[2].Data
				if c.Out[0].Data != nil {
					if err := k.backData(q, c.Out[0].Data, dy, w, nil, c.Scratch); err != nil {
						return err
					}
				}
				if c.Out[1].Data != nil {
					if err := k.backWeight(q, c.Out[1].Data, dy, x, c.Scratch); err != nil {
						return err
					}
				}
				return sumBias(q, c, bias, dy)
			})
		r.In = a.In
		return r, err
	})
}

// plainArgs returns a with plain inputs, which the layout pass makes where they are not.
func plainArgs(a *op.Args) *op.Args {
	plain := *a
	plain.In = make([]op.Desc, len(a.In))
	for i, d := range a.In {
		plain.In[i] = op.Plain(d.DType, d.Shape)
	}
	return &plain
}

func deconvolutionCUDA(p DeconvolutionParams, a *op.Args) (*op.Prepared, error) {
	k, err := newConvCUDA(newTransposed(p, a.In[0].Shape, a.Out[0].Shape), a.Out[0].DType)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(k.scratch, func(q *cuda.Queue, c *op.Call) error {
		var bias unsafe.Pointer
		if !p.NoBias.Value() {
			bias = c.In[2].Data
		}
		return k.backData(q, c.Out[0].Data, c.In[0].Data, c.In[1].Data, bias, c.Scratch)
	})
}

// biasGradCUDA prepares the sum of dy over all axes but the channels'.
func biasGradCUDA(dy op.Desc, noBias bool) (*attach.Reduction, error) {
	if noBias {
		return &attach.Reduction{}, nil
	}
	mask := make([]bool, len(dy.Shape))
	for i := range mask {
		mask[i] = i != 1
	}
	return attach.NewReduction("sum", dy.DType, dy.Shape, mask, 1)
}

// sumBias puts that sum on the queue, where output 2 wants it.
func sumBias(q *cuda.Queue, c *op.Call, bias *attach.Reduction, dy unsafe.Pointer) error {
	if len(c.Out) < 3 || c.Out[2].Data == nil {
		return nil
	}
	return bias.Run(q, c.Out[2].Data, dy, c.Scratch)
}

// mostColumns bounds the matrix that a turn of a convolution makes of its data, in bytes.
const mostColumns = 256 << 20

// convCUDA is a convolution by products: windows become columns of a matrix, as many images at a
// time as fit.
type convCUDA struct {
	g    *convolution
	size int // bytes of an element
	// channels in and out of a group, elements of a window, positions and elements of an image
	ci, co, taps, spots, area           int
	turn, scratch                       int // images at a time; bytes
	im2col, col2im, collect, distribute *cuda.Function
	whole, rest                         convProducts

	dnn  *cuda.Conv // nil: the library is missing or does not take it
	need int        // with dnn: scratch memory where the library has no algorithm
}

// convProducts are the products for a number of images.
type convProducts struct{ forward, data, weight, weightMore *attach.Product }

// windowArgs is the parameter of im2col and col2im.
type windowArgs struct {
	out, in                unsafe.Pointer
	batch, channels, image int
	inExt, outExt          [3]int
	kernel, stride         [3]int
	dilate, pad            [3]int
	columns                int
}

func newConvCUDA(g *convolution, t dtype.Type) (*convCUDA, error) {
	if !cuda.Serves("conv", t) {
		return nil, op.ErrUnsupported
	}
	k := &convCUDA{g: g, size: t.Size(), ci: g.inChan / g.groups, co: g.outChan / g.groups,
		taps: volume(g.kernel), spots: volume(g.out), area: volume(g.in)}
	perImage := max((k.ci*k.taps+k.co)*k.spots*k.size, 1)
	k.turn = min(max(mostColumns/perImage, 1), max(g.batch, 1))
	k.scratch = k.turn*perImage + 256
	k.dnn = cuda.NewConv(t, convDims(g))
	if k.dnn != nil {
		k.scratch, k.need = 0, k.scratch
	}
	for name, f := range map[string]**cuda.Function{"im2col": &k.im2col, "col2im": &k.col2im,
		"gather": &k.collect, "scatter": &k.distribute} {
		*f = cuda.Func("conv", name, t)
	}
	var err error
	if k.whole, err = k.products(t, k.turn); err == nil {
		k.rest, err = k.products(t, g.batch%k.turn)
	}
	return k, err
}

// convDims describes a convolution of plain arrays to cuDNN.
func convDims(g *convolution) cuda.ConvDims {
	return cuda.ConvDims{Batch: g.batch, In: g.inChan, Out: g.outChan, Groups: g.groups,
		Image: g.in[:], Result: g.out[:], Kernel: g.kernel[:], Stride: g.stride[:], Pad: g.pad[:],
		Dilate: g.dilate[:]}
}

func (k *convCUDA) products(t dtype.Type, images int) (p convProducts, err error) {
	n := images * k.spots
	w, cols, y := attach.Dense(k.co, k.ci*k.taps), attach.Dense(k.ci*k.taps, n),
		attach.Dense(k.co, n)
	for _, m := range []struct {
		p       **attach.Product
		a, b, c attach.Matrix
		beta    float64
	}{{&p.forward, w, cols, y, 0}, {&p.data, w.T(), y, cols, 0}, {&p.weight, y, cols.T(), w, 0},
		{&p.weightMore, y, cols.T(), w, 1}} {
		if *m.p, err = attach.NewProduct(t, 1, m.a, m.b, m.c, 1, m.beta); err != nil {
			return p, err
		}
	}
	return p, nil
}

// step is one group of channels of some images.
type convStep struct {
	products      *convProducts
	images, first int
	group         int
	cols, packed  unsafe.Pointer // of scratch memory
	x, y, weight  int            // bytes from the beginning of the operands
	bias          int
}

// each visits the steps of a run in order.
func (k *convCUDA) each(scratch unsafe.Pointer, f func(s *convStep) error) error {
	g := k.g
	for first := 0; first < g.batch; first += k.turn {
		s := convStep{products: &k.whole, images: min(k.turn, g.batch-first), first: first,
			cols: scratch}
		if s.images < k.turn {
			s.products = &k.rest
		}
		s.packed = unsafe.Add(scratch, (k.ci*k.taps*s.images*k.spots*k.size+255)&^255)
		for s.group = range g.groups {
			s.x = (first*g.inChan + s.group*k.ci) * k.area * k.size
			s.y = (first*g.outChan + s.group*k.co) * k.spots * k.size
			s.weight, s.bias = s.group*k.co*k.ci*k.taps*k.size, s.group*k.co*k.size
			if err := f(&s); err != nil {
				return err
			}
		}
	}
	return nil
}

// slide runs im2col or col2im.
func (k *convCUDA) slide(q *cuda.Queue, f *cuda.Function, s *convStep, out, in unsafe.Pointer,
	n int) error {
	g := k.g
	args := windowArgs{out: out, in: in, batch: s.images, channels: k.ci, image: g.inChan * k.area,
		inExt: g.in, outExt: g.out, kernel: g.kernel,
		stride: g.stride, dilate: g.dilate, pad: g.pad, columns: s.images * k.spots}
	return cuda.LaunchWith(q, f, q.Each(n), &args)
}

// pack runs gather or scatter between an array of the layer's output and the operand of a product.
func (k *convCUDA) pack(q *cuda.Queue, f *cuda.Function, s *convStep, out, in,
	bias unsafe.Pointer) error {
	return q.Launch(f, q.Each(s.images*k.co*k.spots), cuda.P(out), cuda.P(in), cuda.P(bias),
		cuda.I(s.images), cuda.I(k.co), cuda.I(k.spots), cuda.I(k.g.outChan*k.spots))
}

// library runs f, which puts work of cuDNN on q. Where the library has no algorithm done is false,
// and space is free for products.
func (k *convCUDA) library(q *cuda.Queue, scratch unsafe.Pointer,
	f func(c *cuda.Conv) error) (done bool, space unsafe.Pointer, err error) {
	if k.dnn == nil {
		return false, scratch, nil
	}
	if err := f(k.dnn); err != cuda.ErrNoAlgorithm {
		return true, nil, err
	}
	space, err = q.Workspace(k.need)
	return err != nil, space, err
}

// forward computes y = w * x + bias.
func (k *convCUDA) forward(q *cuda.Queue, y, x, w, bias, scratch unsafe.Pointer) error {
	done, scratch, err := k.library(q, scratch, func(c *cuda.Conv) error {
		return c.Forward(q, y, x, w)
	})
	if done && err == nil && bias != nil {
		return addBiasCUDA(q, k.im2col, y, bias, k.g.batch, k.g.outChan, k.spots)
	}
	if done {
		return err
	}
	return k.each(scratch, func(s *convStep) error {
		if err := k.slide(q, k.im2col, s, s.cols, unsafe.Add(x, s.x),
			k.ci*k.taps*s.images*k.spots); err != nil {
			return err
		}
		if err := s.products.forward.Run(q, unsafe.Add(w, s.weight), s.cols, s.packed); err != nil {
			return err
		}
		b := bias
		if b != nil {
			b = unsafe.Add(b, s.bias)
		}
		return k.pack(q, k.distribute, s, unsafe.Add(y, s.y), s.packed, b)
	})
}

// backData computes dx = wᵀ * dy, plus bias where the layer is a deconvolution.
func (k *convCUDA) backData(q *cuda.Queue, dx, dy, w, bias, scratch unsafe.Pointer) error {
	done, scratch, err := k.library(q, scratch, func(c *cuda.Conv) error {
		return c.BackData(q, dx, dy, w)
	})
	if !done {
		err = k.dataByProducts(q, dx, dy, w, scratch)
	}
	if err != nil || bias == nil {
		return err
	}
	return addBiasCUDA(q, k.im2col, dx, bias, k.g.batch, k.g.inChan, k.area)
}

// dataByProducts computes dx = wᵀ * dy.
func (k *convCUDA) dataByProducts(q *cuda.Queue, dx, dy, w, scratch unsafe.Pointer) error {
	return k.each(scratch, func(s *convStep) error {
		if err := k.pack(q, k.collect, s, s.packed, unsafe.Add(dy, s.y), nil); err != nil {
			return err
		}
		if err := s.products.data.Run(q, unsafe.Add(w, s.weight), s.packed, s.cols); err != nil {
			return err
		}
		return k.slide(q, k.col2im, s, unsafe.Add(dx, s.x), s.cols, s.images*k.ci*k.area)
	})
}

// backWeight computes dw = dy * x.
func (k *convCUDA) backWeight(q *cuda.Queue, dw, dy, x, scratch unsafe.Pointer) error {
	done, scratch, err := k.library(q, scratch, func(c *cuda.Conv) error {
		return c.BackWeight(q, dw, dy, x)
	})
	if done {
		return err
	}
	return k.each(scratch, func(s *convStep) error {
		if err := k.pack(q, k.collect, s, s.packed, unsafe.Add(dy, s.y), nil); err != nil {
			return err
		}
		if err := k.slide(q, k.im2col, s, s.cols, unsafe.Add(x, s.x),
			k.ci*k.taps*s.images*k.spots); err != nil {
			return err
		}
		p := s.products.weight
		if s.first > 0 {
			p = s.products.weightMore
		}
		return p.Run(q, s.packed, s.cols, unsafe.Add(dw, s.weight))
	})
}

// addBiasCUDA adds a number per channel to an array of [batch][channels][size]; like names the
// element type.
func addBiasCUDA(q *cuda.Queue, like *cuda.Function, y, bias unsafe.Pointer, batch, channels,
	size int) error {
	f := cuda.Func("conv", "bias", like.DType())
	return q.Launch(f, q.Each(batch*channels*size), cuda.P(y), 0, cuda.P(bias), cuda.I(batch),
		cuda.I(channels), cuda.I(size), 0)
}
