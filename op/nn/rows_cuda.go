//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// rowsArgs is the parameter of the kernels in rows.cu.
type rowsArgs struct {
	out, x, dy, gamma, beta    unsafe.Pointer
	mean, std, dgamma, dbeta   unsafe.Pointer
	groups, n, inner, perGroup int
	eps                        float64
}

// rowsCUDA attaches the kernels of a normalization and of its gradient.
func rowsCUDA[P any](h, grad op.Handle[P], layout func(P, dtype.Shape) rowsArgs) {
	attach.CUDA(h, func(p P, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok || a.In[0].Layout != nil {
			return nil, op.ErrUnsupported
		}
		fixed, f := layout(p, a.In[0].Shape), cuda.Func("rows", "rows_norm", t)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			args := fixed
			args.out, args.x, args.gamma, args.beta = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
				c.In[2].Data
			args.mean, args.std = c.Out[1].Data, c.Out[2].Data
			return cuda.LaunchWith(q, f, attach.LaneGrid(args.groups, args.n), &args)
		})
	})
	attach.CUDA(grad, func(p P, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok || a.In[1].Layout != nil {
			return nil, op.ErrUnsupported
		}
		fixed := layout(p, a.In[1].Shape)
		data, params := cuda.Func("rows", "rows_norm_grad", t), cuda.Func("rows", "rows_param_grad",
			t)
		count, size := fixed.n, a.In[1].Shape.Size()
		if fixed.perGroup > 0 {
			count = fixed.perGroup
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			args := fixed
			args.dy, args.x, args.gamma, args.mean, args.std = c.In[0].Data, c.In[1].Data,
				c.In[2].Data, c.In[3].Data, c.In[4].Data
			args.out, args.dgamma, args.dbeta = c.Out[0].Data, c.Out[1].Data, c.Out[2].Data
			if args.dgamma != nil || args.dbeta != nil { // before out, which may lie over dy or x
				if err := cuda.LaunchWith(q, params, attach.LaneGrid(count, size/max(count, 1)),
					&args); err != nil {
					return err
				}
			}
			if args.out == nil {
				return nil
			}
			return cuda.LaunchWith(q, data, attach.LaneGrid(args.groups, args.n), &args)
		})
	})
}
