//go:build cuda

package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	corner := func(SliceLikeParams, dtype.Shape) ([]window, error) { return nil, nil }
	attach.CUDA(Slice, cutCUDA(SliceParams.windows))
	attach.CUDA(SliceAxis, cutCUDA(SliceAxisParams.windows))
	attach.CUDA(SliceLike, cutCUDA(corner))
	attach.CUDA(sliceGrad, pasteCUDA(SliceParams.windows))
	attach.CUDA(sliceAxisGrad, pasteCUDA(SliceAxisParams.windows))
	attach.CUDA(sliceLikeGrad, pasteCUDA(corner))
	attach.CUDA(SliceAssign, attach.CUDAMoves(func(p SliceParams, c *op.Call,
		m *attach.Moves) error {
		list, err := p.windows(c.Out[0].Shape)
		if err != nil {
			return err
		}
		shape := windowed(c.Out[0].Shape, list)
		m.Move(c.Out[0], c.In[0])
		m.Copy(shape, windowView(c.Out[0], list), loop.View{Tensor: c.In[1],
			Strides: loop.Broadcast(c.In[1].Shape, shape)})
		return nil
	}))
	attach.CUDA(SliceAssignScalar, regionCUDA)
}
