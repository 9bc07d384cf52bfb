//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

// resizedArgs is the parameter of a kernel in image.cu.
type resizedArgs struct {
	out, in                                attach.Any
	images, h, w, oh, ow, channels, linear int
}

func init() {
	attach.CUDA(ImageResize, func(p ImageResizeParams, a *op.Args) (*op.Prepared, error) {
		if p.Interp.Value() > 1 {
			return nil, op.ErrUnsupported
		}
		in, out := a.In[0].Shape, a.Out[0].Shape
		r := len(in) - 3
		k := resizedArgs{images: in[:r].Size(), h: in[r], w: in[r+1], oh: out[r], ow: out[r+1],
			channels: in[r+2], linear: p.Interp.Value()}
		return attach.CUDAEach(attach.AnyFunc("image", "resized"), out.Size(), k,
			func(k resizedArgs, c *op.Call) resizedArgs {
				k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
				return k
			})
	})
}
