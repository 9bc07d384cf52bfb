//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Arange, func(p ArangeParams, a *op.Args) (*op.Prepared, error) {
		start, _, _ := p.bounds()
		return arangeCUDA(start, p.Step.Value(), p.Repeat, a)
	})
	attach.CUDA(ArangeLike, func(p ArangeLikeParams, a *op.Args) (*op.Prepared, error) {
		return arangeCUDA(p.Start, p.Step.Value(), p.Repeat, a)
	})
	attach.CUDA(Linspace, func(p LinspaceParams, a *op.Args) (*op.Prepared, error) {
		gaps := p.Num - 1
		if p.NoEndpoint {
			gaps = p.Num
		}
		step := (p.Stop - p.Start) / float64(max(gaps, 1))
		f, n, kind := cuda.Func("fill", "linspace", dtype.Unknown), a.Out[0].Shape.Size(),
			cuda.Code(a.Out[0].DType)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.I(kind), cuda.I(n),
				cuda.F(p.Start), cuda.F(step))
		})
	})
	attach.CUDA(Eye, func(p EyeParams, a *op.Args) (*op.Prepared, error) {
		f, n, kind := cuda.Func("fill", "eye", dtype.Unknown), a.Out[0].Shape.Size(),
			cuda.Code(a.Out[0].DType)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.I(kind), cuda.I(n), 0, 0, 0,
				cuda.I(n/p.N), cuda.I(p.K))
		})
	})

	attach.CUDA(Zeros, attach.CUDAFill(func(InitParams) float64 { return 0 }))
	attach.CUDA(ZerosLater, attach.CUDAFill(func(ZerosLaterParams) float64 { return 0 }))
	attach.CUDA(Ones, attach.CUDAFill(func(InitParams) float64 { return 1 }))
	attach.CUDA(Full, attach.CUDAFill(func(p FullParams) float64 { return p.Value }))
}

// arangeCUDA prepares values at equal distances, each repeated.
func arangeCUDA(start, step float64, repeat int, a *op.Args) (*op.Prepared, error) {
	start, step = stepsOf(a.Out[0].DType, start, step)
	f, n, kind := cuda.Func("fill", "arange", dtype.Unknown), a.Out[0].Shape.Size(),
		cuda.Code(a.Out[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.I(kind), cuda.I(n), cuda.F(start),
			cuda.F(step), cuda.I(repeat), 0, 0)
	})
}
