package vision

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// Im2ColParams configures Im2Col.
type Im2ColParams struct {
	Kernel []int `op:"kernel,required" doc:"extent of a patch: (w), (h, w) or (d, h, w)"`
	Stride []int `op:"stride" doc:"distance between patches, 1 by default"`
	Dilate []int `op:"dilate" doc:"distance between elements of a patch, 1 by default"`
	Pad    []int `op:"pad" doc:"extent added on both sides, 0 by default"`
}

// Col2ImParams configures Col2Im.
type Col2ImParams struct {
	OutputSize []int `op:"output_size,required" doc:"extent of the image: (w), (h, w) or (d, h, w)"`
	Kernel     []int `op:"kernel,required" doc:"extent of a patch"`
	Stride     []int `op:"stride" doc:"distance between patches, 1 by default"`
	Dilate     []int `op:"dilate" doc:"distance between elements of a patch, 1 by default"`
	Pad        []int `op:"pad" doc:"extent added on both sides, 0 by default"`
}

// Im2Col and Col2Im convert images to patches and back. The gradient of Im2Col reads the shape of
// the data.
var (
	Im2Col     = op.Declare[Im2ColParams]("im2col")
	Col2Im     = op.Declare[Col2ImParams]("col2im")
	im2colGrad = op.Declare[Im2ColParams]("_backward_im2col")
)

func init() {
	Im2Col.Define(op.Spec[Im2ColParams]{
		Traits: op.Traits{
			GoName: "Im2Col",
			Doc: `Im2Col copies the patches that a convolution reads to columns.

Data has shape (n, c, [d,] [h,] w), the output (n, c·k, p): k elements of a patch, p patches.
Elements in the padding are 0. The product of a convolution's weight with the columns is its output.`,
		},
		Infer: func(p Im2ColParams, in, out []dtype.Shape) error {
			return inferPatches(p, [2]string{"data", "output"}, &in[0], &out[0])
		},
		InferType: op.FloatType[Im2ColParams],
		Grad: func(g *op.Grad, p Im2ColParams) []op.Entry {
			return []op.Entry{im2colGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: inType(toColumns[float32], toColumns[float64]),
	})
	Col2Im.Define(op.Spec[Col2ImParams]{
		Traits: op.Traits{
			GoName: "Col2Im",
			Doc: `Col2Im adds up columns to an image: each element at the position from which Im2Col copies it.

Data has shape (n, c·k, p), the output (n, c, [d,] [h,] w). It is the gradient of Im2Col, not its
inverse: elements in several patches get the sum.`,
		},
		Infer: func(p Col2ImParams, in, out []dtype.Shape) error {
			if len(p.OutputSize) != len(p.Kernel) {
				return op.Errorf("output_size", "%v, want one number for each of kernel %v",
					dtype.Shape(p.OutputSize), dtype.Shape(p.Kernel))
			}
			if err := op.Require("output", &out[0], append(dtype.Shape{-1, -1},
				p.OutputSize...)); err != nil {
				return err
			}
			return inferPatches(p.patches(), [2]string{"output", "data"}, &out[0], &in[0])
		},
		InferType: op.FloatType[Col2ImParams],
		Grad: func(g *op.Grad, p Col2ImParams) []op.Entry {
			return []op.Entry{Im2Col.Apply(p.patches(), g.Head(0))}
		},
		Ref: inType(fromColumns[float32], fromColumns[float64]),
	})
	im2colGrad.Define(op.Spec[Im2ColParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: prim.Inputs[Im2ColParams]("out_grad", "data"),
		Infer: func(p Im2ColParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			if err := inferPatches(p, [2]string{"data", "out_grad"}, &in[1], &in[0]); err != nil {
				return err
			}
			out[0] = in[1].Clone()
			return nil
		},
		InferType: op.FloatType[Im2ColParams],
		Grad: prim.Adjoint(func(_ *op.Grad, p Im2ColParams, h op.Entry) op.Entry {
			return Im2Col.Apply(p, h)
		}),
		Ref: inType(addColumns[float32], addColumns[float64]),
	})
}

func (p Col2ImParams) patches() Im2ColParams {
	return Im2ColParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate, Pad: p.Pad}
}

// check checks the length and the bounds of the lists of parameters.
func (p Im2ColParams) check() error {
	n := len(p.Kernel)
	if n < 1 || n > 3 {
		return op.Errorf("kernel", "%v, want 1, 2 or 3 numbers", dtype.Shape(p.Kernel))
	}
	for _, a := range []struct {
		name  string
		list  []int
		least int
	}{{"kernel", p.Kernel, 1}, {"stride", p.Stride, 1}, {"dilate", p.Dilate, 1},
		{"pad", p.Pad, 0}} {
		const most = 1 << 20
		if len(a.list) != 0 && (len(a.list) != n || slices.Min(a.list) < a.least ||
			slices.Max(a.list) > most) {
			return op.Errorf(a.name, "%v, want %d numbers from %d to %d", dtype.Shape(a.list), n,
				a.least, most)
		}
	}
	return nil
}

// at returns list[i], or def if the list is empty.
func at(list []int, i, def int) int {
	if len(list) == 0 {
		return def
	}
	return list[i]
}

// positions returns the number of patches along spatial axis i of n elements.
func (p Im2ColParams) positions(i, n int) (int, error) {
	if n == -1 {
		return -1, nil
	}
	size, padded := (p.Kernel[i]-1)*at(p.Dilate, i, 1)+1, n+2*at(p.Pad, i, 0)
	if padded < size {
		return 0, op.Errorf("kernel", "%v covers %d elements of spatial axis %d, which has %d "+
			"with padding", dtype.Shape(p.Kernel), size, i, padded)
	}
	return (padded-size)/at(p.Stride, i, 1) + 1, nil
}

// volume returns the number of elements of a patch.
func (p Im2ColParams) volume() int {
	n := 1
	for _, k := range p.Kernel {
		n *= k
	}
	return n
}

// inferPatches infers the shapes of image and columns from each other.
func inferPatches(p Im2ColParams, names [2]string, image, columns *dtype.Shape) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := op.Require(names[1], columns, dtype.Shape{-1, -1, -1}); err != nil {
		return err
	}
	want := slices.Repeat(dtype.Shape{-1}, len(p.Kernel)+2)
	channels, ok := over((*columns)[1], p.volume())
	if !ok {
		return op.Errorf(names[1], "shape %v, want a multiple of the %d elements of a patch",
			*columns, p.volume())
	}
	want[0], want[1] = (*columns)[0], channels
	if err := op.Require(names[0], image, want); err != nil {
		return err
	}
	count := 1
	for i, n := range (*image)[2:] {
		k, err := p.positions(i, n)
		if err != nil {
			return err
		}
		if count = times(count, k); k == -1 || count < 0 {
			count = -1
			break
		}
	}
	return op.Require(names[1], columns, dtype.Shape{(*image)[0], times((*image)[1], p.volume()),
		count})
}

// eachPatch calls f for the elements of all patches with the index in the columns and the index in
// the image, -1 in the padding. Missing leading axes of p have extent one.
func eachPatch(p Im2ColParams, image dtype.Shape, f func(column, image int)) {
	var in, out, kernel, stride, dilate, pad [3]int
	lead := 3 - len(p.Kernel)
	for a := range 3 {
		in[a], out[a], kernel[a] = 1, 1, 1
		if i := a - lead; i >= 0 {
			in[a], kernel[a] = image[2+i], p.Kernel[i]
			stride[a], dilate[a], pad[a] = at(p.Stride, i, 1), at(p.Dilate, i, 1), at(p.Pad, i, 0)
			out[a] = (in[a]+2*pad[a]-(kernel[a]-1)*dilate[a]-1)/stride[a] + 1
		}
	}
	column := 0
	for plane := range image[0] * image[1] {
		for k := range kernel[0] * kernel[1] * kernel[2] {
			tap := [3]int{k / kernel[2] / kernel[1], k / kernel[2] % kernel[1], k % kernel[2]}
			for pos := range out[0] * out[1] * out[2] {
				cell := [3]int{pos / out[2] / out[1], pos / out[2] % out[1], pos % out[2]}
				i := plane
				for a := range 3 {
					x := cell[a]*stride[a] + tap[a]*dilate[a] - pad[a]
					if i = i*in[a] + x; x < 0 || x >= in[a] {
						i = -1
						break
					}
				}
				f(column, i)
				column++
			}
		}
	}
}

func toColumns[T float](p Im2ColParams, c *op.Call) error {
	x, y := read[T](c.In[0]), blank[T](c.Out[0])
	eachPatch(p, c.In[0].Shape, func(column, image int) {
		if image >= 0 {
			y[column] = x[image]
		}
	})
	store(c.Out[0], y)
	return nil
}

func fromColumns[T float](p Col2ImParams, c *op.Call) error { return addColumns[T](p.patches(), c) }

func addColumns[T float](p Im2ColParams, c *op.Call) error {
	x, y := read[T](c.In[0]), blank[T](c.Out[0])
	eachPatch(p, c.Out[0].Shape, func(column, image int) {
		if image >= 0 {
			y[image] += x[column]
		}
	})
	store(c.Out[0], y)
	return nil
}
