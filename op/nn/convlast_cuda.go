//go:build cuda

package nn

import (
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// convLast is a convolution by cuDNN whose arrays have their channels last, as tensor cores want
// them. Where the library has no algorithm it is computed with plain copies of its operands.
type convLast struct {
	dnn     *cuda.Conv
	plain   *convCUDA
	x, w, y lastOperand
}

// lastOperand is an array of the convolution. turn is nil where the channels last are the plain
// order too; copied says that the array outside is plain although this one is not.
type lastOperand struct {
	desc   op.Desc // as the convolution wants it
	turn   *attach.Turn
	copied bool
}

// newConvLast returns nil where plain arrays serve as well: without the layout pass, which offers
// the layouts of outputs, without tensor cores or cuDNN, for types of other than 16 bits and other
// than two spatial axes, and for channels that do not come by eights, unless the data already have
// them last.
func newConvLast(p ConvolutionParams, a *op.Args, x, w, y op.Desc) (*convLast, error) {
	if a.Free == nil || x.DType != dtype.Float16 && x.DType != dtype.BFloat16 ||
		len(x.Shape) != 4 || !cuda.HasTensorCores(a.Device.ID) ||
		p.NumFilter/p.NumGroup%8 != 0 && !attach.IsLast(x) {
		return nil, nil
	}
	g := newConvolution(p, x.Shape, y.Shape)
	d := convDims(g)
	d.Last = true
	k := &convLast{dnn: cuda.NewConv(x.DType, d)}
	if k.dnn == nil {
		return nil, nil
	}
	var err error
	if k.plain, err = newConvCUDA(g, x.DType); err != nil {
		return nil, err
	}
	for to, d := range map[*lastOperand]op.Desc{&k.x: x, &k.w: w, &k.y: y} {
		to.desc = attach.Last(d)
		if to.turn, err = attach.NewTurn(d); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// give prepares output i for an operand: with its channels last where the kernel may choose, and
// otherwise as a copy from scratch memory, of which it returns the bytes.
func (k *convLast) give(a *op.Args, i int, o *lastOperand, out []op.Desc) int {
	if o.turn == nil || !a.Needs(i) {
		return 0
	}
	if a.Chooses(i) {
		out[i] = o.desc
		return 0
	}
	o.copied = true
	return (o.desc.Bytes + 255) &^ 255
}

// convolutionLast prepares the layer with channels last; nil where it stays plain.
func convolutionLast(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
	k, err := newConvLast(p, a, a.In[0], a.In[1], a.Out[0])
	if k == nil || err != nil {
		return nil, err
	}
	in, out := slices.Clone(a.In), slices.Clone(a.Out)
	in[0], in[1] = k.x.desc, k.w.desc
	scratch := k.give(a, 0, &k.y, out)
	r, err := attach.OnQueue(scratch, func(q *cuda.Queue, c *op.Call) error {
		var bias unsafe.Pointer
		if !p.NoBias {
			bias = c.In[2].Data
		}
		return k.y.make(q, c.Out[0].Data, c.Scratch, func(y unsafe.Pointer) error {
			return k.forward(q, y, c.In[0].Data, c.In[1].Data, bias)
		})
	})
	r.In, r.Out = in, out
	return r, err
}

// convolutionGradLast prepares the gradients with channels last; nil where they stay plain.
func convolutionGradLast(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
	k, err := newConvLast(p, a, a.In[1], a.In[2], a.In[0])
	if k == nil || err != nil {
		return nil, err
	}
	in, out := slices.Clone(a.In), slices.Clone(a.Out)
	in[0], in[1], in[2] = k.y.desc, k.x.desc, k.w.desc
	dx, dw := k.x, k.w
	first := k.give(a, 0, &dx, out)
	second := first + k.give(a, 1, &dw, out)
	bias := &attach.Reduction{}
	if !p.NoBias {
		rows := dtype.Shape{k.plain.g.batch * k.plain.spots, k.plain.g.outChan}
		if bias, err = attach.NewReduction("sum", a.In[0].DType, rows, []bool{true, false},
			1); err != nil {
			return nil, err
		}
	}
	r, err := attach.OnQueue(second+bias.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		dy, x, w := c.In[0].Data, c.In[1].Data, c.In[2].Data
		if err := dx.make(q, c.Out[0].Data, c.Scratch, func(to unsafe.Pointer) error {
			return k.backData(q, to, dy, w)
		}); err != nil {
			return err
		}
		if err := dw.make(q, c.Out[1].Data, unsafe.Add(c.Scratch, first),
			func(to unsafe.Pointer) error { return k.backWeight(q, to, dy, x) }); err != nil {
			return err
		}
		if len(c.Out) < 3 || c.Out[2].Data == nil {
			return nil
		}
		return bias.Run(q, c.Out[2].Data, dy, unsafe.Add(c.Scratch, second))
	})
	r.In, r.Out = in, out
	return r, err
}

// make lets f fill the operand out, nil if nobody wants it, by way of scratch memory where out is
// plain.
func (o *lastOperand) make(q *cuda.Queue, out, scratch unsafe.Pointer,
	f func(to unsafe.Pointer) error) error {
	switch {
	case out == nil:
		return nil
	case !o.copied:
		return f(out)
	}
	if err := f(scratch); err != nil {
		return err
	}
	return o.turn.ToPlain(q, out, scratch)
}

// forward computes y = w * x + bias.
func (k *convLast) forward(q *cuda.Queue, y, x, w, bias unsafe.Pointer) error {
	err := k.dnn.Forward(q, y, x, w)
	if err == cuda.ErrNoAlgorithm {
		err = k.byCopies(q, [3]copied{{k.x, x}, {k.w, w}, {k.y, y}},
			func(p [3]unsafe.Pointer, space unsafe.Pointer) error {
				return k.plain.forward(q, p[2], p[0], p[1], nil, space)
			})
	}
	if err != nil || bias == nil {
		return err
	}
	g := k.plain.g
	return addBiasCUDA(q, k.plain.im2col, y, bias, g.batch*k.plain.spots, g.outChan, 1)
}

// backData computes dx = wᵀ * dy.
func (k *convLast) backData(q *cuda.Queue, dx, dy, w unsafe.Pointer) error {
	err := k.dnn.BackData(q, dx, dy, w)
	if err != cuda.ErrNoAlgorithm {
		return err
	}
	return k.byCopies(q, [3]copied{{k.y, dy}, {k.w, w}, {k.x, dx}},
		func(p [3]unsafe.Pointer, space unsafe.Pointer) error {
			return k.plain.backData(q, p[2], p[0], p[1], nil, space)
		})
}

// backWeight computes dw = dy * x.
func (k *convLast) backWeight(q *cuda.Queue, dw, dy, x unsafe.Pointer) error {
	err := k.dnn.BackWeight(q, dw, dy, x)
	if err != cuda.ErrNoAlgorithm {
		return err
	}
	return k.byCopies(q, [3]copied{{k.y, dy}, {k.x, x}, {k.w, dw}},
		func(p [3]unsafe.Pointer, space unsafe.Pointer) error {
			return k.plain.backWeight(q, p[2], p[0], p[1], space)
		})
}

// copied is an operand of which byCopies makes a plain copy.
type copied struct {
	lastOperand
	at unsafe.Pointer
}

// byCopies lets f compute the last of three operands from the first two in plain memory, and in
// scratch memory of plain.
func (k *convLast) byCopies(q *cuda.Queue, list [3]copied,
	f func(p [3]unsafe.Pointer, scratch unsafe.Pointer) error) error {
	total := k.plain.scratch
	for _, o := range list {
		total += (o.desc.Bytes + 255) &^ 255
	}
	space, err := q.Spare(total)
	if err != nil {
		return err
	}
	var p [3]unsafe.Pointer
	for i, o := range list {
		if p[i] = o.at; o.turn == nil {
			continue
		}
		p[i], space = space, unsafe.Add(space, (o.desc.Bytes+255)&^255)
		if i < 2 {
			if err := o.turn.ToPlain(q, p[i], o.at); err != nil {
				return err
			}
		}
	}
	if err := f(p, space); err != nil || list[2].turn == nil {
		return err
	}
	return list[2].turn.ToLast(q, list[2].at, p[2])
}
