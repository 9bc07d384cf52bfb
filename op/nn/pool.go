package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// PoolingParams configures Pooling.
type PoolingParams struct {
	Kernel            []int        `op:"kernel" doc:"extent of the window: (w), (h, w) or (d, h, w)"`
	PoolType          string       `op:"pool_type" default:"max" enum:"max|avg|sum|lp" doc:"what is made of a window"`
	GlobalPool        bool         `op:"global_pool" doc:"the window covers everything; kernel, stride and pad are not read"`
	CudnnOff          bool         `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
	PoolingConvention string       `op:"pooling_convention" default:"valid" enum:"full|valid|same" doc:"how the extent of the output is rounded"`
	Stride            []int        `op:"stride" doc:"step of the window, 1 by default"`
	Pad               []int        `op:"pad" doc:"extent added on both sides, 0 by default"`
	PValue            op.Opt[int]  `op:"p_value" doc:"exponent of lp: 1, 2 or 3"`
	CountIncludePad   op.Opt[bool] `op:"count_include_pad" doc:"divide avg by the extent of the window with padding; true by default"`
	Layout            string       `op:"layout" default:"None" enum:"None|NCW|NCHW|NCDHW|NWC|NHWC|NDHWC" doc:"order of axes"`
}

// Pooling summarizes windows that slide over the spatial axes.
var Pooling = op.Declare[PoolingParams]("Pooling")

// PoolingGrad is the gradient of Pooling by max and lp: from the gradient of the output, data and
// output to the gradient of the data.
var PoolingGrad = op.Declare[PoolingParams]("_backward_Pooling")

// PoolingSumGrad is the gradient of Pooling by sum and avg: from the gradient of the output to
// the gradient of the data, of which only the shape is read.
var PoolingSumGrad = op.Declare[PoolingParams]("_backward_Pooling_sum")

func init() {
	Pooling.Define(op.Spec[PoolingParams]{
		Traits: op.Traits{
			Doc: `Pooling takes the maximum, average, sum or p-norm of windows that slide over the spatial axes.

Data has shape (n, c, [d,] [h,] w), or channels last where layout says so. With extent x padded
on both sides, the output has floor((x + 2·pad - kernel)/stride) + 1 positions (valid), as many
with the ceiling (full), or ceil((x + 2·pad)/stride) (same). Windows are cut off at the padding;
max and lp see no padding, avg counts it unless count_include_pad is false. Strides and pads beyond
the axes of the kernel are passed over, as in MXNet.`,
			Aliases: []string{"_npx_pooling"},
			Layouts: true,
			Kind:    op.Pooling,
		},
		Infer:     inferPool,
		InferType: op.FloatType[PoolingParams],
		Grad: func(g *op.Grad, p PoolingParams) []op.Entry {
			if p.PoolType == "avg" || p.PoolType == "sum" {
				return []op.Entry{PoolingSumGrad.Apply(p, g.Head(0), g.In(0))}
			}
			return []op.Entry{PoolingGrad.Apply(p, g.Head(0), g.In(0), g.Out(0))}
		},
		FLOPs: func(p PoolingParams, in, out []dtype.Shape) int64 {
			return poolFLOPs(p, in[0], out[0])
		},
		Ref: poolRef,
	})
	PoolingGrad.Define(op.Spec[PoolingParams]{
		Traits: op.Traits{Hidden: true, Layouts: true},
		Inputs: inputs[PoolingParams]("out_grad", "data", "output"),
		Infer: func(p PoolingParams, in, out []dtype.Shape) error {
			if err := op.Same("output", &in[0], &in[2]); err != nil {
				return err
			}
			err := inferPoolGrad(p, in[:2], out)
			in[2] = in[0].Clone()
			return err
		},
		InferType: op.FloatType[PoolingParams],
		Grad:      poolingSecond,
		FLOPs: func(p PoolingParams, in, _ []dtype.Shape) int64 {
			return poolFLOPs(p, in[1], in[0])
		},
		Ref: poolGradRef,
	})
	PoolingSumGrad.Define(op.Spec[PoolingParams]{
		Traits: op.Traits{Hidden: true, Layouts: true, Ignores: []int{1}},
		Inputs: inputs[PoolingParams]("out_grad", "data"),
		Infer: func(p PoolingParams, in, out []dtype.Shape) error {
			if p.PoolType != "avg" && p.PoolType != "sum" {
				return op.Errorf("pool_type", "%s, want avg or sum", p.PoolType)
			}
			return inferPoolGrad(p, in, out)
		},
		InferType: op.FloatType[PoolingParams],
		Grad: prim.Adjoint(func(_ *op.Grad, p PoolingParams, h op.Entry) op.Entry {
			return Pooling.Apply(p, h)
		}),
		FLOPs: func(p PoolingParams, in, _ []dtype.Shape) int64 {
			return poolFLOPs(p, in[1], in[0])
		},
		Ref: poolGradRef,
	})
}

// poolFLOPs counts an operation for each element of each window: y is the shape of the results.
func poolFLOPs(p PoolingParams, x, y dtype.Shape) int64 {
	if p.GlobalPool {
		return int64(x.Size())
	}
	n := int64(y.Size())
	for _, k := range p.Kernel {
		n *= int64(k)
	}
	return n
}

// inferPoolGrad infers the shapes of out_grad, data and the gradient of data.
func inferPoolGrad(p PoolingParams, in, out []dtype.Shape) error {
	if err := op.Same("gradient", &in[1], &out[0]); err != nil {
		return err
	}
	fin, fout := []dtype.Shape{in[1]}, []dtype.Shape{in[0]}
	if err := inferPool(p, fin, fout); err != nil {
		return err
	}
	in[0], in[1], out[0] = fout[0], fin[0], fin[0].Clone()
	return nil
}

// poolLayout tells where the channels and the first spatial axis are.
func poolLayout(p PoolingParams, rank int) (channel, spatial int) {
	switch p.Layout {
	case "NWC", "NHWC", "NDHWC":
		return rank - 1, 1
	}
	return 1, 2
}

func inferPool(p PoolingParams, in, out []dtype.Shape) error {
	if err := checkPool(p); err != nil {
		return err
	}
	rank := max(len(in[0]), len(out[0]))
	if !p.GlobalPool {
		rank = len(p.Kernel) + 2
	}
	if rank == 0 && in[0] == nil && out[0] == nil {
		return nil
	}
	if rank < 3 || rank > 5 {
		return op.Errorf("data", "shape %v, want 1, 2 or 3 spatial axes after batch and channels",
			in[0])
	}
	if err := op.Require("data", &in[0], unknown(rank)); err != nil {
		return err
	}
	channel, spatial := poolLayout(p, rank)
	y := unknown(rank)
	y[0], y[channel] = in[0][0], in[0][channel]
	for i := range rank - 2 {
		n, err := poolExtent(p, i, in[0][spatial+i])
		if err != nil {
			return err
		}
		y[spatial+i] = n
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	x := unknown(rank)
	x[0], x[channel] = out[0][0], out[0][channel]
	return op.Require("data", &in[0], x)
}

func checkPool(p PoolingParams) error {
	if v, ok := p.PValue.Get(); p.PoolType == "lp" && (!ok || v < 1 || v > 3) {
		return op.Errorf("p_value", "%d, want 1, 2 or 3 with pool_type lp", v)
	}
	if p.GlobalPool {
		return nil
	}
	n := len(p.Kernel)
	return checkWindow(p.Kernel, p.Stride[:min(n, len(p.Stride))], nil, p.Pad[:min(n, len(p.Pad))])
}

// poolExtent returns the number of positions along spatial axis i of extent n.
func poolExtent(p PoolingParams, i, n int) (int, error) {
	switch {
	case p.GlobalPool:
		return 1, nil
	case n == -1:
		return -1, nil
	}
	k, s, padded := p.Kernel[i], at(p.Stride, i, 1), n+2*at(p.Pad, i, 0)
	if p.PoolingConvention == "same" {
		return (padded + s - 1) / s, nil
	}
	if padded < k {
		return 0, op.Errorf("kernel", "%v exceeds the %d elements that spatial axis %d of data "+
			"has with padding", p.Kernel, padded, i)
	}
	if p.PoolingConvention == "full" {
		return (padded-k+s-1)/s + 1, nil
	}
	return (padded-k)/s + 1, nil
}
