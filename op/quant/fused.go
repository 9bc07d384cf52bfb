package quant

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// FusedProductParams configures FusedProduct. Without a kernel it is a dense layer.
type FusedProductParams struct {
	Kernel    []int           `op:"kernel" doc:"extent of the window; none: a dense layer"`
	Stride    []int           `op:"stride" doc:"step of the window, 1 by default"`
	Dilate    []int           `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad       []int           `op:"pad" doc:"zeros added on both sides, 0 by default"`
	NumFilter int             `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup  int             `op:"num_group" default:"1" min:"1" doc:"number of groups of channels that are convolved separately"`
	Sum       bool            `op:"sum" doc:"add an array of integers"`
	SumStep   op.Opt[float64] `op:"sum_step" default:"1" doc:"real number that an integer of that array counts"`
	ReLU      bool            `op:"relu" doc:"set negative results to zero"`
	OutType   string          `op:"out_type" default:"float32" enum:"float32|int8|uint8" doc:"element type of the output"`
	Scale     op.Opt[float64] `op:"scale" default:"1" doc:"integers of the output in a real number of one"`
}

// FusedProduct is a product of data and weights of 8 bits with everything up to the next product:
// the sum of products is multiplied by scale and added to offset, both one number per output
// channel; an array of integers is added; negative results are set to zero; and the output is
// quantized. All of it is float32, rounded after each of these steps. Only passes make it.
var FusedProduct = op.Declare[FusedProductParams]("_fused_quantized_product")

// The inputs of FusedProduct.
const (
	fusedScale = 2 + iota
	fusedOffset
	fusedSum
)

func init() {
	FusedProduct.Define(op.Spec[FusedProductParams]{
		Traits: op.Traits{Hidden: true, Layouts: true, NoGrad: noGrad, Kind: op.Product,
			Inplace: [][2]int{{fusedSum, 0}}},
		Inputs: func(p FusedProductParams) []op.Input {
			list := []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
				{Name: "scale", Role: op.Param}, {Name: "offset", Role: op.Param}, {Name: "sum"}}
			if p.Sum {
				return list
			}
			return list[:fusedSum]
		},
		Check: func(p FusedProductParams) error {
			if p.Sum && p.OutType == "float32" {
				return op.Errorf("out_type", "float32 with a sum, want int8 or uint8")
			}
			return nil
		},
		Infer: inferFused,
		InferType: func(p FusedProductParams, in, out []dtype.Type) error {
			for _, k := range []int{0, len(in) - 1}[:len(in)-fusedSum+1] {
				if err := byte8("data", in[k]); err != nil {
					return err
				}
			}
			err := typed("operand", in[1:fusedSum], dtype.Int8, dtype.Float32)
			if err != nil {
				return err
			}
			return typed("output", out, p.result())
		},
		Ref: fusedRef,
	})
}

// result is the element type of the output.
func (p FusedProductParams) result() dtype.Type {
	if p.OutType == "float32" {
		return dtype.Float32
	}
	return narrow(p.OutType)
}

// Dense reports whether the product is a dense layer.
func (p FusedProductParams) Dense() bool { return len(p.Kernel) == 0 }

func (p FusedProductParams) conv() nn.ConvolutionParams {
	return nn.ConvolutionParams{Kernel: p.Kernel, Stride: p.Stride, Dilate: p.Dilate, Pad: p.Pad,
		NumFilter: p.NumFilter, NumGroup: p.NumGroup, NoBias: true, Layout: "None"}
}

func (p FusedProductParams) dense() nn.FullyConnectedParams {
	return nn.FullyConnectedParams{NumHidden: p.NumFilter, NoBias: true}
}

func inferFused(p FusedProductParams, in, out []dtype.Shape) error {
	for _, k := range []int{fusedScale, fusedOffset} {
		if s := in[k]; s.Known() && s.Size() != p.NumFilter {
			return op.Errorf("scale", "%d numbers, want %d", s.Size(), p.NumFilter)
		}
	}
	if p.Sum {
		if err := op.Same("sum", &in[fusedSum], &out[0]); err != nil {
			return err
		}
	}
	var err error
	if p.Dense() {
		err = nn.FullyConnected.InferShape(p.dense(), in[:2], out)
	} else {
		err = nn.Convolution.InferShape(p.conv(), in[:2], out)
	}
	if err == nil && p.Sum {
		in[fusedSum] = slices.Clone(out[0])
	}
	return err
}

func fusedRef(p FusedProductParams, c *op.Call) error {
	var y []float64
	var err error
	each := 1
	if p.Dense() {
		y, err = exactly(nn.FullyConnected, p.dense(), c.In[:2], c.Out[0].Shape)
	} else {
		y, err = exactly(nn.Convolution, p.conv(), c.In[:2], c.Out[0].Shape)
		each = c.Out[0].Shape[2:].Size()
	}
	if err != nil || c.Out[0].Data == nil {
		return err
	}
	scale, offset := op.Slice[float32](c.In[fusedScale]), op.Slice[float32](c.In[fusedOffset])
	var sum []float64
	if p.Sum {
		sum = loop.Floats(c.In[fusedSum])
	}
	t := c.Out[0].DType
	for i, s := range y {
		k := i / each % p.NumFilter
		v := float32(float32(s) * scale[k])
		v += offset[k]
		if sum != nil { // the product is exact in float64
			v = float32(sum[i]*float64(float32(p.SumStep.Value())) + float64(v))
		}
		if p.ReLU {
			v = max(v, 0)
		}
		if y[i] = float64(v); t != dtype.Float32 {
			y[i] = float64(nearest(v*float32(p.Scale.Value()), t))
		}
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}
