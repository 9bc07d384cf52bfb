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
	attach.CUDA(DeformableConvolution, deformCUDA[DeformableConvolutionParams])
	attach.CUDA(ModulatedDeformableConvolution, deformCUDA[ModulatedDeformableConvolutionParams])
	attach.CUDA(deformableGrad, deformGradCUDA[DeformableConvolutionParams])
	attach.CUDA(modulatedGrad, deformGradCUDA[ModulatedDeformableConvolutionParams])
}

// deformArgs is the parameter of kernels in conv.cu.
type deformArgs struct {
	out, data, offset, mask, cols, dmask, at, order unsafe.Pointer
	channels, groups, h, w, oh, ow                  int
	kernel, stride, dilate, pad                     [2]int
	group                                           int
}

// deformProducts computes deformable convolutions by products with the column matrix of one image.
type deformProducts struct {
	deformation
	fixed                                         deformArgs
	dtype                                         dtype.Type
	batch, outChan                                int
	reads, area                                   int // window elements and positions; positions
	columns, corners, data, offsets               *cuda.Function
	forward, backData, backWeight, backWeightMore *attach.Product
}

func newDeformProducts(d deformation, data, output dtype.Shape, t dtype.Type) (*deformProducts,
	error) {
	if !cuda.Serves("conv", t) {
		return nil, op.ErrUnsupported
	}
	w := newWindow(data[2:], output[2:], d.Kernel, d.Stride, d.Dilate, d.Pad)
	k := &deformProducts{deformation: d, dtype: t, batch: data[0], outChan: output[1]}
	last := func(v [3]int) [2]int { return [2]int(v[1:]) }
	k.fixed = deformArgs{channels: data[1], groups: d.groups, h: data[2], w: data[3],
		oh: output[2], ow: output[3], kernel: last(w.kernel), stride: last(w.stride),
		dilate: last(w.dilate), pad: last(w.pad)}
	k.area = output[2] * output[3]
	k.reads = volume(w.kernel) * k.area
	for name, f := range map[string]**cuda.Function{"columns": &k.columns, "corners": &k.corners,
		"data": &k.data, "offsets": &k.offsets} {
		*f = cuda.Func("conv", "deform_"+name, t)
	}
	ci, co := data[1]/d.NumGroup*volume(w.kernel), output[1]/d.NumGroup
	weight, cols, y := attach.Dense(co, ci), attach.Dense(ci, k.area), attach.Dense(co, k.area)
	for _, m := range []struct {
		p       **attach.Product
		a, b, c attach.Matrix
		beta    float64
	}{{&k.forward, weight, cols, y, 0}, {&k.backData, weight.T(), y, cols, 0},
		{&k.backWeight, y, cols.T(), weight, 0}, {&k.backWeightMore, y, cols.T(), weight, 1}} {
		var err error
		if *m.p, err = attach.NewProduct(t, 1, m.a, m.b, m.c, 1, m.beta); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// bytes returns the bytes of elements.
func (k *deformProducts) bytes(elements int) int { return elements * k.dtype.Size() }

// image returns the part of an operand, of size elements for each image, that image n has.
func (k *deformProducts) image(p unsafe.Pointer, n, size int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, k.bytes(n*size))
}

// args returns the arguments for image n of the operands from data on.
func (k *deformProducts) args(in []op.Tensor, n int) deformArgs {
	a := k.fixed
	a.data = k.image(in[0].Data, n, a.channels*a.h*a.w)
	a.offset = k.image(in[1].Data, n, 2*a.groups*k.reads)
	if k.modulated {
		a.mask = k.image(in[2].Data, n, a.groups*k.reads)
	}
	return a
}

// each calls f for the parts of weight, column matrix and output of all groups.
func (k *deformProducts) each(w, cols, y unsafe.Pointer, f func(w, cols,
	y unsafe.Pointer) error) error {
	n := k.NumGroup
	for g := range n {
		part := func(p unsafe.Pointer, size int) unsafe.Pointer {
			return unsafe.Add(p, k.bytes(g*size/n))
		}
		size := k.fixed.channels * k.reads
		if err := f(part(w, k.outChan*size/k.area/n), part(cols, size),
			part(y, k.outChan*k.area)); err != nil {
			return err
		}
	}
	return nil
}

func deformCUDA[P deformed](p P, a *op.Args) (*op.Prepared, error) {
	d := p.deformation()
	k, err := newDeformProducts(d, a.In[0].Shape, a.Out[0].Shape, a.In[0].DType)
	if err != nil {
		return nil, err
	}
	matrix := k.fixed.channels * k.reads
	return attach.OnQueue(k.bytes(matrix), func(q *cuda.Queue, c *op.Call) error {
		weight, y := c.In[d.weight()].Data, c.Out[0].Data
		for n := range k.batch {
			args := k.args(c.In, n)
			args.out = c.Scratch
			if err := cuda.LaunchWith(q, k.columns, q.Each(matrix), &args); err != nil {
				return err
			}
			if err := k.each(weight, c.Scratch, k.image(y, n, k.outChan*k.area),
				func(w, cols, y unsafe.Pointer) error {
					return k.forward.Run(q, w, cols, y)
				}); err != nil {
				return err
			}
		}
		if d.NoBias {
			return nil
		}
		return addBiasCUDA(q, k.columns, y, c.In[d.weight()+1].Data, k.batch, k.outChan, k.area)
	})
}

func deformGradCUDA[P deformed](p P, a *op.Args) (*op.Prepared, error) {
	d := p.deformation()
	w := d.weight()
	k, err := newDeformProducts(d, a.In[1].Shape, a.In[0].Shape, a.In[0].DType)
	if err != nil {
		return nil, err
	}
	bias, err := biasGradCUDA(a.In[0], d.NoBias)
	if err != nil {
		return nil, err
	}
	matrix, dataBytes, weightBytes := k.fixed.channels*k.reads, a.Out[0].Bytes, a.Out[w].Bytes
	memory := func(s *attach.CUDAScratch) (cols, at, order, sum unsafe.Pointer) {
		return s.Take(k.bytes(matrix)), s.Take(8 * 4 * k.reads), s.Take(k.sorted().Scratch()),
			s.Take(bias.Scratch())
	}
	var size attach.CUDAScratch
	memory(&size)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		cols, at, order, sum := memory(&attach.CUDAScratch{Base: c.Scratch})
		dx, dw := c.Out[0].Data, c.Out[w].Data
		if dx != nil {
			if err := q.Clear(dx, dataBytes); err != nil {
				return err
			}
		}
		if dw != nil && k.batch == 0 {
			if err := q.Clear(dw, weightBytes); err != nil {
				return err
			}
		}
		for n := range k.batch {
			if err := k.backImage(q, c, n, cols, at, order); err != nil {
				return err
			}
		}
		if d.NoBias || c.Out[w+1].Data == nil {
			return nil
		}
		return bias.Run(q, c.Out[w+1].Data, c.In[0].Data, sum)
	})
}

// backImage puts the gradients of image n on the queue, all but the bias's.
func (k *deformProducts) backImage(q *cuda.Queue, c *op.Call, n int, cols, at,
	order unsafe.Pointer) error {
	w := k.weight()
	args, head := k.args(c.In[1:], n), k.image(c.In[0].Data, n, k.outChan*k.area)
	if dw := c.Out[w].Data; dw != nil {
		args.out = cols
		if err := cuda.LaunchWith(q, k.columns, q.Each(args.channels*k.reads), &args); err != nil {
			return err
		}
		product := k.backWeight
		if n > 0 {
			product = k.backWeightMore
		}
		if err := k.each(dw, cols, head, func(w, cols, y unsafe.Pointer) error {
			return product.Run(q, y, cols, w)
		}); err != nil {
			return err
		}
	}
	if err := k.each(c.In[w+1].Data, cols, head, func(w, cols, y unsafe.Pointer) error {
		return k.backData.Run(q, w, y, cols)
	}); err != nil {
		return err
	}
	args.cols, args.at = cols, at
	args.out = k.image(c.Out[1].Data, n, 2*args.groups*k.reads)
	if k.modulated {
		args.dmask = k.image(c.Out[2].Data, n, args.groups*k.reads)
	}
	if args.out != nil || args.dmask != nil {
		if err := cuda.LaunchWith(q, k.offsets, q.Each(args.groups*k.reads), &args); err != nil {
			return err
		}
	}
	args.out = k.image(c.Out[0].Data, n, args.channels*args.h*args.w)
	if args.out == nil {
		return nil
	}
	return k.scatter(q, args, order)
}

// sorted describes the corners of all window elements of a group.
func (k *deformProducts) sorted() attach.Order {
	return attach.Order{Lanes: 1, N: 4 * k.reads, Step: 1, Ascend: true}
}

// scatter puts the gradient of the data of one image on the queue.
func (k *deformProducts) scatter(q *cuda.Queue, args deformArgs, memory unsafe.Pointer) error {
	for args.group = range args.groups {
		if err := cuda.LaunchWith(q, k.corners, q.Each(k.reads), &args); err != nil {
			return err
		}
		order, err := k.sorted().Run(q, attach.Any{Data: args.at, Type: cuda.Code(dtype.Int64)}, memory)
		if err != nil {
			return err
		}
		args.order = order
		if err := cuda.LaunchWith(q, k.data, q.Each(4*k.reads*args.channels/args.groups),
			&args); err != nil {
			return err
		}
	}
	return nil
}
