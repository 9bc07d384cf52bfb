//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Dot, dotCUDA)
	attach.CUDA(BatchDot, batchDotCUDA)
	attach.CUDA(dotGrad, dotGradCUDA)
}

// operandsCUDA returns both operands of a product as matrices.
func (p DotParams) matrices(lhs, rhs op.Desc) (a, b attach.Matrix) {
	l, r := p.contracted(len(lhs.Shape), len(rhs.Shape))
	k := lhs.Shape[l]
	m, n := without(lhs.Shape, l).Size(), without(rhs.Shape, r).Size()
	if a = attach.Dense(m, k); p.TransposeA {
		a = attach.Dense(k, m).T()
	}
	if b = attach.Dense(k, n); p.TransposeB {
		b = attach.Dense(n, k).T()
	}
	return a, b
}

func dotCUDA(p DotParams, a *op.Args) (*op.Prepared, error) {
	lhs, rhs := p.matrices(a.In[0], a.In[1])
	k, err := attach.NewProduct(a.Out[0].DType, 1, lhs, rhs, attach.Dense(lhs.Rows, rhs.Cols), 1, 0)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return k.Run(q, c.In[0].Data, c.In[1].Data, c.Out[0].Data)
	})
}

func dotGradCUDA(p DotParams, a *op.Args) (*op.Prepared, error) {
	lhs, rhs := p.matrices(a.In[1], a.In[2])
	dy := attach.Dense(lhs.Rows, rhs.Cols)
	t := a.In[0].DType
	da, err := attach.NewProduct(t, 1, dy, rhs.T(), lhs, 1, 0)
	if err != nil {
		return nil, err
	}
	db, err := attach.NewProduct(t, 1, lhs.T(), dy, rhs, 1, 0)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if c.Out[0].Data != nil {
			if err := da.Run(q, c.In[0].Data, c.In[2].Data, c.Out[0].Data); err != nil {
				return err
			}
		}
		if c.Out[1].Data == nil {
			return nil
		}
		return db.Run(q, c.In[1].Data, c.In[0].Data, c.Out[1].Data)
	})
}

func batchDotCUDA(p DotParams, a *op.Args) (*op.Prepared, error) {
	n := len(a.Out[0].Shape)
	dense := func(d op.Desc, t bool) attach.Matrix {
		return attach.Dense(d.Shape[n-2], d.Shape[n-1]).If(t)
	}
	k, err := attach.NewProduct(a.Out[0].DType, a.Out[0].Shape[:n-2].Size(),
		dense(a.In[0], p.TransposeA), dense(a.In[1], p.TransposeB), dense(a.Out[0], false), 1, 0)
	if err != nil {
		return nil, err
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return k.Run(q, c.In[0].Data, c.In[1].Data, c.Out[0].Data)
	})
}
