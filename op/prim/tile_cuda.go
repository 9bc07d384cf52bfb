//go:build cuda

package prim

import (
	"gomx/dtype"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Tile, attach.CUDAView(func(p TileParams, in, _ dtype.Shape) (dtype.Shape, []int,
		int, error) {
		shape, st := tilePlan(p, in)
		return shape, st, 0, nil
	}))
	attach.CUDA(Repeat, attach.CUDAView(func(p RepeatParams, in, _ dtype.Shape) (dtype.Shape, []int,
		int, error) {
		shape, st, err := repeatPlan(p, in)
		return shape, st, 0, err
	}))
	attach.CUDA(Reverse, attach.CUDAView(reversal))
	attach.CUDA(tileGrad, sumCopiesCUDA(func(p TileParams, s dtype.Shape) (dtype.Shape, []int,
		error) {
		shape, st := tilePlan(p, s)
		return shape, st, nil
	}))
	attach.CUDA(repeatGrad, sumCopiesCUDA(repeatPlan))
}
