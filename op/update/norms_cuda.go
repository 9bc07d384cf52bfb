//go:build cuda

package update

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(AllFinite, func(_ AllFiniteParams, a *op.Args) (*op.Prepared, error) { return finiteCUDA(a) })
	attach.CUDA(MultiAllFinite, func(_ MultiAllFiniteParams, a *op.Args) (*op.Prepared, error) { return finiteCUDA(a) })
}

// finiteCUDA prepares a one that any bad element of any input turns into a zero.
func finiteCUDA(_ *op.Args) (*op.Prepared, error) {
	one, look := cuda.Func("fill", "fill", dtype.Unknown), cuda.Func("fill", "finite", dtype.Unknown)
	float := cuda.Code(dtype.Float32)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		out := cuda.P(c.Out[0].Data)
		if err := q.Launch(one, q.Each(1), out, cuda.I(float), cuda.I(1), cuda.F(1), 0, 0, 0, 0); err != nil {
			return err
		}
		for _, t := range c.In {
			n := t.Shape.Size()
			if err := q.Launch(look, q.Each(n), out, cuda.P(t.Data), cuda.I(cuda.Code(t.DType)), cuda.I(n)); err != nil {
				return err
			}
		}
		return nil
	})
}
