package loss_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
)

func TestMakeLoss(t *testing.T) {
	type P = loss.MakeLossParams
	x := values(dtype.Shape{2, 2}, 1, -2, 0, 3)
	heads := []op.Tensor{random(1, 2, 2)}
	all := func(v float32) []op.Tensor { return []op.Tensor{values(dtype.Shape{2, 2}, v, v, v, v)} }
	optest.Run(t, loss.MakeLoss.Op,
		optest.Case{Name: "plain", Params: P{}, NoDiff: true, In: []op.Tensor{x},
			Want: []op.Tensor{x}, Heads: heads, WantGrad: all(1)},
		optest.Case{Name: "batch", Params: P{GradScale: op.Some(3.0), Normalization: "batch"},
			NoDiff: true, In: []op.Tensor{x}, Heads: heads, WantGrad: all(1.5)},
		optest.Case{Name: "valid", Params: P{GradScale: op.Some(3.0), Normalization: "valid",
			ValidThresh: -1}, NoDiff: true, In: []op.Tensor{x}, Heads: heads, WantGrad: all(1)},
		optest.Case{Name: "none valid", Params: P{Normalization: "valid", ValidThresh: 5},
			NoDiff: true, In: []op.Tensor{x}, Heads: heads, WantGrad: all(1)},
	)
	optest.Run(t, loss.AsLoss.Op, optest.Case{NoDiff: true, In: []op.Tensor{x},
		Want: []op.Tensor{x}, Heads: heads, WantGrad: all(1)})
}

func TestBlockGrad(t *testing.T) {
	x := values(dtype.Shape{2, 2}, 1, -2, 0, 3)
	optest.Run(t, loss.BlockGrad.Op,
		optest.Case{NoDiff: true, In: []op.Tensor{x}, Want: []op.Tensor{x}, Heads: []op.Tensor{x},
			WantGrad: []op.Tensor{values(dtype.Shape{2, 2}, 0, 0, 0, 0)}},
		optest.Case{Name: "integers", NoDiff: true, In: []op.Tensor{op.TensorOf([]int32{1, 2})},
			Want: []op.Tensor{op.TensorOf([]int32{1, 2})}})
}
