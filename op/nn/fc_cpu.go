//go:build cgo

package nn

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(FullyConnected, func(p FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
		if attach.BFloat16(a) {
			return narrowFC(p, false, a)
		}
		return fcC(p, a)
	})
	attach.TierC(FullyConnectedGrad, func(_ FullyConnectedParams, a *op.Args) (*op.Prepared,
		error) {
		if attach.BFloat16(a) {
			return narrowFCGrad(a)
		}
		return fcGradC(a)
	})
}

// fcWork is the cost of one product.
func fcWork(rows, inputs, outputs int) device.Work {
	return device.Work{Flops: 2 * float64(rows) * float64(inputs) * float64(outputs)}
}

func fcC(p FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	rows, inputs, outputs := fcExtents(a.In[1].Shape, a.Out[0].Shape)
	threads := attach.Threads(a, fcWork(rows, inputs, outputs))
	k := cpu.Dense{Rows: rows, In: inputs, Out: outputs, Threads: threads}
	return &op.Prepared{Threads: threads, Run: func(c *op.Call) error {
		var bias unsafe.Pointer
		if !p.NoBias {
			bias = c.In[2].Data
		}
		return k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data, bias)
	}}, nil
}

// narrowFC is the layer for bfloat16.
func narrowFC(p FullyConnectedParams, relu bool, a *op.Args) (*op.Prepared, error) {
	rows, inputs, outputs := fcExtents(a.In[1].Shape, a.Out[0].Shape)
	threads := attach.Threads(a, fcWork(rows, inputs, outputs))
	s := cpu.Gemm{M: rows, N: outputs, K: inputs, TransB: true, Alpha: 1, Threads: threads}.
		Narrow(1, dtype.BFloat16)
	s.Bias, s.ReLU = !p.NoBias, relu
	var list attach.Products
	err := list.Add(s, func(c *op.Call) (out, x, w, bias unsafe.Pointer) {
		if s.Bias {
			bias = c.In[2].Data
		}
		return c.Out[0].Data, c.In[0].Data, c.In[1].Data, bias
	})
	return list.Prepared(threads), err
}

// narrowFCGrad computes the gradients of bfloat16 arrays.
func narrowFCGrad(a *op.Args) (*op.Prepared, error) {
	rows, inputs, outputs := fcExtents(a.In[2].Shape, a.In[0].Shape)
	threads := attach.Threads(a, fcWork(rows, inputs, outputs))
	dx := cpu.Gemm{M: rows, N: inputs, K: outputs, Alpha: 1, Threads: threads}
	dw := cpu.Gemm{M: outputs, N: inputs, K: rows, TransA: true, Alpha: 1, Threads: threads}
	var list attach.Products
	if err := list.Add(dx.Narrow(1, dtype.BFloat16), func(c *op.Call) (out, x, y,
		bias unsafe.Pointer) {
		return c.Out[0].Data, c.In[0].Data, c.In[2].Data, nil
	}); err != nil {
		return nil, err
	}
	if err := list.Add(dw.Narrow(1, dtype.BFloat16), func(c *op.Call) (out, x, y,
		bias unsafe.Pointer) {
		return c.Out[1].Data, c.In[0].Data, c.In[1].Data, nil
	}); err != nil {
		return nil, err
	}
	k := list.Prepared(threads)
	if len(a.Out) < 3 || !a.Needs(2) {
		return k, nil
	}
	db := cpu.NarrowSums{Rows: rows, Cols: outputs, Threads: threads}
	return after(k, func(c *op.Call) {
		if out := c.Out[2].Data; out != nil {
			db.Run(out, c.In[0].Data)
		}
	}), nil
}

func fcGradC(a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	rows, inputs, outputs := fcExtents(a.In[2].Shape, a.In[0].Shape)
	threads := attach.Threads(a, fcWork(rows, inputs, outputs))
	dx := cpu.Gemm{M: rows, N: inputs, K: outputs, Alpha: 1, Threads: threads}
	dw := cpu.Gemm{M: outputs, N: inputs, K: rows, TransA: true, Alpha: 1, Threads: threads}
	db := cpu.NewReduce(cpu.Sum, dtype.Shape{rows, outputs}, []bool{true, false}, 1, threads)
	return &op.Prepared{Threads: threads, Scratch: db.Scratch(), Run: func(c *op.Call) error {
		dy := c.In[0].Data
		if out := c.Out[0].Data; out != nil {
			if err := dx.Run(out, dy, c.In[2].Data); err != nil {
				return err
			}
		}
		if out := c.Out[1].Data; out != nil {
			if err := dw.Run(out, dy, c.In[1].Data); err != nil {
				return err
			}
		}
		if len(c.Out) > 2 && c.Out[2].Data != nil {
			db.Run(c.Out[2].Data, dy, c.Scratch)
		}
		return nil
	}}, nil
}
