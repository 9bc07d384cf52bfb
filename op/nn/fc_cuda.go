//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(FullyConnected, fcCUDA)
	attach.CUDA(FullyConnectedGrad, fcGradCUDA)
	attach.CUDA(FullyConnectedGradSum, fcGradCUDA)
}

func fcCUDA(p FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
	t := a.Out[0].DType
	rows, inputs, outputs := fcExtents(a.In[1].Shape, a.Out[0].Shape)
	k, err := attach.NewProduct(t, 1, attach.Dense(rows, inputs), attach.Dense(outputs, inputs).T(),
		attach.Dense(rows, outputs), 1, 0)
	if err != nil {
		return nil, err
	}
	bias := cuda.Func("conv", "bias", t)
	if !p.NoBias {
		k.WithBias(cuda.AddsBias)
	}
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if !p.NoBias {
			done, err := k.RunBias(q, c.In[0].Data, c.In[1].Data, c.Out[0].Data, c.In[2].Data)
			if done || err != nil {
				return err
			}
		}
		if err := k.Run(q, c.In[0].Data, c.In[1].Data, c.Out[0].Data); err != nil || p.NoBias {
			return err
		}
		return q.Launch(bias, q.Each(rows*outputs), cuda.P(c.Out[0].Data), 0, cuda.P(c.In[2].Data),
			cuda.I(rows), cuda.I(outputs), cuda.I(1), 0)
	})
}

func fcGradCUDA(p FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
	t := a.In[0].DType
	rows, inputs, outputs := fcExtents(a.In[2].Shape, a.In[0].Shape)
	dy, x, w := attach.Dense(rows, outputs), attach.Dense(rows, inputs),
		attach.Dense(outputs, inputs)
	beta := 0.0
	if len(a.In) > fcGradSum {
		beta = 1
	}
	dx, err := attach.NewProduct(t, 1, dy, w, x, 1, beta)
	if err != nil {
		return nil, err
	}
	dw, err := attach.NewProduct(t, 1, dy.T(), x, w, 1, 0)
	if err != nil {
		return nil, err
	}
	db, err := attach.NewReduction("sum", t, []int{rows, outputs}, []bool{true, false}, 1)
	if err != nil {
		return nil, err
	}
	if !p.NoBias {
		dw.WithBias(cuda.SumsBias)
	}
	return attach.OnQueue(db.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		if c.Out[0].Data != nil && beta != 0 && c.Out[0].Data != c.In[fcGradSum].Data {
			if err := q.CopyFrom(c.Out[0].Data, q.Device(), c.In[fcGradSum].Data,
				c.Out[0].Bytes); err != nil {
				return err
			}
		}
		if c.Out[0].Data != nil {
			if err := dx.Run(q, c.In[0].Data, c.In[2].Data, c.Out[0].Data); err != nil {
				return err
			}
		}
		if c.Out[1].Data != nil && len(c.Out) > 2 && c.Out[2].Data != nil {
			done, err := dw.RunBias(q, c.In[0].Data, c.In[1].Data, c.Out[1].Data, c.Out[2].Data)
			if done || err != nil {
				return err
			}
		}
		if c.Out[1].Data != nil {
			if err := dw.Run(q, c.In[0].Data, c.In[1].Data, c.Out[1].Data); err != nil {
				return err
			}
		}
		return sumBias(q, c, db, c.In[0].Data)
	})
}
