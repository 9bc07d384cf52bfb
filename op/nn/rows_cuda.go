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
		columns := newRowColumns(&fixed, t)
		return attach.OnQueue(columns.scratch(), func(q *cuda.Queue, c *op.Call) error {
			args := fixed
			args.dy, args.x, args.gamma, args.mean, args.std = c.In[0].Data, c.In[1].Data,
				c.In[2].Data, c.In[3].Data, c.In[4].Data
			args.out, args.dgamma, args.dbeta = c.Out[0].Data, c.Out[1].Data, c.Out[2].Data
			if args.dgamma != nil || args.dbeta != nil { // before out, which may lie over dy or x
				if columns != nil {
					return columns.run(q, &args, c.Scratch)
				}
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

// rowColumns computes the gradients where every column of contiguous rows has parameters of its own, as
// in layer norm over the last axis.
type rowColumns struct {
	sums       *cuda.Function // parts of the gradients of the parameters
	join, both *cuda.Function // add the parts; both also computes the gradient of the data
	chunks, n  int
}

// columnArgs is the parameter of rows_param_columns and of the kernels that join its sums.
type columnArgs struct {
	rowsArgs
	part   unsafe.Pointer
	chunks int
}

// newRowColumns returns nil where columns are not contiguous or rows are few.
func newRowColumns(k *rowsArgs, t dtype.Type) *rowColumns {
	const width, rows, blocks = 32, 64, 512 // columns of a block, rows of a chunk, blocks at most
	if k.inner != 1 || k.perGroup > 0 || k.n < width/2 || k.groups < 2 {
		return nil
	}
	tiles := (k.n + width - 1) / width
	return &rowColumns{cuda.Func("rows", "rows_param_columns", t),
		cuda.Func("rows", "rows_param_join", t), cuda.Func("rows", "rows_norm_grad_join", t),
		max(min(k.groups/rows, blocks/tiles), 1), k.n}
}

// scratch returns the size of the sums in bytes.
func (r *rowColumns) scratch() int {
	if r == nil {
		return 0
	}
	return 2 * 8 * r.chunks * r.n
}

// run puts the gradients on q.
func (r *rowColumns) run(q *cuda.Queue, k *rowsArgs, scratch unsafe.Pointer) error {
	args := columnArgs{*k, scratch, r.chunks}
	if err := cuda.LaunchWith(q, r.sums, cuda.Grid{X: (r.n + 31) / 32 * r.chunks, Y: 1,
		Threads: 256}, &args); err != nil {
		return err
	}
	if k.out == nil {
		return cuda.LaunchWith(q, r.join, q.Each(r.n), &args)
	}
	return cuda.LaunchWith(q, r.both, attach.LaneGrid(k.groups, k.n), &args)
}
