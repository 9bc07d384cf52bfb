//go:build cuda

package index

import (
	"slices"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(IndexCopy, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return rowGroups(a.Out[0].Shape, a.In[1], attach.LeftOut).Write(a.Out[0], 0, 2)
	})
	attach.CUDA(indexCopyGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		g, bytes := rowGroups(a.In[0].Shape, a.In[1], attach.LeftOut), a.In[0].Bytes
		return attach.OnQueue(g.Scratch(), func(q *cuda.Queue, c *op.Call) error {
			if c.Out[1].Data != nil {
				if err := g.Launch(q, c, "groups_gather", c.Out[1], c.In[0]); err != nil {
					return err
				}
			}
			if c.Out[0].Data == nil {
				return nil
			}
			if err := attach.CopyOver(q, c, bytes, 0); err != nil {
				return err
			}
			return g.Launch(q, c, "groups_zero", c.Out[0], c.In[0])
		})
	})
	attach.CUDA(IndexArray, func(p IndexArrayParams, a *op.Args) (*op.Prepared, error) {
		s, axes := a.In[0].Shape, slices.Clone(p.Axes)
		if len(axes) == 0 {
			for i := range s {
				axes = append(axes, i)
			}
		}
		if len(axes) > cuda.Axes {
			return nil, op.ErrUnsupported
		}
		k := placesArgs{n: s.Size(), axes: len(axes)}
		for i, axis := range axes {
			at := axis
			if at < 0 {
				at += len(s)
			}
			k.dim[i], k.which[i] = s[at], s.Strides()[at]
		}
		return placesCUDA("index_array", k.n*k.axes, k)
	})
}
