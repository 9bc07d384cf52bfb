//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// planesArgs, regionArgs, gridArgs and samplerArgs are parameters of the kernels in sample.cu.
type (
	planesArgs struct {
		out, in                       unsafe.Pointer
		planes, h, w, oh, ow, centres int
	}
	regionArgs struct {
		out, in, rois, index   unsafe.Pointer
		images, channels, h, w int
		rows, oh, ow, depth    int
		samples, aligned       int
		scale                  float64
	}
	gridArgs struct {
		grid           attach.Any
		out, in        unsafe.Pointer
		images, oh, ow int
	}
	samplerArgs struct {
		out, in, dy                    unsafe.Pointer
		grid, dgrid                    attach.Any
		images, channels, h, w, points int
		at, order                      unsafe.Pointer
	}
)

// planesCUDA prepares a kernel from planes of data to planes of an output or, with back, in the
// other direction.
func planesCUDA(name string, data, output op.Desc, back bool, centres int) (*op.Prepared, error) {
	if !cuda.Serves("sample", data.DType) {
		return nil, op.ErrUnsupported
	}
	s, o := data.Shape, output.Shape
	k, n := planesArgs{planes: s[0] * s[1], h: s[2], w: s[3], oh: o[2], ow: o[3], centres: centres},
		o.Size()
	if back {
		n = s.Size()
	}
	return attach.CUDAEach(cuda.Func("sample", name, data.DType), n, k,
		func(k planesArgs, c *op.Call) planesArgs {
			k.out, k.in = c.Out[0].Data, c.In[0].Data
			return k
		})
}

// newRegionArgs returns the arguments for the extents of data, regions and output.
func newRegionArgs(data op.Desc, out dtype.Shape, scale float64) (regionArgs, error) {
	if !cuda.Serves("sample", data.DType) {
		return regionArgs{}, op.ErrUnsupported
	}
	s := data.Shape
	return regionArgs{images: s[0], channels: out[1], h: s[2], w: s[3], rows: out[0], oh: out[2],
		ow: out[3], depth: 1, scale: narrow[float64](scale)}, nil
}

func (p ROIAlignParams) regionsCUDA(data op.Desc, out dtype.Shape) (regionArgs, error) {
	k, err := newRegionArgs(data, out, p.SpatialScale)
	if p.PositionSensitive {
		k.depth = out[2] * out[3]
	}
	k.samples, k.aligned = p.SampleRatio.Value(), attach.B2I(p.Aligned)
	return k, err
}

func newGridArgs(s dtype.Shape) gridArgs { return gridArgs{images: s[0], oh: s[2], ow: s[3]} }

func (p GridGeneratorParams) gridCUDA(name string, t dtype.Type, k gridArgs,
	fill func(k gridArgs, c *op.Call) gridArgs) (*op.Prepared, error) {
	if !cuda.Serves("sample", t) {
		return nil, op.ErrUnsupported
	}
	if name == "grid_affine_grad" {
		return attach.CUDABlocks(cuda.Func("sample", name, t), 2*k.images, k.oh*k.ow, k, fill)
	}
	return attach.CUDAEach(cuda.Func("sample", name, t), 2*k.images*k.oh*k.ow, k, fill)
}

func newSamplerArgs(data op.Desc, grid dtype.Shape) (samplerArgs, error) {
	if !cuda.Serves("sample", data.DType) {
		return samplerArgs{}, op.ErrUnsupported
	}
	s := data.Shape
	return samplerArgs{images: s[0], channels: s[1], h: s[2], w: s[3], points: grid[2] * grid[3]},
		nil
}

// samplerGradCUDA prepares a gradient that sorts the reads of points by element, so that each
// element sums over its reads.
func samplerGradCUDA(_ BilinearSamplerParams, a *op.Args) (*op.Prepared, error) {
	fixed, err := newSamplerArgs(a.In[1], a.In[2].Shape)
	if err != nil {
		return nil, err
	}
	t, count, bytes := a.In[1].DType, 4*fixed.images*fixed.points, a.Out[0].Bytes
	sorted := attach.Order{Lanes: 1, N: count, Step: 1, Ascend: true}
	corners, data := cuda.Func("sample", "sampler_grid", t), cuda.Func("sample", "sampler_data", t)
	return attach.OnQueue(8*count+sorted.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.dy, k.in, k.grid, k.out, k.at = c.In[0].Data, c.In[1].Data, attach.AnyOf(c.In[2]),
			c.Out[0].Data, c.Scratch
		k.dgrid = attach.AnyOf(c.Out[1])
		if err := cuda.LaunchWith(q, corners, q.Each(k.images*k.points), &k); err != nil ||
			k.out == nil {
			return err
		}
		if err := q.Clear(k.out, bytes); err != nil {
			return err
		}
		order, err := sorted.Run(q, attach.Any{Data: k.at, Type: cuda.Code(dtype.Int64)},
			unsafe.Add(c.Scratch, 8*count))
		if err != nil {
			return err
		}
		k.order = order
		return cuda.LaunchWith(q, data, q.Each(count*k.channels), &k)
	})
}

// transformerCUDA prepares a kernel that makes the grid in scratch memory, in the arithmetic type.
func transformerCUDA(p SpatialTransformerParams, a *op.Args) (*op.Prepared, error) {
	t, out, kind := a.In[0].DType, a.Out[0].Shape, dtype.Float32
	if t == dtype.Float64 {
		kind = t
	}
	fixed, err := newSamplerArgs(a.In[0], out)
	if err != nil {
		return nil, err
	}
	grid, read := cuda.Func("sample", "grid_"+p.TransformType, t), cuda.Func("sample", "sampler", t)
	points := 2 * out[0] * out[2] * out[3]
	return attach.OnQueue(points*kind.Size(), func(q *cuda.Queue, c *op.Call) error {
		g, k := newGridArgs(out), fixed
		g.grid, g.in = attach.Any{Data: c.Scratch, Type: cuda.Code(kind)}, c.In[1].Data
		if err := cuda.LaunchWith(q, grid, q.Each(points), &g); err != nil {
			return err
		}
		k.out, k.in, k.grid = c.Out[0].Data, c.In[0].Data, g.grid
		return cuda.LaunchWith(q, read, q.Each(out.Size()), &k)
	})
}
