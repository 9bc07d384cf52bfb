//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(GatherND, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		g, err := attach.TupleGroups(a.In[0].Shape, a.In[1].Shape, 1, attach.NearestEnds)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(g.Scratch(),
			func(q *cuda.Queue, c *op.Call) error {
				return g.Launch(q, c, "groups_gather", c.Out[0], c.In[0])
			})
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
}
