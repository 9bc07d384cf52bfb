//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

// cutCUDA prepares a copy from a window of a larger array, pasteCUDA a copy into a window of an
// array of zeros.
func cutCUDA[P any](window func(p P, t op.Tensor, kept dtype.Shape) loop.View) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), window(p, c.In[0], c.Out[0].Shape))
		return nil
	})
}

func pasteCUDA[P any](window func(p P, t op.Tensor, kept dtype.Shape) loop.View) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		m.Clear(c.Out[0])
		m.Copy(c.In[0].Shape, window(p, c.Out[0], c.In[0].Shape), loop.Dense(c.In[0]))
		return nil
	})
}

// pixelArgs and scaleArgs are parameters of the kernels in image.cu.
type (
	pixelArgs struct {
		out, in            attach.Any
		n, channels, plane int
	}
	scaleArgs struct {
		out, in            attach.Any
		n, channels, plane int
		shift, divide      [4]float64
	}
)

// pixelsCUDA prepares a conversion between images of shape s, channels last, and feature maps.
func pixelsCUDA(name string, s dtype.Shape) (*op.Prepared, error) {
	r := len(s)
	k := pixelArgs{n: s.Size(), channels: s[r-1], plane: s[r-3] * s[r-2]}
	return attach.CUDAEach(attach.AnyFunc("image", name), k.n, k,
		func(k pixelArgs, c *op.Call) pixelArgs {
			k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
}

// scaleCUDA prepares (x - shift) / std per channel.
func (p ImageNormalizeParams) scaleCUDA(a *op.Args, shift []float64) (*op.Prepared, error) {
	s := a.In[0].Shape
	r := len(s)
	k := scaleArgs{n: s.Size(), channels: s[r-3], plane: s[r-2] * s[r-1]}
	for i := range min(k.channels, len(k.shift)) {
		k.shift[i], k.divide[i] = channel(shift, i), channel(p.Std, i)
	}
	return attach.CUDAEach(attach.AnyFunc("image", "scale"), k.n, k,
		func(k scaleArgs, c *op.Call) scaleArgs {
			k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
}

// patchArgs is the parameter of im2col and col2im in conv.cu.
type patchArgs struct {
	out, in                unsafe.Pointer
	batch, channels, image int
	inExt, outExt          [3]int
	kernel, stride         [3]int
	dilate, pad            [3]int
	columns                int
}

// patchesCUDA prepares a conversion between images and their columns, image by image.
func (p Im2ColParams) patchesCUDA(name string, image op.Desc, columns dtype.Shape) (*op.Prepared,
	error) {
	if !cuda.Serves("conv", image.DType) {
		return nil, op.ErrUnsupported
	}
	s, lead := image.Shape, 3-len(p.Kernel)
	k := patchArgs{batch: 1, channels: s[1], image: s[1:].Size(), columns: columns[2]}
	for a := range 3 {
		k.inExt[a], k.outExt[a], k.kernel[a], k.stride[a], k.dilate[a] = 1, 1, 1, 1, 1
		if i := a - lead; i >= 0 {
			k.inExt[a], k.kernel[a], k.stride[a], k.dilate[a], k.pad[a] = s[2+i], p.Kernel[i],
				at(p.Stride, i, 1), at(p.Dilate, i, 1), at(p.Pad, i, 0)
			k.outExt[a] = (k.inExt[a]+2*k.pad[a]-(k.kernel[a]-1)*k.dilate[a]-1)/k.stride[a] + 1
		}
	}
	f, size := cuda.Func("conv", name, image.DType), image.DType.Size()
	perImage, perColumns := s[1:].Size(), columns[1]*columns[2]
	to, from, n := perColumns*size, perImage*size, perColumns
	if name == "col2im" {
		to, from, n = from, to, perImage
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		for i := range s[0] {
			k := k
			k.out, k.in = unsafe.Add(c.Out[0].Data, i*to), unsafe.Add(c.In[0].Data, i*from)
			if err := cuda.LaunchWith(q, f, q.Each(n), &k); err != nil {
				return err
			}
		}
		return nil
	})
}
