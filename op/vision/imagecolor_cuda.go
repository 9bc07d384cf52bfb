//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// colorArgs is the parameter of kernels in image.cu.
type colorArgs struct {
	out, in                attach.Any
	mean                   unsafe.Pointer
	pixels, channels, kind int
	factor                 [3]float64
}

func init() {
	attach.CUDA(ImageAdjustLighting, colorsCUDA(AdjustLightingParams.changes))
	for _, f := range factorOps {
		attach.CUDA(f.h, colorsCUDA(f.kind.draw))
	}
	attach.CUDA(ImageRandomColorJitter, colorsCUDA(RandomColorJitterParams.changes))
	attach.CUDA(ImageRandomLighting, colorsCUDA(RandomLightingParams.changes))
}

// colorsCUDA prepares the steps that changes draws.
func colorsCUDA[P any](changes func(p P, s op.Seed) []change) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		s := a.In[0].Shape
		mean, step := attach.AnyFunc("image", "mean_grey"), attach.AnyFunc("image", "colors")
		copied, err := attach.CUDAMove[P]()(p, a)
		if err != nil {
			return nil, err
		}
		fixed := colorArgs{pixels: s[0] * s[1], channels: s[2]}
		scratch := max(copied.Scratch, dtype.Float32.Size())
		return attach.OnQueue(scratch, func(q *cuda.Queue, c *op.Call) error {
			list := changes(p, c.Seed)
			if len(list) == 0 {
				return copied.Run(c)
			}
			k := fixed
			k.mean, k.in, k.out = c.Scratch, attach.AnyOf(c.In[0]), attach.AnyOf(c.Out[0])
			for _, ch := range list {
				k.kind = int(ch.kind)
				for i, v := range ch.factor {
					k.factor[i] = float64(v)
				}
				if ch.kind == contrast {
					if err := cuda.LaunchWith(q, mean, attach.LaneGrid(1, k.pixels), &k); err != nil {
						return err
					}
				}
				if err := cuda.LaunchWith(q, step, q.Each(k.pixels), &k); err != nil {
					return err
				}
				k.in = k.out
			}
			return nil
		})
	}
}
