//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// encodeArgs and decodeArgs are parameters of kernels in boxes.cu.
type (
	encodeArgs struct {
		out, mask, samples, matches, anchors, refs, means, stds unsafe.Pointer
		count, n, m                                             int
	}
	decodeArgs struct {
		out, data, anchors unsafe.Pointer
		count, n, corner   int
		std                [4]float64
		clip               float64
	}
)

func init() {
	attach.CUDA(BoxEncode, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		s := a.In[2].Shape
		k := encodeArgs{count: s[0] * s[1], n: s[1], m: a.In[3].Shape[1]}
		return attach.CUDAEach(cuda.Func("boxes", "box_encode", t), k.count, k,
			func(k encodeArgs, c *op.Call) encodeArgs {
				k.out, k.mask = c.Out[0].Data, c.Out[1].Data
				k.samples, k.matches, k.anchors = c.In[0].Data, c.In[1].Data, c.In[2].Data
				k.refs, k.means, k.stds = c.In[3].Data, c.In[4].Data, c.In[5].Data
				return k
			})
	})
	attach.CUDA(BoxDecode, func(p BoxDecodeParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		s := a.In[0].Shape
		k := decodeArgs{count: s[0] * s[1], n: s[1], corner: attach.B2I(p.Format == "corner"),
			clip: narrow[float64](p.Clip.Value())}
		for i, v := range p.factors() {
			k.std[i] = narrow[float64](v)
		}
		return attach.CUDAEach(cuda.Func("boxes", "box_decode", t), k.count, k,
			func(k decodeArgs, c *op.Call) decodeArgs {
				k.out, k.data, k.anchors = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
