package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// BatchNormParams configures BatchNorm.
type BatchNormParams struct {
	Eps            op.Opt[float64] `op:"eps" default:"0.001" doc:"added to the variance"`
	Momentum       op.Opt[float64] `op:"momentum" default:"0.9" doc:"share of the old value in a moving average"`
	NoFixGamma     bool            `op:"fix_gamma,not" doc:"treat gamma as one and give it no gradient"`
	UseGlobalStats bool            `op:"use_global_stats" doc:"normalize by the moving averages in training too"`
	OutputMeanVar  bool            `op:"output_mean_var" doc:"also return mean and 1/sqrt(variance + eps)"`
	Axis           op.Opt[int]     `op:"axis" default:"1" doc:"axis of the channels"`
	CudnnOff       bool            `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
	MinCalibRange  op.Opt[float64] `op:"min_calib_range" doc:"accepted for compatibility, without effect"`
	MaxCalibRange  op.Opt[float64] `op:"max_calib_range" doc:"accepted for compatibility, without effect"`
}

// BatchNorm normalizes every channel over the batch.
var BatchNorm = op.Declare[BatchNormParams]("BatchNorm")

// BatchNormGrad is the gradient of BatchNorm: from the gradient of the output, data, gamma and the
// statistics that the forward operator used to the gradients of data, gamma and beta.
var BatchNormGrad = op.Declare[BatchNormParams]("_backward_BatchNorm")

func init() {
	BatchNorm.Define(op.Spec[BatchNormParams]{
		Traits: op.Traits{
			Doc: `BatchNorm normalizes every channel over the batch: (x - mean)·gamma/sqrt(var + eps) + beta.

In training mean and (biased) variance are those of the batch, and the auxiliary states move:
moving = moving·momentum + batch·(1 - momentum). Otherwise, or with use_global_stats, the moving
averages are used. The second output is the mean used, the third 1/sqrt(variance + eps); both
carry no gradient. For half-precision data all other operands are float32.`,
			Aliases: []string{"_npx_batch_norm", "BatchNorm_v1"},
			Legacy:  []string{"BatchNorm_v1"},
			Layouts: true,
			Inplace: [][2]int{{0, 0}},
			Mutates: []int{3, 4},
			Kind:    op.Normalization,
		},
		Inputs:  batchNormInputs,
		Outputs: func(BatchNormParams) []string { return []string{"output", "mean", "var"} },
		Visible: func(p BatchNormParams) int { return visibleStats(p.OutputMeanVar) },
		Infer:   inferBatchNorm,
		InferType: func(_ BatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:1], out[:1], in[1:], out[1:])
		},
		Grad: func(g *op.Grad, p BatchNormParams) []op.Entry {
			return g.Each(BatchNormGrad.Node(p, g.Head(0), g.In(0), g.In(1), g.Out(1), g.Out(2)))
		},
		FLOPs: func(_ BatchNormParams, in, _ []dtype.Shape) int64 {
			return 2 * int64(in[0].Size())
		},
		Ref: batchNormRef,
	})
	BatchNormGrad.Define(op.Spec[BatchNormParams]{
		Traits:  op.Traits{Hidden: true, Layouts: true, Inplace: [][2]int{{0, 0}, {1, 0}}},
		Inputs:  inputs[BatchNormParams]("out_grad", "data", "gamma", "mean", "var"),
		Outputs: func(BatchNormParams) []string { return []string{"data", "gamma", "beta"} },
		Infer:   inferBatchNormGrad,
		InferType: func(_ BatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:2], out[:1], in[2:], out[1:])
		},
		Grad: batchNormSecond,
		Ref:  batchNormGradRef,
	})
}

// visibleStats is the number of visible outputs of normalizations.
func visibleStats(meanVar bool) int {
	if meanVar {
		return 3
	}
	return 1
}

// statsType infers one floating-point type for data and a second for parameters and statistics:
// the same, but float32 where the first is float16, and for bfloat16 data where they are given so.
func statsType(dataIn, dataOut, paramIn, paramOut []dtype.Type) error {
	if err := op.FloatType(op.NoParams{}, dataIn, dataOut); err != nil {
		return err
	}
	if err := op.SameType(op.NoParams{}, paramIn, paramOut); err != nil {
		return err
	}
	t := dataIn[0]
	if t == dtype.Unknown {
		if p := paramIn[0]; p == dtype.Float64 || p == dtype.BFloat16 {
			return op.FloatType(op.NoParams{}, set(dataIn, p), set(dataOut, p))
		}
		return nil
	}
	if t == dtype.Float16 || t == dtype.BFloat16 && paramIn[0] == dtype.Float32 {
		t = dtype.Float32
	}
	for _, list := range [][]dtype.Type{paramIn, paramOut} {
		for _, u := range list {
			if u != dtype.Unknown && u != t {
				return op.Errorf("", "parameters have element type %v, want %v for data of type %v",
					u, t, dataIn[0])
			}
		}
		set(list, t)
	}
	return nil
}

func set(list []dtype.Type, t dtype.Type) []dtype.Type {
	for i := range list {
		list[i] = t
	}
	return list
}

func inferBatchNorm(p BatchNormParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	channels, axis := -1, 0
	if in[0] != nil {
		var err error
		if axis, err = axisOf("axis", p.Axis.Value(), len(in[0])); err != nil {
			return err
		}
		channels = in[0][axis]
	}
	channels, err := inferVectors(channels, []string{"gamma", "beta", "moving_mean", "moving_var"},
		in[1:])
	if err != nil {
		return err
	}
	if channels, err = inferVectors(channels, []string{"mean", "var"}, out[1:]); err != nil {
		return err
	}
	if in[0] == nil || channels == -1 {
		return nil
	}
	x := unknown(len(in[0]))
	x[axis] = channels
	if err := op.Require("data", &in[0], x); err != nil {
		return err
	}
	_, err = inferVectors(channels, []string{"gamma", "beta", "moving_mean", "moving_var"}, in[1:])
	out[0] = in[0].Clone()
	return err
}

// inferVectors makes all shapes vectors of n elements, or of as many as one of them has when n
// is -1, and returns that number.
func inferVectors(n int, names []string, shapes []dtype.Shape) (int, error) {
	for range 2 {
		for i, name := range names {
			m, err := vector(name, &shapes[i], n)
			if err != nil {
				return -1, err
			}
			n = m
		}
	}
	return n, nil
}

func inferBatchNormGrad(p BatchNormParams, in, out []dtype.Shape) error {
	fin := []dtype.Shape{in[1], in[2], out[2], nil, nil}
	fout := []dtype.Shape{in[0], in[3], in[4]}
	if err := op.Same("gradient", &fin[0], &out[0]); err != nil {
		return err
	}
	if err := op.Same("gradient", &fin[1], &out[1]); err != nil {
		return err
	}
	if err := inferBatchNorm(p, fin, fout); err != nil {
		return err
	}
	in[0], in[1], in[2], in[3], in[4] = fout[0], fin[0], fin[1], fout[1], fout[2]
	out[0], out[1], out[2] = fin[0].Clone(), fin[1].Clone(), fin[2]
	return nil
}
