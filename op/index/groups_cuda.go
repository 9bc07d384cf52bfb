//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(GatherND, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		g, err := attach.TupleGroups(a.In[0].Shape, a.In[1].Shape, 1, attach.NearestEnds)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(g.Scratch(), func(q *cuda.Queue, c *op.Call) error { return g.Launch(q, c, "groups_gather", c.Out[0], c.In[0]) })
	})
	attach.CUDA(gatherGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		g, err := attach.TupleGroups(a.Out[0].Shape, a.In[1].Shape, 1, attach.NearestEnds)
		if err != nil {
			return nil, err
		}
		return g.Sum(a.Out[0])
	})
	attach.CUDA(ScatterND, func(_ ScatterNDParams, a *op.Args) (*op.Prepared, error) {
		g, err := attach.TupleGroups(a.Out[0].Shape, a.In[1].Shape, 1, attach.LeftOutEnds)
		if err != nil {
			return nil, err
		}
		return g.Write(a.Out[0], -1, 0)
	})
	attach.CUDA(ScatterSetND, func(_ ScatterNDParams, a *op.Args) (*op.Prepared, error) {
		g, err := attach.TupleGroups(a.Out[0].Shape, a.In[2].Shape, 2, attach.LeftOutEnds)
		if err != nil {
			return nil, err
		}
		return g.Write(a.Out[0], 0, 1)
	})
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
}

// rowGroups are those of a vector of indices of rows.
func rowGroups(s dtype.Shape, index op.Desc, mode int) *attach.Groups {
	return attach.NewGroups(1, s[0], index.Shape.Size(), s[1:].Size(), mode, 1)
}
