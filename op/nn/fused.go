package nn

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// FusedConvolutionParams configures FusedConvolution and FusedConvolutionAdd.
type FusedConvolutionParams struct {
	Kernel    []int `op:"kernel,required" doc:"extent of the window"`
	Stride    []int `op:"stride" doc:"step of the window, 1 by default"`
	Dilate    []int `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad       []int `op:"pad" doc:"zeros added on both sides, 0 by default"`
	NumFilter int   `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup  int   `op:"num_group" default:"1" min:"1" doc:"number of groups that channels are divided into"`
	NoBias    bool  `op:"no_bias" doc:"leave the bias out"`
	ReLU      bool  `op:"relu" doc:"set negative results to zero"`
	Winograd  bool  `op:"winograd" doc:"prefer Winograd's algorithm"`
	Blocked   bool  `op:"blocked" doc:"prefer the layout that Winograd's algorithm works on"`
}

// FusedConvolution is Convolution with its activation. Only passes make it.
var FusedConvolution = op.Declare[FusedConvolutionParams]("_fused_Convolution")

// FusedConvolutionAdd is FusedConvolution with a sum: another array of the output's shape, its
// input 2, is added before the activation. It works in place on that array.
var FusedConvolutionAdd = op.Declare[FusedConvolutionParams]("_fused_Convolution_add")

// FusedConvolutionOf returns the parameters of the fused operator that stands for Convolution with
// p.
func FusedConvolutionOf(p ConvolutionParams) FusedConvolutionParams {
	return FusedConvolutionParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate, Pad: p.Pad,
		NumFilter: p.NumFilter, NumGroup: p.NumGroup, NoBias: p.NoBias}
}

// plain returns the parameters of the convolution alone.
func (p FusedConvolutionParams) plain() ConvolutionParams {
	return ConvolutionParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate, Pad: p.Pad,
		NumFilter: p.NumFilter, NumGroup: p.NumGroup, NoBias: p.NoBias, Layout: "None"}
}

// winogradExtent is the least extent of outputs that Winograd's algorithm, which works on tiles of
// 4x4, is good for.
const winogradExtent = 4

// SuitsWinograd reports whether Winograd's algorithm can compute output y from data x and gains by
// it: windows of 3x3 that move by one over channels that fill blocks.
func (p FusedConvolutionParams) SuitsWinograd(x, y dtype.Shape) bool {
	all := func(list []int, v int) bool {
		for _, k := range list {
			if k != v {
				return false
			}
		}
		return true
	}
	return len(p.Kernel) == 2 && all(p.Kernel, 3) && all(p.Stride, 1) && all(p.Dilate, 1) &&
		p.NumGroup == 1 &&
		len(x) == 4 && x.Known() && x[1] >= 32 && x[1]%16 == 0 && p.NumFilter >= 32 &&
		p.NumFilter%16 == 0 && len(y) == 4 && min(y[2], y[3]) >= winogradExtent
}

// FusedFullyConnectedParams configures FusedFullyConnected.
type FusedFullyConnectedParams struct {
	NumHidden int  `op:"num_hidden,required" min:"1" doc:"number of outputs per sample"`
	NoBias    bool `op:"no_bias" doc:"leave the bias out"`
	NoFlatten bool `op:"flatten,not" doc:"treat all axes but the first as one; otherwise the last axis alone is transformed"`
}

func (p FusedFullyConnectedParams) plain() FullyConnectedParams { return FullyConnectedParams(p) }

// FusedFullyConnected is FullyConnected with a rectifier. Only passes for inference make it.
var FusedFullyConnected = op.Declare[FusedFullyConnectedParams]("_fused_FullyConnected")

// FoldBatchNormParams configures FoldBatchNorm.
type FoldBatchNormParams struct {
	Eps        op.Opt[float64] `op:"eps" default:"0.001" doc:"added to the variance"`
	NoFixGamma bool            `op:"fix_gamma,not" doc:"treat gamma as one"`
	NoBias     bool            `op:"no_bias" doc:"the layer has no bias"`
	Narrow     bool            `op:"narrow" doc:"give weight and bias in bfloat16"`
}

// FoldBatchNorm makes of a layer's weight and bias and of the batch norm that follows the weight
// and bias of one layer that does the same in inference.
var FoldBatchNorm = op.Declare[FoldBatchNormParams]("_fold_BatchNorm")

func init() {
	for _, h := range []op.Handle[FusedConvolutionParams]{FusedConvolution, FusedConvolutionAdd} {
		add := 0
		s := op.Spec[FusedConvolutionParams]{
			Traits: op.Traits{Hidden: true, Layouts: true},
			Inputs: func(p FusedConvolutionParams) []op.Input {
				return fusedInputs(p.NoBias, false)
			},
			InferType: op.FloatType[FusedConvolutionParams],
			FLOPs:     fusedConvFLOPs,
		}
		if h == FusedConvolution {
			s.Grad = fusedConvGradient
		} else {
			add, s.Inplace, s.NoGrad = 1, [][2]int{{fusedSum, 0}}, "it exists in inference only"
			s.Inputs = func(p FusedConvolutionParams) []op.Input {
				return fusedInputs(p.NoBias, true)
			}
		}
		s.Infer = func(p FusedConvolutionParams, in, out []dtype.Shape) error {
			return inferFusedConv(p, add, in, out)
		}
		s.Ref = func(p FusedConvolutionParams, c *op.Call) error { return fusedConvRef(p, add, c) }
		h.Define(s)
	}
	FusedFullyConnected.Define(op.Spec[FusedFullyConnectedParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it exists in inference only"},
		Inputs: func(p FusedFullyConnectedParams) []op.Input { return weighted(p.NoBias) },
		Infer: func(p FusedFullyConnectedParams, in, out []dtype.Shape) error {
			return inferFC(p.plain(), in, out)
		},
		InferType: op.FloatType[FusedFullyConnectedParams],
		FLOPs: func(_ FusedFullyConnectedParams, in, out []dtype.Shape) int64 {
			return weightedFLOPs(in, out[0]) + int64(out[0].Size())
		},
		Ref: func(p FusedFullyConnectedParams, c *op.Call) error {
			if err := fcRef(p.plain(), c); err != nil {
				return err
			}
			loop.Map(loop.Func1{F: activations["relu"].value}, c.Out[0], c.Out[0])
			return nil
		},
	})
	FoldBatchNorm.Define(op.Spec[FoldBatchNormParams]{
		Traits: op.Traits{
			Hidden:  true,
			Derived: true,
			Layouts: true,
			NoGrad:  "it exists in inference only",
		},
		Inputs:  foldInputs,
		Outputs: func(FoldBatchNormParams) []string { return []string{"weight", "bias"} },
		Infer:   inferFold,
		InferType: func(p FoldBatchNormParams, in, out []dtype.Type) error {
			if !p.Narrow {
				return op.FloatType(p, in, out)
			}
			for i := range out {
				out[i] = dtype.BFloat16
			}
			return op.FloatType(p, in, nil)
		},
		Ref: foldRef,
	})
}

// fusedConvFLOPs counts the convolution, its bias, the sum and the rectifier.
func fusedConvFLOPs(p FusedConvolutionParams, in, out []dtype.Shape) int64 {
	n := products(in[1], out[0]) + int64(len(in)-2)*int64(out[0].Size())
	if p.ReLU {
		n += int64(out[0].Size())
	}
	return n
}

// fusedConvGradient takes the gradient through the rectifier and then through the convolution.
func fusedConvGradient(g *op.Grad, p FusedConvolutionParams) []op.Entry {
	dy := g.Head(0)
	if p.ReLU {
		dy = ActivationGrad.Apply(ActivationParams{ActType: "relu"}, dy, g.Out(0))
	}
	return g.Each(ConvolutionGrad.Node(p.plain(), dy, g.In(0), g.In(1)))
}

// fusedSum is the input of FusedConvolutionAdd that is added.
const fusedSum = 2

func fusedInputs(noBias, sum bool) []op.Input {
	list := weighted(noBias)
	if sum {
		list = slices.Insert(slices.Clone(list), fusedSum, op.Input{Name: "sum"})
	}
	return list
}

// convInputs returns the shapes of the convolution's own inputs from the shapes of the fused
// operator's inputs.
func convInputs(add int, in []dtype.Shape) []dtype.Shape {
	return append(slices.Clone(in[:2]), in[2+add:]...)
}

func inferFusedConv(p FusedConvolutionParams, add int, in, out []dtype.Shape) error {
	if add > 0 {
		if err := op.Same("sum", &in[fusedSum], &out[0]); err != nil {
			return err
		}
	}
	own := convInputs(add, in)
	if err := inferConv(p.plain(), own, out); err != nil {
		return err
	}
	copy(in, own[:2])
	copy(in[2+add:], own[2:])
	if add > 0 {
		in[fusedSum] = out[0].Clone()
	}
	return nil
}

func fusedConvRef(p FusedConvolutionParams, add int, c *op.Call) error {
	g := newConvolution(p.plain(), c.In[0].Shape, c.Out[0].Shape)
	y := make([]float64, c.Out[0].Shape.Size())
	g.forward(y, loop.Floats(c.In[0]), loop.Floats(c.In[1]))
	if !p.NoBias {
		addBias(y, loop.Floats(c.In[2+add]), volume(g.out))
	}
	if add > 0 {
		for i, v := range loop.Floats(c.In[fusedSum]) {
			y[i] += v
		}
	}
	if p.ReLU {
		relu := activations["relu"].value
		for i, v := range y {
			y[i] = relu(v)
		}
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

func foldInputs(p FoldBatchNormParams) []op.Input {
	list := []op.Input{{Name: "weight", Role: op.Param}, {Name: "gamma", Role: op.Param},
		{Name: "beta", Role: op.Param},
		{Name: "moving_mean", Role: op.Aux}, {Name: "moving_var", Role: op.Aux},
		{Name: "bias", Role: op.Param}}
	if p.NoBias {
		return list[:5]
	}
	return list
}

func inferFold(_ FoldBatchNormParams, in, out []dtype.Shape) error {
	if in[0] != nil && len(in[0]) == 0 {
		return op.Errorf("weight", "is a scalar, want at least one axis")
	}
	if err := op.Same("weight", &in[0], &out[0]); err != nil {
		return err
	}
	names := []string{"gamma", "beta", "moving_mean", "moving_var", "bias"}[:len(in)-1]
	channels, err := inferVectors(extent(in[0], 0), names, in[1:])
	if err != nil {
		return err
	}
	_, err = vector("bias", &out[1], channels)
	return err
}

// foldRef computes weight·s and (bias - mean)·s + beta with s = gamma/sqrt(var + eps).
func foldRef(p FoldBatchNormParams, c *op.Call) error {
	w, gamma, beta := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	mean, variance := loop.Floats(c.In[3]), loop.Floats(c.In[4])
	bias := make([]float64, len(beta))
	if !p.NoBias {
		bias = loop.Floats(c.In[5])
	}
	row := len(w) / max(len(beta), 1)
	for k := range beta {
		s := 1 / math.Sqrt(variance[k]+p.Eps.Value())
		if p.NoFixGamma {
			s *= gamma[k]
		}
		for i := k * row; i < (k+1)*row; i++ {
			w[i] *= s
		}
		bias[k] = (bias[k]-mean[k])*s + beta[k]
	}
	return storeWanted(c, w, bias)
}
