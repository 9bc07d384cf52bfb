//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// partsArgs is the parameter of kernels in sample.cu.
type partsArgs struct {
	out, in, rois, data, trans unsafe.Pointer
	images, planes, h, w, rows int
	channels, pooled, groups   int
	parts, samples, classes    int
	scale, std                 float64
}

// partsCUDA returns the arguments for the extents of data and a number of regions.
func (s sensitive) partsCUDA(data op.Desc, rows int) (partsArgs, error) {
	if !cuda.Serves("sample", data.DType) {
		return partsArgs{}, op.ErrUnsupported
	}
	x := data.Shape
	return partsArgs{images: x[0], planes: x[1], h: x[2], w: x[3], rows: rows,
		channels: s.channels, pooled: s.pooled, groups: s.groups, parts: 1, samples: 1,
		classes: 1, scale: narrow[float64](s.scale)}, nil
}

// partsFunc returns a kernel of sample.cu.
func partsFunc(name string, t dtype.Type) *cuda.Function { return cuda.Func("sample", name, t) }

func init() {
	attach.CUDA(PSROIPooling, func(p PSROIPoolingParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.sensitive().partsCUDA(a.In[0], a.In[1].Shape[0])
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(partsFunc("psroi", a.In[0].DType), a.Out[0].Shape.Size(), k,
			func(k partsArgs, c *op.Call) partsArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
	attach.CUDA(psroiPoolingGrad, func(p PSROIPoolingParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.sensitive().partsCUDA(a.Out[0], a.In[1].Shape[0])
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(partsFunc("psroi_grad", a.Out[0].DType), a.Out[0].Shape.Size(), k,
			func(k partsArgs, c *op.Call) partsArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
