package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestPooling(t *testing.T) {
	type P = nn.PoolingParams
	x := values(dtype.Shape{1, 1, 3, 4}, 1, 5, 2, 0, 3, 4, 8, 1, 9, 7, 6, 2)
	heads := []op.Tensor{values(dtype.Shape{1, 1, 1, 2}, 10, 20)}
	optest.Run(t, nn.Pooling.Op,
		optest.Case{Name: "max", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2}},
			In:    []op.Tensor{x},
			Want:  []op.Tensor{values(dtype.Shape{1, 1, 1, 2}, 5, 8)},
			Heads: heads, WantGrad: []op.Tensor{values(dtype.Shape{1, 1, 3, 4}, 0, 10, 0, 0, 0, 0,
				20, 0, 0, 0, 0, 0)}},
		optest.Case{Name: "half", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2}},
			In:   []op.Tensor{half(x)},
			Want: []op.Tensor{half(values(dtype.Shape{1, 1, 1, 2}, 5, 8))}},
		optest.Case{Name: "first of equal", Params: P{Kernel: []int{1, 2}}, NoDiff: true,
			In:       []op.Tensor{values(dtype.Shape{1, 1, 1, 3}, 4, 4, 4)},
			Heads:    []op.Tensor{values(dtype.Shape{1, 1, 1, 2}, 1, 2)},
			WantGrad: []op.Tensor{values(dtype.Shape{1, 1, 1, 3}, 1, 2, 0)}},
		optest.Case{Name: "full", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2},
			PoolingConvention: "full"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 2}, 5, 8, 9, 6)}},
		optest.Case{Name: "same", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2},
			PoolingConvention: "same"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 2}, 5, 8, 9, 6)}},
		optest.Case{Name: "avg full", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2},
			PoolingConvention: "full", PoolType: "avg"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 2}, 3.25, 2.75, 8, 4)}},
		optest.Case{Name: "avg with padding", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2},
			Pad: []int{1, 1}, PoolType: "avg"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 3}, .25, 1.75, 0, 3, 6.25, .75)}},
		optest.Case{Name: "avg without padding", Params: P{Kernel: []int{2, 2}, Stride: []int{2, 2},
			Pad: []int{1, 1}, PoolType: "avg", CountIncludePad: op.Some(false)}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 3}, 1, 3.5, 0, 6, 6.25, 1.5)}},
		optest.Case{Name: "global sum", Params: P{GlobalPool: true, PoolType: "sum"},
			In:   []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 1, 1}, 48)}},
		optest.Case{Name: "lp", Params: P{Kernel: []int{2}, PoolType: "lp", PValue: op.Some(2)},
			In:   []op.Tensor{values(dtype.Shape{1, 1, 3}, 3, 4, 3)},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2}, 5, 5)}},
		optest.Case{Name: "lp of third power", Params: P{Kernel: []int{2}, PoolType: "lp",
			PValue: op.Some(3)}, In: []op.Tensor{positive(1, 2, 2, 4)}},
		optest.Case{Name: "lp of a sum below zero", Params: P{Kernel: []int{2}, PoolType: "lp",
			PValue: op.Some(3)}, In: []op.Tensor{values(dtype.Shape{1, 1, 3}, -1.5, -2, 1.5)},
			Want:     []op.Tensor{values(dtype.Shape{1, 1, 2}, -2.2489707, -1.6661109)},
			Heads:    []op.Tensor{values(dtype.Shape{1, 1, 2}, 1, 2)},
			WantGrad: []op.Tensor{values(dtype.Shape{1, 1, 3}, 0.4448513, 3.6727688, 1.6210809)}},
		optest.Case{Name: "three axes", Params: P{Kernel: []int{2, 2, 3}, Stride: []int{1, 2, 2},
			Pad: []int{1, 0, 1}, PoolType: "avg"}, In: []op.Tensor{random(1, 1, 2, 3, 4, 5)}},
		optest.Case{Name: "max of three axes", Params: P{Kernel: []int{2, 2, 3},
			Stride: []int{1, 2, 2}, Pad: []int{1, 0, 1}},
			In: []op.Tensor{random(1, 1, 2, 3, 4, 5)}},
		optest.Case{Name: "channels last", Params: P{Kernel: []int{2}, Layout: "NWC"},
			In:   []op.Tensor{values(dtype.Shape{1, 3, 2}, 1, 20, 2, 30, 0, 10)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, 2, 30, 2, 30)}},
		optest.Case{Name: "window in the padding", NoDiff: true, Params: P{Kernel: []int{3},
			Pad: []int{1}, Stride: []int{3}, PoolingConvention: "full"},
			In:       []op.Tensor{values(dtype.Shape{1, 1, 5}, 1, 2, 3, 4, 5)},
			Want:     []op.Tensor{values(dtype.Shape{1, 1, 3}, 2, 5, -math.MaxFloat32)},
			Heads:    []op.Tensor{values(dtype.Shape{1, 1, 3}, 1, 2, 3)},
			WantGrad: []op.Tensor{values(dtype.Shape{1, 1, 5}, 0, 1, 0, 0, 2)}},
		optest.Case{Name: "average of nothing", NoDiff: true, Params: P{GlobalPool: true,
			PoolType: "avg"}, In: []op.Tensor{optest.F([]int{1, 2, 0})},
			Want: []op.Tensor{optest.F([]int{1, 2, 1}, 0, 0)}},
		optest.Case{Name: "maximum of nothing in half precision", NoDiff: true,
			Params: P{GlobalPool: true},
			In:     []op.Tensor{optest.Array(dtype.Float16, []int{1, 2, 0, 3})},
			Want:   []op.Tensor{optest.Array(dtype.Float16, []int{1, 2, 1, 1}, -65504, -65504)}},
	)
}

func TestPoolingInfersShapes(t *testing.T) {
	pool := nn.Pooling.Op
	runInfer(t, []inferCase{
		{name: "valid", op: pool, attrs: "kernel=(3,3) stride=(2,2)",
			in: []dtype.Shape{{2, 3, 8, 7}}, out: []dtype.Shape{nil},
			wantOut: []dtype.Shape{{2, 3, 3, 3}}},
		{name: "full", op: pool, attrs: "kernel=(3,3) stride=(2,2) pooling_convention=full",
			in: []dtype.Shape{{2, 3, 8, 7}}, out: []dtype.Shape{nil},
			wantOut: []dtype.Shape{{2, 3, 4, 3}}},
		{name: "global", op: pool, attrs: "global_pool=1 kernel=(7,7)",
			in: []dtype.Shape{{2, 3, 8, -1}}, out: []dtype.Shape{nil},
			wantOut: []dtype.Shape{{2, 3, 1, 1}}},
		{name: "global of unknown rank", op: pool, attrs: "global_pool=1", in: []dtype.Shape{nil},
			out: []dtype.Shape{nil}, wantOut: []dtype.Shape{nil}},
		{name: "backward", op: pool, attrs: "kernel=(2,)", in: []dtype.Shape{nil},
			out: []dtype.Shape{{2, 3, 4}}, wantIn: []dtype.Shape{{2, 3, -1}}},
		{name: "too small", op: pool, attrs: "kernel=(3,3)", in: []dtype.Shape{{2, 3, 8, 2}},
			out: []dtype.Shape{nil}, err: "[3 3] exceeds the 2 elements that spatial axis 1 of " +
				"data has"},
		{name: "no kernel", op: pool, in: []dtype.Shape{{2, 3, 8, 2}}, out: []dtype.Shape{nil},
			err: "kernel: [], want 1, 2 or 3 numbers"},
		{name: "lp", op: pool, attrs: "kernel=(2,2) pool_type=lp", in: []dtype.Shape{{2, 3, 8, 2}},
			out: []dtype.Shape{nil}, err: "p_value"},
	})
}
