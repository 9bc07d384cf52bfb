//go:build cuda

package update

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(AllFinite, func(_ AllFiniteParams, a *op.Args) (*op.Prepared, error) {
		return finiteCUDA(a)
	})
	attach.CUDA(MultiAllFinite, func(_ MultiAllFiniteParams, a *op.Args) (*op.Prepared, error) {
		return finiteCUDA(a)
	})

	attach.CUDA(MultiSumSq, sumSquaresCUDA)
	attach.CUDA(MultiLars, func(p MultiLarsParams, a *op.Args) (*op.Prepared, error) {
		k := larsArgs{n: a.Out[0].Shape.Size(), eta: p.Eta, eps: p.Eps,
			rescale: p.RescaleGrad.Value()}
		return attach.CUDAEach(attach.AnyFunc("trust", "lars"), k.n, k,
			func(k larsArgs, c *op.Call) larsArgs {
				k.out, k.lrs, k.weights = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					attach.AnyOf(c.In[1])
				k.grads, k.wds = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
				return k
			})
	})
}

// finiteCUDA prepares a one that any bad element of any input turns into a zero.
func finiteCUDA(_ *op.Args) (*op.Prepared, error) {
	one, look := cuda.Func("fill", "fill", dtype.Unknown), cuda.Func("fill", "finite",
		dtype.Unknown)
	float := cuda.Code(dtype.Float32)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		out := cuda.P(c.Out[0].Data)
		if err := q.Launch(one, q.Each(1), out, cuda.I(float), cuda.I(1), cuda.F(1), 0, 0, 0,
			0); err != nil {
			return err
		}
		for _, t := range c.In {
			n := t.Shape.Size()
			if err := q.Launch(look, q.Each(n), out, cuda.P(t.Data), cuda.I(cuda.Code(t.DType)),
				cuda.I(n)); err != nil {
				return err
			}
		}
		return nil
	})
}
